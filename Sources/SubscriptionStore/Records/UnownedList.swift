import GRDB
package import Subscriptions

/// Finds the purchases of some apps whose owner is not known, and for which customers something speaks.
///
/// A table without any customer, or without any token, of an app says nothing about owners: only what
/// an app's other rows have is missed in a row.
struct UnownedList: Sendable {
    let run: RunReference
    let apps: [AppIdentity]

    /// The tables that lines come from.
    enum Source: String, Sendable, CaseIterable {
        case findings, subscriptions, purchases

        /// Where its first chunk begins.
        var start: Place {
            self == .findings ? ("?", [0]) : (StoredKey.first.marks, StoredKey.first.arguments)
        }

        /// The column by which rows of a company's table are told apart.
        fileprivate var id: String {
            self == .purchases ? "transaction_id" : "original_transaction_id"
        }

        /// The rows `s` of a company's table to select from.
        fileprivate var rows: String {
            guard self == .subscriptions else { return "\(rawValue) AS s" }
            return "subscriptions AS s LEFT JOIN trueup_checks AS c ON "
                + SubscriptionKey.agree("c", "s")
        }

        /// The digest of the Apple Account of these rows.
        fileprivate var account: String { self == .subscriptions ? "c.account" : "NULL" }
    }

    /// Where a chunk of a source begins: findings are read by their numbers, rows by their keys.
    typealias Place = (marks: String, arguments: StatementArguments)

    /// Which apps have rows with a customer, and which have rows with a token.
    typealias Use = (customers: [AppIdentity], tokens: [AppIdentity])

    /// A purchase without a known owner, before it is known what speaks for whom.
    struct Candidate: Sendable {
        var line: UnownedPurchase
        /// The row's id in the table that it comes from.
        var keyID: String
        /// The digest of the Apple Account, by the last answer about a subscription.
        var account: Int64?

        /// The traits that rows of known customers may share with it.
        var traits: [Trait] {
            let token = line.appleAccountToken ?? line.appAccountToken
            return [
                token.flatMap { $0.isEmpty ? nil : Trait(token: $0, of: line.app) },
                account.map { Trait(account: $0, of: line.app) },
            ].compactMap(\.self)
        }
    }

    /// A token or an Apple Account, by which rows of an app speak for each other's customers.
    struct Trait: Hashable, Sendable {
        let because: UnownedPurchase.Hint
        private let app: [String]
        private let value: String

        init(token: String, of app: [String]) {
            (because, self.app, value) = (.sameToken, app, token.lowercased())
        }

        init(account: Int64, of app: [String]) {
            (because, self.app, value) = (.sameAppleAccount, app, String(account))
        }
    }

    /// The customers of rows with the wanted traits.
    struct Speakers: Sendable {
        /// Memory must not grow with the table.
        private static let mostTraits = 10_000
        private static let mostCustomers = 5
        private var found: [Trait: [(customer: String, ids: Set<String>)]] = [:]

        var isEmpty: Bool { found.isEmpty }
        var isFull: Bool { found.count >= Self.mostTraits }

        mutating func want(_ traits: [Trait]) {
            for trait in traits where !isFull && found[trait] == nil { found[trait] = [] }
        }

        /// Notes that a row of a customer has a trait, if that is wanted.
        mutating func note(_ trait: Trait, of customer: String, row id: String) {
            guard var known = found[trait] else { return }
            if let place = known.firstIndex(where: { $0.customer == customer }) {
                // Two tell that there is another row than the one that is asked about.
                guard known[place].ids.count < 2 else { return }
                known[place].ids.insert(id)
            } else if known.count < Self.mostCustomers {
                known.append((customer, [id]))
            } else {
                return
            }
            found[trait] = known
        }

        /// The lines of a purchase: one for each customer and what speaks for them, or one alone.
        func lines(of candidate: Candidate) -> [UnownedPurchase] {
            let own = candidate.line.originalTransactionID
            var lines: [UnownedPurchase] = []
            for trait in candidate.traits {
                for (customer, ids) in found[trait] ?? [] where ids.contains(where: { $0 != own }) {
                    var line = candidate.line
                    line.speaksFor = customer
                    line.because = trait.because
                    lines.append(line)
                }
            }
            return lines.isEmpty ? [candidate.line] : lines
        }
    }

