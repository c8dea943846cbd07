import Subscriptions

/// One held row, and Apple's statement about the same original transaction id.
///
/// A class, because both are large and every rule is given them.
final class Comparison: Sendable {
    let scoped: ScopedRow
    let stated: StatedSubscription
    /// What the table keeps; by default everything.
    let kept: KeptColumns
    /// The customer's history, where it was read.
    let history: HistoryReading?
    /// The time of the judgement; `nil` where no time is compared with it.
    let now: Timestamp?

    init(
        scoped: ScopedRow, stated: StatedSubscription, kept: KeptColumns = KeptColumns(),
        history: HistoryReading? = nil, now: Timestamp? = nil
    ) {
        self.scoped = scoped
        self.stated = stated
        self.kept = kept
        self.history = history
        self.now = now
    }

    var row: LocalSubscription { scoped.row }

    /// Our status; `nil` when the row is not known yet.
    var ourStatus: SubscriptionStatus? { row.status.map(SubscriptionStatus.init(rawValue:)) }

    /// Whether the row has no values yet and is filled in for the first time.
    var isFirstFill: Bool { row.status == nil }

    /// Whether the column is empty, and that means unknown, in a row with a status.
    ///
    /// An empty date of revocation or grace means that there is none (docs/columns.md).
    /// `signed_date` says nothing about the subscription and is only written together with another
    /// column. Otherwise every row of a table that does not keep it would be written, and later
    /// imports without it would be skipped as older.
    func isNotKnownYet(_ field: SubscriptionField) -> Bool {
        switch field {
        case .signedDate: false
        case _ where field.emptyMeansNone: false
        case _ where kept.leavesOut(field): false
        default: !isFirstFill && row.value(of: field) == .null
        }
    }

    /// Whether both sides state a value, and the values differ.
    func disagrees(in field: SubscriptionField) -> Bool {
        row.value(of: field) != .null && stated.value(of: field) != .null && differs(in: field)
    }

    /// Whether writing Apple's statement would change the column.
    ///
    /// The company's own columns never change, and an account token only where none is stored. A
    /// value that Apple does not state clears a column only where `clearedIn` says so.
    func differs(in field: SubscriptionField) -> Bool {
        let ours = row.value(of: field)
        let theirs = stated.value(of: field)
        switch field {
        case .originalTransactionID, .environment, .bundleID, .customerID: return false
        case _ where kept.leavesOut(field): return false
        case .status where statusReadsAlike: return false
        case .appAccountToken: return ours == .null && theirs != .null
        case .latestTransactionID:
            return theirs != .null && ours != theirs
                && (ours == .null || currentTransaction == .another)
        case .expiresDate where isWithinExtension: return false
        default:
            guard theirs != .null else {
                return ours != .null && field.clearedIn.contains(stated.status)
            }
            if case .time(let our) = ours, case .time(let their) = theirs {
                return !agrees(our, their, in: field)
            }
            return ours != theirs
        }
    }

    /// Whether a time of ours is Apple's, as far as the column keeps it.
    func agrees(_ ours: Timestamp, _ theirs: Timestamp, in field: SubscriptionField) -> Bool {
        ours.agrees(withApple: theirs)
            || kept.precision.cut(.time(theirs), in: field) == .time(ours)
    }

    /// Whether Apple's status differs from ours, but the table has one word for both.
    var statusReadsAlike: Bool {
        guard let kept = kept.statuses[stated.status.rawValue] else { return false }
        return row.status == kept
    }

    /// Whether both sides have the same status, as far as the table can tell.
    var statusAgrees: Bool { ourStatus == stated.status || statusReadsAlike }

    /// Whether the row's `signed_date` lies in the future, where nothing can have been signed.
    var isDatedAhead: Bool {
        guard let now, let signed = row.signedDate else { return false }
        return signed.isAhead(of: now)
    }

