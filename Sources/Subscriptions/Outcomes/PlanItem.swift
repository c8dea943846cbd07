extension PlannedCorrection {
    /// The bytes of `planMembers` in canonical JSON, with the outcome where one is given.
    ///
    /// A plan of a hundred thousand new periods is written three times; here without a dictionary to
    /// build and sort for each.
    ///
    /// - Parameter fate: What became of the correction.
    /// - Returns: One object, without a line feed.
    package func planItem(fate: CorrectionFate? = nil) -> [UInt8] {
        let named = changes.named
        var item = CanonicalMembers()
        if !continuedBy.isEmpty { item.add("access_continues_by", list: continuedBy) }
        item.add("action", action.rawValue)
        item.add("after", named) { $0.after }
        item.add("app", subscription.bundleID)
        item.add("apple_signed_date", appleSignedDate.rfc3339)
        item.add("before", named) { $0.before }
        item.add("environment", subscription.environment)
        item.add("evidence", evidence.hexadecimal)
        item.add("evidence_renewal", evidenceRenewal?.hexadecimal)
        item.add("expected_row_version", expectedRowVersion)
        if let fate { item.add("fate", fate.rawValue) }
        item.add("kinds", list: kinds.map(\.rawValue))
        item.add("original_transaction_id", subscription.originalTransactionID)
        item.add("reason", reason)
        if !rules.isEmpty { item.add("rules", .array(rules.map(\.json))) }
        item.add("table", table)
        item.add("transaction_id", transactionID)
        if let undoOf { item.add("undo_of", undoOf) }
        return item.closed
    }

    /// The version that the row must have; `nil` where there is no row, or its versions do not
    /// count.
    private var expectedRowVersion: Int64? {
        switch target {
        case .update(_, let expected), .delete(_, let expected): expected
        case .insert, .insertPeriod, .updatePeriod, .deletePeriod: nil
        }
    }
}

/// The members of a canonical JSON object, handed over in the order of their names' bytes.
private struct CanonicalMembers {
    private var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(2048)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The whole object.
    var closed: [UInt8] { bytes + [UInt8(ascii: "}")] }

    mutating func add(_ name: String, _ text: String?) {
        open(name)
        append(text)
    }

    mutating func add(_ name: String, _ number: Int64?) {
        open(name)
        bytes += (number.map { String($0) } ?? "null").utf8
    }

    mutating func add(_ name: String, _ value: CanonicalJSON) {
        open(name)
        value.append(to: &bytes)
    }

    mutating func add(_ name: String, list: [String]) {
        open(name)
        bytes.append(UInt8(ascii: "["))
        for (index, text) in list.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(text)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// One side of changes that are in order.
    mutating func add(
        _ name: String, _ changes: [(column: String, change: FieldChange)],
        _ side: (FieldChange) -> FieldValue
    ) {
        open(name)
        bytes.append(UInt8(ascii: "{"))
        for (index, change) in changes.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            CanonicalJSON.append(quoted: change.column, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            switch side(change.change) {
            case .null: append(nil)
            case .text(let text): append(text)
            case .integer(let number): bytes += String(number).utf8
            case .time(let time): append(time.rfc3339)
            }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func open(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        CanonicalJSON.append(quoted: name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func append(_ text: String?) {
        if let text {
            CanonicalJSON.append(quoted: text, to: &bytes)
        } else {
            bytes += "null".utf8
        }
    }
}