    func use(_ db: Database) throws -> Use {
        var use: Use = ([], [])
        for app in apps {
            func has(_ column: String) throws -> Bool {
                let isThere = ["subscriptions", "purchases"].map { table in
                    """
                    EXISTS (SELECT 1 FROM \(table) WHERE bundle_id = ?1 AND environment = ?2
                        AND nullif(\(column), '') IS NOT NULL)
                    """
                }
                return try Bool.fetchOne(
                    db, sql: "SELECT " + isThere.joined(separator: " OR "),
                    arguments: [app.bundleID, app.environment.rawValue]) ?? false
            }
            if try has("customer_id") { use.customers.append(app) }
            if try has("app_account_token") { use.tokens.append(app) }
        }
        return use
    }

    /// A chunk of candidates, and where the next chunk begins.
    func candidates(
        of source: Source, from start: Place, _ use: Use, _ db: Database
    ) throws -> (candidates: [Candidate], next: Place?) {
        let limit = StoreLimits.rowsPerChunk
        let (sql, arguments) = query(of: source, from: start, use)
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: sql), arguments: arguments + [limit + 1])
        var found: [Candidate] = []
        while let row = try rows.next() {
            guard found.count < limit else {
                guard source != .findings else { return (found, ("?", [row.integer(at: 0)])) }
                let key = try StoredKey(row)
                return (found, (key.marks, key.arguments))
            }
            let candidate =
                source == .findings ? try Self.candidate(finding: row) : Self.candidate(row, source)
            if let candidate { found.append(candidate) }
        }
        return (found, nil)
    }

    private func query(
        of source: Source, from start: Place, _ use: Use
    ) -> (sql: String, arguments: StatementArguments) {
        switch source {
        case .subscriptions, .purchases:
            let (condition, arguments) = Self.condition(of: source, use)
            return (
                """
                SELECT s.\(source.id), s.environment, s.bundle_id, s.product_id, s.customer_id,
                    s.app_account_token, s.original_transaction_id, \(source.account)
                FROM \(source.rows)
                WHERE (s.bundle_id, s.environment, s.\(source.id)) >= \(start.marks)
                    AND \(condition)
                ORDER BY s.bundle_id, s.environment, s.\(source.id) LIMIT ?
                """, start.arguments + arguments
            )
        case .findings:
            return (
                """
                SELECT f.finding_seq, c.account, \(Finding.columns)
                FROM trueup_run_findings AS r
                JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
                LEFT JOIN trueup_checks AS c ON c.bundle_id = f.key_bundle_id
                    AND c.environment = f.key_environment
                    AND c.original_transaction_id = f.original_transaction_id
                WHERE r.run_seq = \(run.sequence) AND r.finding_seq >= \(start.marks)
                    AND \(Self.isChangedToken)
                ORDER BY r.finding_seq LIMIT ?
                """, start.arguments
            )
        }
    }

    private static let isChangedToken = """
        f.kind = '\(FindingKind.identity.rawValue)' AND f.original_transaction_id IS NOT NULL
        """

    /// Whether a row `s` of a company's table has no known owner.
    ///
    /// Apple signs no token for a family member, nor for the holder of a seat. A row that was
    /// never checked does not tell whether there is one.
    private static func condition(
        of source: Source, _ use: Use
    ) -> (sql: String, arguments: StatementArguments) {
        func isOf(_ apps: [AppIdentity]) -> String {
            guard !apps.isEmpty else { return "0" }
            return "(s.bundle_id, s.environment) IN (VALUES \(apps.marks))"
        }
        let states =
            source == .subscriptions
            ? """
            AND s.status IS NOT NULL
            AND ifnull(s.in_app_ownership_type, '') NOT IN ('FAMILY_SHARED', 'ASSIGNED')
            """ : ""
        return (
            """
            ((nullif(s.customer_id, '') IS NULL AND \(isOf(use.customers)))
                OR (nullif(s.app_account_token, '') IS NULL AND \(isOf(use.tokens)) \(states)))
            """, use.customers.arguments + use.tokens.arguments
        )
    }

    private static func candidate(_ row: Row, _ source: Source) -> Candidate? {
        var columns = RowColumns(row)
        let (id, environment, bundleID) = (
            columns.requiredText(), columns.requiredText(), columns.requiredText()
        )
        let (product, customer, token) = (columns.text(), columns.text(), columns.text())
        let hasToken = token.map { !$0.isEmpty } ?? false
        var line = UnownedPurchase(
            bundleID: bundleID, environment: environment,
            originalTransactionID: columns.requiredText(),
            reason: hasToken ? .noCustomer : .noToken)
        if source == .purchases { line.transactionID = id }
        line.productID = product
        line.customerID = customer
        line.appAccountToken = token
        return Candidate(line: line, keyID: id, account: columns.integer())
    }

    private static func candidate(finding row: Row) throws -> Candidate? {
        var columns = RowColumns(row, at: 1)
        let account = columns.integer()
        let finding = try Finding(&columns)
        guard let key = finding.key else { return nil }
        var line = UnownedPurchase(
            bundleID: key.bundleID, environment: key.environment,
            originalTransactionID: key.originalTransactionID, reason: .tokenChanged)
        line.productID = finding.productID
        line.customerID = finding.customerID
        if case .text(let token) = finding.localValue { line.appAccountToken = token }
        if case .text(let token) = finding.appleValue { line.appleAccountToken = token }
        line.evidence = finding.evidence
        return Candidate(line: line, keyID: key.originalTransactionID, account: account)
    }

    /// Looks at every row with a customer for the traits that are wanted.
    func hear(_ speakers: inout Speakers, _ use: Use, _ db: Database) throws {
        guard !speakers.isEmpty else { return }
        for app in use.customers {
            let name = [app.bundleID, app.environment.rawValue]
            for source in [Source.subscriptions, .purchases] {
                try db.forEachRow(
                    """
                    SELECT s.customer_id, s.original_transaction_id, s.app_account_token,
                        \(source.account)
                    FROM \(source.rows)
                    WHERE s.bundle_id = ? AND s.environment = ?
                        AND nullif(s.customer_id, '') IS NOT NULL
                    """, StatementArguments(name)
                ) { row in
                    let (customer, id) = (row.requiredText(at: 0), row.requiredText(at: 1))
                    if let token = row.text(at: 2), !token.isEmpty {
                        speakers.note(Trait(token: token, of: name), of: customer, row: id)
                    }
                    if let account = row.integer(at: 3) {
                        speakers.note(Trait(account: account, of: name), of: customer, row: id)
                    }
                }
            }
        }
    }

    /// A chunk of open lines behind one whose rows have an owner now, or are gone.
    func ownedSince(
        of source: Source, after last: Int64, _ use: Use, _ db: Database
    ) throws -> [Int64] {
        var arguments: StatementArguments = []
        let current: String
        switch source {
        case .findings:
            current = """
                SELECT 1 FROM trueup_pass_findings AS f
                JOIN trueup_run_findings AS r ON r.run_seq = \(run.sequence)
                    AND r.finding_seq = f.finding_seq
                WHERE f.key_bundle_id = u.bundle_id AND f.key_environment = u.environment
                    AND f.original_transaction_id = u.key_id AND \(Self.isChangedToken)
                """
        case .subscriptions, .purchases:
            let condition: String
            (condition, arguments) = Self.condition(of: source, use)
            current = """
                SELECT 1 FROM \(source.rawValue) AS s WHERE s.bundle_id = u.bundle_id
                    AND s.environment = u.environment AND s.\(source.id) = u.key_id
                    AND \(condition)
                """
        }
        return try Int64.fetchAll(
            db,
            sql: """
                SELECT u.line FROM trueup_unowned AS u
                WHERE u.line > ? AND u.until_run IS NULL AND u.listed_by = ?
                    AND (u.bundle_id, u.environment) IN (VALUES \(apps.marks))
                    AND NOT EXISTS (\(current))
                ORDER BY u.line LIMIT \(StoreLimits.rowsPerChunk)
                """,
            arguments: [last, source.rawValue] + apps.arguments + arguments)
    }
}

