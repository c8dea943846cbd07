import GRDB
import Reconciliation
package import Subscriptions
import Synchronization

/// The company's own table behind the copy that the books hold.
package final class CompanyLink: Sendable {
    package let database: any CompanyDatabase
    package let mapping: TableMapping
    /// Pauses the run while the database is over a limit; `nil` where none is set.
    package let brake: CompanyBrake?

    /// Whose rows the copy was made of, `nil` for all; and the values that other apps have in their
    /// columns, `nil` until they are first needed.
    private let apps = Mutex<(read: [AppIdentity]?, others: [[String?]]?)>((nil, nil))
    private let committedEntries = Mutex<ClosedRange<Int64>?>(nil)

    /// How many changes were refused for each reason, and the row of the first correction that was.
    private typealias Refusals = [String: (count: Int, first: SubscriptionKey?)]
    private let refused = Mutex<(corrections: Refusals, entitlements: Refusals)>(([:], [:]))
    private static let reasonsListed = 5

    package init(
        _ database: any CompanyDatabase, mapping: TableMapping, brake: DatabaseBrake? = nil
    ) {
        self.database = database
        self.mapping = mapping
        self.brake = brake.map(CompanyBrake.init)
    }

    /// Notes whose rows the copy is made of; `nil` for all.
    func noteReading(of read: [AppIdentity]?) {
        apps.withLock { $0 = (read, nil) }
    }

    /// The keys of rows with these original transaction ids under apps whose rows the copy leaves
    /// out.
    func unreadKeys(holding ids: [String]) throws(StoreError) -> [SubscriptionKey] {
        let known = apps.withLock(\.self)
        guard let read = known.read else { return [] }
        let others: [[String?]]
        if let found = known.others {
            others = found
        } else {
            others = try database.apps(besides: read)
            apps.withLock { $0.others = others }
        }
        var keys: [SubscriptionKey] = []
        for id in ids { keys += try database.rows(holding: id, in: others).map(\.key) }
        return keys.filter { key in
            !read.contains {
                $0.bundleID == key.bundleID && $0.environment.rawValue == key.environment
            }
        }
    }

    /// The entries that the database has committed in the transaction at hand, before the books
    /// commit them; `nil` until it has.
    var committed: ClosedRange<Int64>? {
        get { committedEntries.withLock(\.self) }
        set { committedEntries.withLock { $0 = newValue } }
    }

    /// Notes that the database refused the correction of a row.
    func noteRefusal(of key: SubscriptionKey, because reason: String) {
        refused.withLock { Self.count(reason, of: key, in: &$0.corrections) }
    }

    /// Notes that the company's table of entitlements does not take a row.
    func noteRefusalOfEntitlement(because reason: String) {
        refused.withLock { Self.count(reason, of: nil, in: &$0.entitlements) }
    }

    private static func count(
        _ reason: String, of key: SubscriptionKey?, in refusals: inout Refusals
    ) {
        guard refusals[reason] != nil || refusals.count < reasonsListed else { return }
        refusals[reason, default: (0, key)].count &+= 1
    }

    /// The changes that the company's database refused, each reason once, in sentences for a person.
    package var remarks: [String] {
        let (corrections, entitlements) = refused.withLock(\.self)
        var remarks = corrections.sorted { $0.key < $1.key }.map { reason, refused in
            let id = refused.first?.originalTransactionID ?? ""
            return refused.count == 1
                ? "Your database refused the correction of \(id), and nothing of it was written: "
                    + "\(reason)."
                : "Your database refused \(refused.count) corrections, for example of \(id), and "
                    + "nothing of them was written: \(reason)."
        }
        remarks += entitlements.sorted { $0.key < $1.key }.map { reason, refused in
            let isOne = refused.count == 1
            return "Your database refused "
                + "\(isOne ? "1 entitlement" : "\(refused.count) entitlements"), "
                + "and its table is not as it should be: \(reason)."
        }
        return remarks + [brake?.remark].compactMap(\.self)
    }
}

