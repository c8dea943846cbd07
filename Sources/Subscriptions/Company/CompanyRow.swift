/// A row of the company's table, in our columns and forms.
package struct CompanyRow: Hashable, Sendable {
    /// The key of a purchase has its transaction id in place of the original one.
    package var key: SubscriptionKey
    /// The mapped columns besides the key; a value that could not be read is missing here.
    package var values: [MappedField: FieldValue]
    /// The company's own version of the row, where a column has it.
    package var version: Int64?
    /// The contents of columns that could not be read, as printable text.
    package var unreadable: [MappedField: String]
    /// How many other rows of the table have the same key.
    package var twins = 0

    package init(
        key: SubscriptionKey, values: [MappedField: FieldValue], version: Int64? = nil,
        unreadable: [MappedField: String] = [:]
    ) {
        self.key = key
        self.values = values
        self.version = version
        self.unreadable = unreadable
    }
}

/// Where a walk through the company's table continues: the stored key of the last row, column by
/// column in the order of `TableMapping.keyColumns`, as text.
package typealias CompanyCursor = [String]

/// A page of the company's rows in the order in which its database sorts the key.
package struct CompanyPage: Hashable, Sendable {
    package var rows: [CompanyRow]
    /// `nil` after the last page.
    package var next: CompanyCursor?

    package init(rows: [CompanyRow], next: CompanyCursor?) {
        self.rows = rows
        self.next = next
    }
}

/// A change of a row of the company's, in our columns and forms.
package struct CompanyChange: Hashable, Sendable {
    package var table: MappedTable
    package var action: RowAction
    /// As that of `CompanyRow`.
    package var key: SubscriptionKey
    /// The values that every replaced column must still have.
    package var before: [MappedField: FieldValue]
    package var after: [MappedField: FieldValue]
    /// The company's own version as it was read; `nil` where there is none.
    package var version: Int64?
    /// Whether it reverts a correction of trueup's.
    package var isUndo: Bool

    package init(
        _ table: MappedTable = .subscriptions, action: RowAction, key: SubscriptionKey,
        before: [MappedField: FieldValue], after: [MappedField: FieldValue],
        version: Int64? = nil, isUndo: Bool = false
    ) {
        self.table = table
        self.action = action
        self.key = key
        self.before = before
        self.after = after
        self.version = version
        self.isUndo = isUndo
    }
}

/// The outcome of a change.
package enum CompanyWriteFate: Hashable, Sendable {
    /// It is written, once the transaction commits; with the company's version after it.
    case applied(version: Int64?)
    /// The row is not as it was read: nothing was written to it.
    case stale
    /// A constraint, a trigger or a missing right said no, in the database's words; nothing of this
    /// change was written, and the transaction continues.
    case refused(String)
    /// Refused as well, but the database rolled the whole transaction back.
    case undone(String)
}

/// An entry of our ledger as it is in the company's database, in one transaction with the row.
package struct CompanyLedgerEntry: Hashable, Sendable {
    package var number: Int64
    /// SHA-256 in hexadecimal: the hash of the chained entry.
    package var digest: String
    package var run: String
    /// The whole entry as canonical JSON, enough to take it over.
    package var content: String
    /// When it was written.
    package var writtenAt: Timestamp

    package init(
        number: Int64, digest: String, run: String, content: String, writtenAt: Timestamp
    ) {
        self.number = number
        self.digest = digest
        self.run = run
        self.content = content
        self.writtenAt = writtenAt
    }
}

/// The state of a transaction after its COMMIT, as far as it is known.
package enum CommitOutcome: Hashable, Sendable {
    case committed
    /// A constraint that is checked last refused it, in the database's words; nothing was written.
    case refused(String)
    /// The row is not as it was read, which only the commit showed; nothing was written.
    case stale
    /// The connection was lost before the answer: the ledger's entries tell.
    case unknown
}

/// One row for each key, whatever the table has.
///
/// Databases give rows of one key in no order, and not the same one every time. So which of them is
/// checked is decided here, by what we read in them: every run and for every database alike.
extension CompanyPage {
    /// Makes a page of what was read.
    ///
    /// - Parameters:
    ///   - found: The texts of `TableMapping.readColumns`, in the order of the key, of up to one
    ///     row more than the page may have: it tells whether the last key continues.
    ///   - limit: How many rows the page may have.
    ///   - statements: What they were read by.
    package init(of found: [[String?]], limit: Int, by statements: MappedStatements) {
        var kept = found[...]
        if found.count > limit, let beyond = found.last.map(statements.cursor) {
            kept = found.prefix(limit)
            // Each next to the one behind it: keys that are one to the database are next to each other.
            var behind = beyond
            while let last = kept.last.map(statements.cursor), statements.mayBeOne(last, behind) {
                behind = last
                kept.removeLast()
            }
            // More rows with one key than a page has: those beyond are not counted.
            if kept.isEmpty { kept = found.prefix(limit) }
        }
        self.init(
            rows: Self.onePerKey(kept.map(statements.mapping.row)),
            next: found.count > limit ? kept.last.map(statements.cursor) : nil)
    }

    private static func onePerKey(_ read: [CompanyRow]) -> [CompanyRow] {
        var rows: [CompanyRow] = []
        for row in read {
            guard var held = rows.last, held.key == row.key else {
                rows.append(row)
                continue
            }
            let twins = held.twins &+ 1
            if held.precedes(row) { held = row }
            held.twins = twins
            rows[rows.count &- 1] = held
        }
        return rows
    }
}

extension CompanyRow {
    /// The columns by which a row is likelier to be the current one, then all the others.
    private static let compared: [MappedField] =
        [.expiresDate, .latestTransactionID]
        + MappedTable.allCases.flatMap(\.fields)
        .filter { $0 != .expiresDate && $0 != .latestTransactionID }

    /// Whether another row of the same key is the one to check.
    fileprivate func precedes(_ other: CompanyRow) -> Bool {
        for field in Self.compared {
            let mine = rank(of: field)
            let theirs = other.rank(of: field)
            guard mine == theirs else { return mine < theirs }
        }
        return (version ?? 0) < (other.version ?? 0)
    }

    /// Longer texts are greater, as longer ids are newer.
    private func rank(of field: MappedField) -> (Int, Int64, String) {
        switch values[field] {
        case .integer(let number): (2, number, "")
        case .time(let time): (2, time.unixMilliseconds, "")
        case .text(let text): (2, Int64(text.utf8.count), text)
        case .null, nil: (unreadable[field] == nil ? 0 : 1, 0, unreadable[field] ?? "")
        }
    }
}

/// The books whose corrections are in a ledger next to the company's table.
package struct LedgerOwner: Hashable, Sendable {
    /// The identity of the books, which they keep for ever.
    package var identity: String
    /// Where they were when they took the ledger.
    package var path: String

    package init(identity: String, path: String) {
        self.identity = identity
        self.path = path
    }
}