extension UnownedPurchase {
    fileprivate var app: [String] { [bundleID, environment] }
}

extension SQLiteStore {
    /// Brings the list of purchases without a known owner up to date, for a run over whole tables.
    ///
    /// - Returns: How many there are by reason; `nil` where the run does not look for them.
    func listUnowned(
        of run: RunReference, _ header: RunHeader
    ) async throws(StoreError) -> [String: Int]? {
        guard header.filters.isEmpty, header.countsTables, !header.apps.isEmpty else {
            return nil
        }
        let doing = "listing purchases without a known owner"
        let list = UnownedList(run: run, apps: header.apps)
        let use = try await read(doing) { db in try list.use(db) }
        var speakers = UnownedList.Speakers()
        for source in UnownedList.Source.allCases {
            var start: UnownedList.Place? = source.start
            while let from = start, !speakers.isFull {
                let chunk = try await read(doing) { db in
                    try list.candidates(of: source, from: from, use, db)
                }
                for candidate in chunk.candidates { speakers.want(candidate.traits) }
                start = chunk.next
            }
        }
        let wanted = speakers
        let heard = try await read(doing) { db in
            var speakers = wanted
            try list.hear(&speakers, use, db)
            return speakers
        }
        for source in UnownedList.Source.allCases {
            var start: UnownedList.Place? = source.start
            while let from = start {
                let (change, next) = try await read(doing) { db in
                    let chunk = try list.candidates(of: source, from: from, use, db)
                    let change = try list.change(to: chunk.candidates, of: source, heard, db)
                    return (change, chunk.next)
                }
                try await make(change, of: source, list)
                start = next
            }
            try await close(source, of: list, use)
        }
        return try await read(doing) { db in try list.counts(db) }
    }

