/// The result by which a row was checked, kept to decide when it must be checked again.
package struct RowCheck: Hashable, Sendable {
    /// When Apple signed its statement about the row; `nil` where the answer held none.
    package var signedDate: Timestamp?
    /// The next moment at which that statement ends by itself, such as an expiry; `nil` for never.
    package var clock: Timestamp?
    /// Whether the subscription entitles or is in billing retry, so that it may change without a
    /// customer's doing; the others are swept less often.
    package var isLasting: Bool
    /// The digest of the row's compared values, as they are once what was planned is written.
    package var values: ValuesDigest
    /// Whose subscription it is, as Apple says; `nil` where no statement named an account.
    package var account: AccountDigest?

    package init(
        signedDate: Timestamp?, clock: Timestamp?, isLasting: Bool, values: ValuesDigest,
        account: AccountDigest? = nil
    ) {
        self.signedDate = signedDate
        self.clock = clock
        self.isLasting = isLasting
        self.values = values
        self.account = account
    }
}

/// The last check of a row, as stored.
package struct CheckRecord: Hashable, Sendable {
    package var check: RowCheck
    /// When a run checked it.
    package var askedAt: Timestamp

    package init(check: RowCheck, askedAt: Timestamp) {
        self.check = check
        self.askedAt = askedAt
    }

    /// From when the age of the record is counted: Apple's signature or, without one, the check.
    package var asOf: Timestamp { check.signedDate ?? askedAt }
}

/// A stored row with its last check, as the schedule sees it.
package struct ScheduledRow: Hashable, Sendable {
    package var key: SubscriptionKey
    /// `nil` where no run has checked it.
    package var check: CheckRecord?
    /// The digest of the values that are in the table now.
    package var values: ValuesDigest

    package init(key: SubscriptionKey, check: CheckRecord?, values: ValuesDigest) {
        self.key = key
        self.check = check
        self.values = values
    }
}

/// 64 bits over the columns of a row that are compared, by which a later run notices that another
/// program wrote to it.
///
/// FNV-1a: it tells accidental changes apart and does not stop a forger, who could write the
/// digest as well.
package struct ValuesDigest: Hashable, Sendable {
    package private(set) var bits: UInt64 = 0xcbf2_9ce4_8422_2325

    /// The columns that it covered from the first version on, in this order.
    package static let fields = SubscriptionField.allCases.filter {
        $0.isStated && $0 != .signedDate && !SubscriptionField.optional.contains($0)
    }

    /// The columns that it covers since a later version, in this order: the company's own that a
    /// rule compares, and what Apple states in columns that were added.
    ///
    /// They follow the others and count only where they hold something, so that the digest of a row
    /// without them is the one that earlier versions stored. Else the first run after an upgrade
    /// would take every row for changed. The name of each goes before its value: a value that moved
    /// from one to another is a change.
    package static let later: [SubscriptionField] =
        [.paidElsewhereUntil]
        + SubscriptionField.allCases.filter {
            $0.isStated && SubscriptionField.optional.contains($0)
        }

    package init() {}

    package init(bits: UInt64) { self.bits = bits }

    /// The digest of an id alone; `nil` for no id, or an empty one.
    package init?(ofID id: String?) {
        guard let id, !id.isEmpty else { return nil }
        add(id)
    }

    package init(of row: LocalSubscription) {
        for field in Self.fields { add(row.value(of: field)) }
        for field in Self.later where !row.value(of: field).isEmpty {
            add(nameOf: field)
            add(row.value(of: field))
        }
    }

    /// Adds the name of a column of `later` whose value is added next.
    package mutating func add(nameOf field: SubscriptionField) { add(field.rawValue) }

    /// Adds the next column; empty text counts as nothing, as everywhere.
    package mutating func add(_ value: FieldValue) {
        switch value {
        case .null, .text(""): addNothing()
        case .text(let text): add(text)
        case .integer(let number): add(number)
        case .time(let time): add(time.unixMilliseconds)
        }
    }

    package mutating func addNothing() { mix(0) }

    package mutating func add(_ text: String) {
        mix(1)
        for byte in text.utf8 { mix(byte) }
        mix(0xFF)
    }

    /// Adds a text as its bytes are stored, which must be UTF-8 and not empty.
    ///
    /// - Parameter bytes: The same as those of `add(_: String)`.
    package mutating func add(utf8 bytes: Span<UInt8>) {
        mix(1)
        for index in bytes.indices { mix(bytes[index]) }
        mix(0xFF)
    }

    package mutating func add(_ number: Int64) {
        mix(2)
        let bits = UInt64(bitPattern: number)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            mix(UInt8(truncatingIfNeeded: bits >> shift))
        }
    }

    private mutating func mix(_ byte: UInt8) {
        bits = (bits ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
}

/// The digest of an `appTransactionId` alone, which is one for each Apple Account and app: subscriptions
/// with the same are answered by one call.
///
/// Two accounts with the same bits would only wait for each other: what an answer does not contain
/// is asked for all the same.
package typealias AccountDigest = ValuesDigest
