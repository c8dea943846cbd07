package import Subscriptions

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

    /// What keeps a run that writes from preparing our ledger there, with what mends it; `nil` for
    /// nothing. It only looks.
    func obstacleToLedger() throws(StoreError) -> String?

    /// Declares that these books take the place of others that are lost.
    ///
    /// - Returns: Where the others were; `nil` where nothing is declared, because the ledger is
    ///   theirs already, or keeps the entries of each books apart.
    func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String?

    /// The rows behind a key, in the order of the database; each call is a short read of its own.
    ///
    /// With apps only theirs, as far as columns of the table tell them apart.
    func rows(
        after cursor: CompanyCursor?, limit: Int, of apps: [AppIdentity]?
    ) throws(StoreError) -> CompanyPage

    /// The rows that no key leads to, because a column of it is NULL.
    func keylessRows(of apps: [AppIdentity]?) throws(StoreError) -> KeylessRows

    /// The row of a key as it stands, outside of any transaction of ours; `nil` for none.
    func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow?

    /// What the columns that tell apps apart hold in rows of other apps, each combination once.
    func apps(besides apps: [AppIdentity]) throws(StoreError) -> [[String?]]

    /// The rows with an original transaction id under some apps, as `apps(besides:)` found these.
    func rows(holding id: String, in apps: [[String?]]) throws(StoreError) -> [CompanyRow]

    /// Begins a transaction.
    func begin() throws(StoreError)

    /// Changes one row if it is as it was read; whatever became of it, the transaction goes on.
    func write(_ change: CompanyChange) throws(StoreError) -> CompanyWriteFate

    /// Adds an entry to our ledger there.
    ///
    /// The number is its primary key, so that no two transactions can both commit one.
    func append(_ entry: CompanyLedgerEntry) throws(StoreError)

    /// Commits; after `.refused` nothing of the transaction is written. `.unknown` only where nobody can tell until it is looked up by `entries`.
    func commit() throws(StoreError) -> CommitOutcome

    /// Gives the transaction up; nothing happens where there is none.
    func rollBack()

    /// Entries of our ledger there with higher numbers, in order; none where there is no ledger yet.
    ///
    /// After an `.unknown` commit it looks over a new connection, and only returns once the lost
    /// transaction can no longer commit.
    func entries(after number: Int64, limit: Int) throws(StoreError) -> [CompanyLedgerEntry]
}

extension CompanyDatabase {
    package var precision: TimePrecision { TimePrecision() }

    package func obstacleToLedger() throws(StoreError) -> String? { nil }
}

/// What a company's database has of tables, for `doctor` and `init --from`.
package protocol CompanySchema: Sendable {
    /// Its tables and views, but not those of the database's own or of ours.
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