    /// Closes lines whose rows have an owner now.
    private func close(
        _ source: UnownedList.Source, of list: UnownedList, _ use: UnownedList.Use
    ) async throws(StoreError) {
        var last: Int64? = 0
        while let from = last {
            let gone = try await read("listing purchases without a known owner") { db in
                try list.ownedSince(of: source, after: from, use, db)
            }
            try await make(UnownedList.Change(gone: gone), of: source, list)
            last = gone.last
        }
    }

    /// Writes a change in small transactions.
    private func make(
        _ change: UnownedList.Change, of source: UnownedList.Source, _ list: UnownedList
    ) async throws(StoreError) {
        let size = StoreLimits.correctionsPerChunk
        var rest = change
        while !rest.isEmpty {
            let part = UnownedList.Change(
                gone: Array(rest.gone.prefix(size)), new: Array(rest.new.prefix(size)))
            rest.gone.removeFirst(part.gone.count)
            rest.new.removeFirst(part.new.count)
            try await write("listing purchases without a known owner") { db in
                try list.make(part, of: source, db)
            }
        }
    }
}

/// `trueup_unowned`: a line is valid from the run that found it until the run that found it gone.
///
/// So an unchanged line is written once, and the report of each run can be rendered again.
extension UnownedList {
    /// How the lines of some candidates change.
    struct Change: Sendable {
        var gone: [Int64] = []
        var new: [(keyID: String, line: UnownedPurchase)] = []

        var isEmpty: Bool { gone.isEmpty && new.isEmpty }
    }

    private static let columns = """
        u.bundle_id, u.environment, u.original_transaction_id, u.transaction_id, u.product_id,
        u.reason, u.customer_id, u.app_account_token, u.apple_account_token, u.speaks_for, u.because,
        u.evidence
        """

    /// Compares the open lines of candidates with what is known now.
    func change(
        to candidates: [Candidate], of source: Source, _ speakers: Speakers, _ db: Database
    ) throws -> Change {
        let open = try db.cachedStatement(
            sql: """
                SELECT u.line, \(Self.columns) FROM trueup_unowned AS u
                    INDEXED BY trueup_unowned_open
                WHERE u.listed_by = ? AND u.bundle_id = ? AND u.environment = ? AND u.key_id = ?
                    AND u.until_run IS NULL
                """)
        var change = Change()
        for candidate in candidates {
            var wanted = Set(speakers.lines(of: candidate))
            let rows = try Row.fetchCursor(
                open,
                arguments: [
                    source.rawValue, candidate.line.bundleID, candidate.line.environment,
                    candidate.keyID,
                ])
            while let row = try rows.next() {
                guard let line = row.integer(at: 0) else { continue }
                if wanted.remove(Self.purchase(row, at: 1)) == nil { change.gone.append(line) }
            }
            change.new += wanted.map { (candidate.keyID, $0) }
        }
        return change
    }