    /// Whether our end is later than the signed transaction's, but not than the signed renewal
    /// date.
    ///
    /// Apple does not document whether an extension moves the transaction's end or only the renewal
    /// date. Where it moved the renewal date alone, our later end agrees with Apple and stays.
    var isWithinExtension: Bool {
        guard let ours = row.expiresDate, let extended = extendedEnd,
            let theirs = stated.transaction.expiresDate
        else { return false }
        return ours.isLater(thanApple: theirs) && !ours.isLater(thanApple: extended)
    }

    /// The signed renewal date of an active subscription, where it is later than the transaction's
    /// end.
    var extendedEnd: Timestamp? {
        guard stated.status == .active, let end = stated.transaction.expiresDate,
            let renewal = stated.renewal.renewalDate, renewal > end
        else { return nil }
        return renewal
    }

    /// The column's value before and after it is set to Apple's.
    func change(of field: SubscriptionField) -> FieldChange {
        FieldChange(before: row.storedValue(of: field), after: stated.value(of: field))
    }

    /// What the row's transaction id is, beside the one that Apple states.
    enum CurrentTransaction {
        /// The same, or another one of the same line item: a restore, or a further device.
        case ofThePeriod
        /// Another period's, or none of the subscription's.
        case another
        /// The line item is the same: only Apple's history tells.
        case open
    }

    /// Another id of the same line item is right where Apple's history shows it, and wrong where the
    /// complete history does not.
    ///
    /// The history need not be read again where it was agreed with: the row has the values that the last
    /// judgement left, and its line item is still the current one.
    var currentTransaction: CurrentTransaction {
        let transaction = stated.transaction
        guard let ours = row.latestTransactionID, ours != transaction.transactionID else {
            return .ofThePeriod
        }
        guard let item = transaction.webOrderLineItemID, row.webOrderLineItemID ?? item == item
        else {
            return .another
        }
        let isStored = scoped.periods.contains {
            $0.key.transactionID == ours && $0.webOrderLineItemID == item
        }
        let isShown = history?.transactions.contains {
            $0.transactionID == ours && $0.webOrderLineItemID == item
                && $0.originalTransactionID == transaction.originalTransactionID
        }
        if isStored || isShown == true { return .ofThePeriod }
        if case .complete = history { return .another }
        guard row.webOrderLineItemID != nil else { return .another }
        let wasAgreed = scoped.check?.check.values == ValuesDigest(of: row)
        return wasAgreed ? .ofThePeriod : .open
    }

    /// Whether only the whole history tells what the row's transaction id is.
    var needsHistoryOfTransaction: Bool {
        !isFirstFill && !kept.leavesOut(.latestTransactionID) && currentTransaction == .open
    }

    /// Whether the row's current transaction belongs to the period that Apple states.
    ///
    /// The web order line item identifies the period, because restores and further devices have
    /// other transaction ids for it. The transaction id counts only where no line item is known.
    var isSamePeriod: Bool {
        guard let theirItem = stated.transaction.webOrderLineItemID else {
            return row.latestTransactionID == stated.transaction.transactionID
        }
        if let ourItem = row.webOrderLineItemID { return ourItem == theirItem }
        guard let ours = row.latestTransactionID else { return false }
        return ours == stated.transaction.transactionID
            || scoped.periods.contains {
                $0.key.transactionID == ours && $0.webOrderLineItemID == theirItem
            }
    }
}

extension Timestamp {
    /// Whether this local time is equal to Apple's.
    ///
    /// Many tables store whole seconds, so a local time without milliseconds is compared to the
    /// second (docs/columns.md): it is Apple's time truncated, never rounded up.
    func agrees(withApple time: Timestamp) -> Bool {
        if self == time { return true }
        return unixMilliseconds % 1000 == 0 && time.wholeSeconds == wholeSeconds
    }

    /// Whether this local time is later than Apple's; equal to the second is not later.
    func isLater(thanApple time: Timestamp) -> Bool {
        self > time && !agrees(withApple: time)
    }

    /// Seconds since 1970, rounded down before 1970 too.
    private var wholeSeconds: Int64 {
        unixMilliseconds.floorDivided(by: Milliseconds.perSecond).quotient
    }
}
