import GRDB
import Subscriptions

/// The corrections of one transaction of the books, written to the company's table in one
/// transaction of its database, which commits first.
///
/// Killed between the two commits, the company's ledger has entries that ours lacks: `EntryTakeOver`
/// takes them over before anything else is written.
final class CompanyUnit {
    let db: Database
    let link: CompanyLink
    private var appended: [LedgerEntry] = []
    private var isOpen = false

    init(db: Database, link: CompanyLink) {
        self.db = db
        self.link = link
    }

    /// A change that the company's database did not make: the copy's is taken back.
    struct NotMade: Error {
        let fate: CorrectionFate
    }

    /// The company's database took the whole transaction back at this change.
    struct Undone: Error {}

    /// The company's database refused the whole transaction at its end, in its words.
    struct CommitRefused: Error {
        let reason: String
    }

    /// Does the work of one transaction of the books; without a table elsewhere nothing else happens.
    static func around<Value>(
        _ db: Database, _ link: CompanyLink?, _ body: (CompanyUnit?) throws -> Value
    ) throws -> Value {
        guard let link else { return try body(nil) }
        let unit = CompanyUnit(db: db, link: link)
        defer { unit.rollBack() }
        try unit.begin()
        let value = try body(unit)
        try unit.commit()
        return value
    }

    private func begin() throws {
        try link.database.begin()
        isOpen = true
        let head = try Ledger(db: db).head().number
        guard try link.database.entries(after: head, limit: 1).isEmpty else {
            throw StoreError.busy(
                "The ledger beside \(link.mapping.table) got entries during this run that the "
                    + "books lack: another run works with a copy of them. Nothing of this step was "
                    + "written. Run again: the entries are taken over first. Give each worker "
                    + "books of its own (`store.books`).")
        }
    }

    /// The correction as the company keeps it, or `nil` where it keeps nothing of it.
    func kept(_ correction: PlannedCorrection) -> PlannedCorrection? {
        guard case .subscription(let changes) = correction.changes else { return nil }
        let kept = link.mapping.kept(changes)
        guard kept.keys.contains(where: link.mapping.writable.contains) else { return nil }
        var copy = correction
        copy.changes = .subscription(kept)
        return copy
    }

    /// Changes the company's row; the copy's has been changed in the same way.
    ///
    /// - Parameter correction: As `kept` returned it.
    /// - Throws: `NotMade` where the row stands as it was.
    func write(_ correction: PlannedCorrection) throws {
        let writable = link.mapping.writable
        let changes = correction.changes.ofSubscription.filter { writable.contains($0.key) }
        let row = CompanyRowMark(db: db, key: correction.subscription)
        let fate = try link.database.write(
            CompanyChange(
                action: correction.action, key: correction.subscription,
                before: changes.mapValues(\.before), after: changes.mapValues(\.after),
                version: try row.version(), isUndo: correction.undoOf != nil))
        switch fate {
        case .applied(let version):
            if correction.action == .delete { try row.forget() } else { try row.set(version) }
        case .stale: throw NotMade(fate: .stale)
        case .refused(let reason):
            link.refusals.note(reason, of: correction.subscription)
            throw NotMade(fate: .rejected)
        case .undone(let reason):
            link.refusals.note(reason, of: correction.subscription)
            throw Undone()
        }
    }

    func append(_ entry: LedgerEntry) throws {
        try link.database.append(CompanyLedgerEntry(entry))
        appended.append(entry)
    }

    /// Commits there; the books commit when this returns.
    ///
    /// - Throws: where nothing was written there, or nobody can tell; then the books give up, too.
    private func commit() throws {
        guard let first = appended.first, let last = appended.last else { return rollBack() }
        isOpen = false
        switch try link.database.commit() {
        case .committed: return noteCommitted()
        case .refused(let reason): throw CommitRefused(reason: reason)
        case .unknown: break
        }
        let found = try link.database.entries(after: first.number &- 1, limit: appended.count)
        guard let standing = found.last, standing.number == last.number,
            standing.digest == last.hash
        else {
            throw StoreError.unavailable(
                "The connection to your database was lost while corrections were committed. They "
                    + "were not written there, as its ledger shows, nor in the books. Run again: "
                    + "the run goes on where it stopped.")
        }
        noteCommitted()
    }

    private func noteCommitted() {
        guard let first = appended.first?.number, let last = appended.last?.number, first <= last
        else { return }
        link.committed.range = first...last
    }

    private func rollBack() {
        guard isOpen else { return }
        isOpen = false
        link.database.rollBack()
    }
}

/// What is known of a row of the company's besides its copy.
struct CompanyRowMark {
    let db: Database
    let key: SubscriptionKey

    /// The company's own version, as it was last read.
    func version() throws -> Int64? {
        let read = try db.cachedStatement(
            sql: """
                SELECT version FROM trueup_company_rows
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """)
        return try Int64?.fetchOne(read, arguments: key.arguments).flatMap(\.self)
    }

    /// Notes the version after a change of ours; a row that was inserted counts as seen.
    func set(_ version: Int64?) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_company_rows
                VALUES (?, ?, ?, (SELECT refresh FROM trueup_company), ?)
                ON CONFLICT DO UPDATE SET version = excluded.version
                """
        ).execute(arguments: key.arguments + [version])
    }

    func forget() throws {
        try DoubledKeys(db: db).forget(key)
        try db.cachedStatement(
            sql: """
                DELETE FROM trueup_company_rows
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """
        ).execute(arguments: key.arguments)
    }
}