    func make(_ change: Change, of source: Source, _ db: Database) throws {
        let close = try db.cachedStatement(
            sql: "UPDATE trueup_unowned SET until_run = ? WHERE line = ?")
        for line in change.gone { try close.execute(arguments: [run.sequence, line]) }
        let add = try db.cachedStatement(
            sql: """
                INSERT INTO trueup_unowned (
                    listed_by, key_id, bundle_id, environment, original_transaction_id,
                    transaction_id, product_id, reason, customer_id, app_account_token,
                    apple_account_token, speaks_for, because, evidence, since_run)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for (keyID, line) in change.new {
            try add.execute(
                arguments: [
                    source.rawValue, keyID, line.bundleID, line.environment,
                    line.originalTransactionID, line.transactionID, line.productID,
                    line.reason.rawValue, line.customerID, line.appAccountToken,
                    line.appleAccountToken, line.speaksFor, line.because?.rawValue,
                    line.evidence?.hexadecimal, run.sequence,
                ])
        }
    }

    /// How many purchases of the apps have no known owner, by reason.
    func counts(_ db: Database) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for reason in UnownedPurchase.Reason.allCases { counts[reason.rawValue] = 0 }
        guard !apps.isEmpty else { return counts }
        try db.forEachRow(
            """
            SELECT reason, count(*) FROM (
                SELECT DISTINCT reason, listed_by, bundle_id, environment, key_id
                FROM trueup_unowned
                WHERE until_run IS NULL AND (bundle_id, environment) IN (VALUES \(apps.marks)))
            GROUP BY reason
            """, apps.arguments
        ) { row in counts[row.requiredText(at: 0)] = row.number(at: 1) }
        return counts
    }

    /// The lines that the report of a run lists.
    static func forEachLine(
        of apps: [AppIdentity], in sequence: Int64, _ db: Database,
        _ body: (UnownedPurchase) throws -> Void
    ) throws {
        guard !apps.isEmpty else { return }
        try db.forEachRow(
            """
            SELECT \(Self.columns) FROM trueup_unowned AS u
            WHERE u.since_run <= ? AND ifnull(u.until_run > ?, 1)
                AND (u.bundle_id, u.environment) IN (VALUES \(apps.marks))
            ORDER BY u.bundle_id, u.environment, u.original_transaction_id,
                ifnull(u.transaction_id, ''), u.reason, u.because, u.speaks_for
            """, [sequence, sequence] + apps.arguments
        ) { row in try body(Self.purchase(row, at: 0)) }
    }

    private static func purchase(_ row: Row, at index: Int) -> UnownedPurchase {
        var columns = RowColumns(row, at: index)
        let (bundleID, environment, original, transaction, product) = (
            columns.requiredText(), columns.requiredText(), columns.requiredText(),
            columns.text(), columns.text()
        )
        var purchase = UnownedPurchase(
            bundleID: bundleID, environment: environment, originalTransactionID: original,
            reason: columns.text().flatMap(UnownedPurchase.Reason.init) ?? .noToken)
        purchase.transactionID = transaction
        purchase.productID = product
        purchase.customerID = columns.text()
        purchase.appAccountToken = columns.text()
        purchase.appleAccountToken = columns.text()
        purchase.speaksFor = columns.text()
        purchase.because = columns.text().flatMap(UnownedPurchase.Hint.init)
        purchase.evidence = columns.digest()
        return purchase
    }

    /// Deletes a chunk of the lines that only reports of earlier runs list; whether there were any.
    static func deleteLines(goneBy sequence: Int64, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM trueup_unowned WHERE line IN (
                    SELECT line FROM trueup_unowned WHERE until_run <= ?
                    LIMIT \(StoreLimits.correctionsPerChunk))
                """, arguments: [sequence])
        return db.changesCount > 0
    }

    /// Deletes the lines that name a customer; the next run lists again what their rows still say.
    static func forget(_ customer: String, _ db: Database) throws {
        for column in ["customer_id", "speaks_for"] {
            try db.execute(
                sql: "DELETE FROM trueup_unowned WHERE \(column) = ?", arguments: [customer])
        }
    }
}

extension SQLiteRunRecord {
    package func forEachUnowned(_ body: (UnownedPurchase) throws -> Void) throws {
        try store.stream("reading the purchases without a known owner of \(runID)") { db in
            guard
                let row = try Row.fetchOne(
                    db, sql: "SELECT apps, measures FROM trueup_runs WHERE run_seq = ?",
                    arguments: [sequence]),
                let measures: RunMeasures = try StoredJSON.decode(row.text(at: 1)),
                measures.unowned != nil
            else { return }
            try UnownedList.forEachLine(
                of: TextList.apps(row.requiredText(at: 0)), in: sequence, db, body)
        }
    }
}