/// The corrections of one transaction of the books, written to the company's table in one
/// transaction of its database, which commits first.
///
/// Killed between the two commits, the company's ledger has entries that trueup's lacks:
/// `EntryAdoption` takes them over before anything else is written.
final class CompanyUnit {
    let db: Database
    let link: CompanyLink
    private var appended: [LedgerEntry] = []
    /// The entitlements that were settled in this transaction, for its events.
    var entitlements: Set<StoredEntitlement.Key> = []
    private var isOpen = false

    init(db: Database, link: CompanyLink) {
        self.db = db
        self.link = link
    }

    /// Does the work of one transaction of the books; without a table elsewhere nothing else
    /// happens.
    static func around<Value>(
        _ db: Database, _ link: CompanyLink?, by catalogue: ProductCatalogue?,
        _ body: (CompanyUnit?) throws -> Value
    ) throws -> Value {
        guard let link else { return try body(nil) }
        let unit = CompanyUnit(db: db, link: link)
        defer { unit.rollBack() }
        try unit.begin()
        let book = EntitlementBook(db: db, catalogue: catalogue)
        let last = try book.lastNote()
        let value = try body(unit)
        try unit.commit {
            try book.settle(after: last, limit: nil) { key, _, _ in unit.entitlements.insert(key) }
            return try book.changes(of: unit.entitlements)
        }
        return value
    }

    private func begin() throws {
        try link.database.begin()
        isOpen = true
        let head = try Ledger(db: db).head().number
        guard try link.database.entries(after: head, limit: 1).isEmpty else {
            throw StoreError.busy(
                "The ledger next to \(link.mapping.table) got entries during this run that trueup's "
                    + "database lacks: another run works with a copy of that database. Nothing of this "
                    + "step was written. Run the job again; it imports the entries first. Give each "
                    + "worker a database of its own (`store.books`).")
        }
    }

    /// The correction as the company keeps it, or `nil` where it keeps nothing of it.
    func kept(_ correction: PlannedCorrection) -> PlannedCorrection? {
        guard let table = correction.changes.mappedTable,
            let kept = link.mapping.mapping(of: table)?.kept(correction.changes)
        else { return nil }
        var copy = correction
        copy.changes = kept
        return copy
    }

    /// Changes the company's row; the copy's has been changed in the same way.
    ///
    /// - Parameter correction: As `kept` returned it.
    /// - Throws: `RowChange.NotMade` where the row is as it was, and `PlanApplication.Undone` where
    ///   the company's database took the whole transaction back at this change.
    func write(_ correction: PlannedCorrection) throws {
        guard let table = correction.changes.mappedTable,
            let mapping = link.mapping.mapping(of: table)
        else { return }
        let writable = mapping.writable
        let changes = correction.changes.mapped.filter { writable.contains($0.key) }
        let row = CompanyRowMark(db: db, table: table, key: correction.companyKey)
        let fate = try link.database.write(
            CompanyChange(
                table, action: correction.action, key: row.key,
                before: changes.mapValues(\.before), after: changes.mapValues(\.after),
                version: try row.version(), isUndo: correction.undoOf != nil))
        switch fate {
        case .applied(let version):
            if correction.action == .delete { try row.forget() } else { try row.set(version) }
        case .stale: throw RowChange.NotMade(fate: .stale)
        case .refused(let reason):
            link.noteRefusal(of: correction.subscription, because: reason)
            throw RowChange.NotMade()
        case .undone(let reason):
            link.noteRefusal(of: correction.subscription, because: reason)
            throw PlanApplication.Undone()
        }
    }

    func append(_ entry: LedgerEntry) throws {
        try link.database.append(CompanyLedgerEntry(entry))
        appended.append(entry)
    }

    /// Commits there; the books commit when this returns.
    ///
    /// - Parameter settled: Settles the entitlements in the books, and returns those that changed.
    /// - Throws: where nothing was written there, or that is not known; then the books roll back as
    ///   well. `PlanApplication.Undone` where the database refused the whole transaction.
    private func commit(_ settled: () throws -> [CompanyEntitlementChange]) throws {
        guard let first = appended.first, let last = appended.last else { return rollBack() }
        let entitlements = link.mapping.entitlements == nil ? [] : try settled()
        isOpen = false
        switch try link.database.commit(keeping: entitlements) {
        case .committed: return noteCommitted()
        case .refused(let reason): throw PlanApplication.Undone(reason: reason)
        case .stale: throw PlanApplication.Undone(fate: .stale)
        case .unknown: break
        }
        let found = try link.database.entries(after: first.number &- 1, limit: appended.count)
        guard let standing = found.last, standing.number == last.number,
            standing.digest == last.hash
        else {
            throw StoreError.unavailable(
                "The connection to your database was lost while corrections were committed. They "
                    + "were not written there, as its ledger shows, nor in trueup's database. Run the "
                    + "job again: it continues where it stopped.")
        }
        noteCommitted()
    }

    private func noteCommitted() {
        guard let first = appended.first?.number, let last = appended.last?.number, first <= last
        else { return }
        link.committed = first...last
    }

    private func rollBack() {
        guard isOpen else { return }
        isOpen = false
        link.database.rollBack()
    }
}

extension PlannedCorrection {
    /// By which the company's database finds the row.
    var companyKey: SubscriptionKey { subscription.inTable(ofTransaction: transactionID) }
}

extension LedgerEntry {
    /// By which the company's database finds the row.
    var companyKey: SubscriptionKey { subscription.inTable(ofTransaction: transactionID) }
}

extension SubscriptionKey {
    /// The key of a purchase has its transaction id in place of the original one.
    fileprivate func inTable(ofTransaction id: String?) -> SubscriptionKey {
        SubscriptionKey(
            bundleID: bundleID, environment: environment,
            originalTransactionID: id ?? originalTransactionID)
    }
}

extension MappedTable {
    /// The table with a note of each row of the company's.
    var marks: String {
        self == .subscriptions ? "trueup_company_rows" : "trueup_company_purchases"
    }

    /// The condition that finds a row here.
    var isKey: String { "bundle_id = ? AND environment = ? AND \(identifier.name) = ?" }

    /// The columns of the key.
    var keyNames: String { "bundle_id, environment, \(identifier.name)" }
}

/// The version of a company's row, stored apart from the imported row.
struct CompanyRowMark {
    let db: Database
    let table: MappedTable
    let key: SubscriptionKey

    /// The company's own version, as it was last read.
    func version() throws -> Int64? {
        try db.integer(
            cached: "SELECT version FROM \(table.marks) WHERE \(table.isKey)", key.arguments)
    }

    /// Notes the version after a change of trueup's; a row that was inserted counts as seen.
    func set(_ version: Int64?) throws {
        try db.executeCached(
            """
            INSERT INTO \(table.marks)
            VALUES (?, ?, ?, (SELECT refresh FROM trueup_company), ?)
            ON CONFLICT DO UPDATE SET version = excluded.version
            """, key.arguments + [version])
    }

    func forget() throws {
        if table == .subscriptions { try DoubledKeys(db: db).forget(key) }
        try db.executeCached("DELETE FROM \(table.marks) WHERE \(table.isKey)", key.arguments)
    }
}

/// The port to the company's own table in a database of its own.
///
/// All methods block, and are called from one thread at a time. Between `begin` and `commit` or
/// `rollBack` the rows that `write` changed and the entries that `append` added belong to one
/// transaction of that database, which is short.
package protocol CompanyDatabase: CompanySchema {
    /// Throws `.schema`, naming the column, unless the mapping holds against the live schema, and
    /// unless the ledger there is one of these books; prepares it when `mayWrite`.
    func check(mayWrite: Bool) throws(StoreError)

    /// How much of a second the mapped columns keep; known after `check`.
    var precision: TimePrecision { get }

    /// How many corrections fit in one transaction; `nil` for any number.
    ///
    /// With 1, linked corrections are written one after the other, those that give access first.
    var correctionsPerTransaction: Int? { get }

    /// Facts about the database that explain what a run does with it, for `doctor`; one line each.
    func facts() throws(StoreError) -> [String]

    /// The number that a query of the company's returns, outside of any transaction of trueup's: the
    /// last column of its only row. `.schema` where it returns no number.
    func number(of query: String) throws(StoreError) -> Double

    /// By how many seconds a replica is behind; infinite where replication does not run, and
    /// `.schema` where the database does not know it.
    func replicationLag() throws(StoreError) -> Double

    /// Returns what keeps a run that writes from preparing trueup's ledger there, with the fix;
    /// `nil` for nothing. It only reads.
    func obstacleToLedger() throws(StoreError) -> String?

    /// Returns what keeps a run from keeping entitlements in the table that `store.entitlements`
    /// names, with the fix; `nil` for nothing, and where none is named. It only reads.
    func obstacleToEntitlements(mayWrite: Bool) throws(StoreError) -> String?

    /// Declares that these books take the place of others that are lost.
    ///
    /// - Returns: Where the others were; `nil` where nothing is declared, because the ledger is
    ///   theirs already, or keeps the entries of each books apart.
    func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String?

    /// The rows behind a key, in the order of the database; each call is a short read of its own.
    ///
    /// With apps only theirs, as far as columns of the table tell them apart. A table that no mapping
    /// names has none.
    func rows(
        of table: MappedTable, after cursor: CompanyCursor?, limit: Int, of apps: [AppIdentity]?
    ) throws(StoreError) -> CompanyPage

    /// The rows that no key leads to, because a column of it is NULL.
    func keylessRows(
        of table: MappedTable, of apps: [AppIdentity]?
    ) throws(StoreError) -> KeylessRows

    /// The row of a key as it is, outside of any transaction of trueup's; `nil` for none.
    func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow?

    /// Returns the values of the columns that tell apps apart, in rows of other apps, each
    /// combination once.
    func apps(besides apps: [AppIdentity]) throws(StoreError) -> [[String?]]

    /// The rows with an original transaction id under some apps, as `apps(besides:)` found these.
    func rows(holding id: String, in apps: [[String?]]) throws(StoreError) -> [CompanyRow]

    /// Begins a transaction.
    func begin() throws(StoreError)

    /// Changes one row if it is as it was read; whatever became of it, the transaction continues.
    func write(_ change: CompanyChange) throws(StoreError) -> CompanyWriteFate

    /// Adds an entry to our ledger there.
    ///
    /// The number is its primary key, so that no two transactions can both commit one.
    func append(_ entry: CompanyLedgerEntry) throws(StoreError)

    /// Writes entitlements to the table that `store.entitlements` names, and commits.
    ///
    /// After `.refused` and `.stale` nothing of the transaction is written. After `.unknown` only `entries` can
    /// show whether it is.
    func commit(
        keeping entitlements: [CompanyEntitlementChange]
    ) throws(StoreError) -> CommitOutcome

    /// The rows of the table of entitlements that a statement selects; none where no table is named.
    func entitlements(
        _ select: (EntitlementStatements) -> MappedStatement
    ) throws(StoreError) -> [CompanyEntitlement]

    /// Gives the transaction up; nothing happens where there is none.
    func rollBack()

    /// Entries of our ledger there with higher numbers, in order; none where there is no ledger
    /// yet.
    ///
    /// After an `.unknown` commit it looks over a new connection, and only returns once the lost
    /// transaction can no longer commit.
    func entries(after number: Int64, limit: Int) throws(StoreError) -> [CompanyLedgerEntry]
}

extension CompanyDatabase {
    package var precision: TimePrecision { TimePrecision() }

    package var correctionsPerTransaction: Int? { nil }

    package func obstacleToLedger() throws(StoreError) -> String? { nil }

    package func facts() throws(StoreError) -> [String] { [] }

    package func number(of query: String) throws(StoreError) -> Double {
        throw .schema(
            "`store.max_load` cannot be used with this database. Nothing was read or written. Leave it "
                + "out.")
    }

    package func replicationLag() throws(StoreError) -> Double {
        throw .schema(
            "`store.max_lag` cannot be used with this database. Nothing was read or written. Leave it "
                + "out.")
    }
}

/// The tables of a company's database, for `doctor` and `init --from`.
package protocol CompanySchema: Sendable {
    /// Its tables and views, but not those of the database's own or of trueup's.
    func tables() throws(StoreError) -> [CompanyTableDescription]

    /// Different texts among the first rows of a column, as `MappedStatements.words` reads them.
    func words(
        of column: String, in table: CompanyTableName
    ) throws(StoreError) -> [String]
}

extension CompanySchema {
    package func words(
        of column: String, in table: CompanyTableName
    ) throws(StoreError) -> [String] { [] }
}
