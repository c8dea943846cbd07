import GRDB
package import Reconciliation
package import Subscriptions

/// Apple's answers to the questions of a comparison, in its working file: the database stays as it is.
extension CompareScratch {
    static let answerTables = """
        -- `is_missing`: no line is about it, and nothing that Apple signed is stored.
        CREATE TABLE compare_wanted (
            original_id TEXT PRIMARY KEY, apps TEXT, is_missing INTEGER) WITHOUT ROWID;
        CREATE TABLE compare_absent (original_id TEXT PRIMARY KEY) WITHOUT ROWID;
        -- The subscriptions of the answers. `has_history`: all their transactions are there.
        CREATE TABLE compare_asked (
            original_id TEXT, bundle_id TEXT, environment TEXT, signed INTEGER, latest_id TEXT,
            has_history INTEGER, PRIMARY KEY (original_id, bundle_id, environment)) WITHOUT ROWID;
        -- The latest transaction has the state as well, and `renewal`, by which that is proven.
        CREATE TABLE compare_signed (
            original_id TEXT, bundle_id TEXT, environment TEXT, transaction_id TEXT, product TEXT,
            starts INTEGER, ends INTEGER, revoked INTEGER, ownership TEXT, price INTEGER,
            currency TEXT, status INTEGER, grace INTEGER, renews INTEGER, evidence TEXT,
            renewal TEXT,
            PRIMARY KEY (original_id, bundle_id, environment, transaction_id)) WITHOUT ROWID;
        """ + Schema.evidence

    /// How many columns `compare_signed` has.
    static let signedColumns = 16

    /// How many subscriptions no fresh statement is stored about.
    package func questionCount() throws -> Int {
        try writing("counting what to ask Apple") { db in
            try db.count("SELECT count(*) FROM compare_wanted")
        }
    }

    /// Readies the file for many questions: what differs so far is dropped, because it is compared again.
    package func prepareToAsk() throws {
        try writing("getting ready to ask Apple") { db in
            try db.execute(sql: "DELETE FROM compare_differences")
            try db.execute(
                sql: "CREATE INDEX compare_lines_by_id ON compare_lines (original_id)")
        }
    }

    /// The next questions, in the order of their ids.
    ///
    /// - Parameters:
    ///   - last: The id of the last question before these; `nil` for the first.
    ///   - limit: How many at most.
    /// - Returns: The questions; none after the last.
    /// - Throws: `StoreError`.
    package func questions(after last: String?, limit: Int) throws -> [CompareQuestion] {
        try writing("reading what to ask Apple") { db in
            let wanted = try db.rows(
                """
                SELECT original_id, apps FROM compare_wanted WHERE original_id > ?
                ORDER BY original_id LIMIT ?
                """, [last ?? "", limit])
            return try wanted.map { row in
                let id = row.requiredText(at: 0)
                var ids: Set<String> = []
                var sandboxes: Set<Bool?> = []
                try db.forEachRow(
                    cached: """
                        SELECT DISTINCT transaction_id, sandbox FROM compare_lines
                        WHERE original_id = ? AND renewable IS NOT 0
                        """, [id]
                ) { line in
                    ids.insert(line.requiredText(at: 0))
                    sandboxes.insert(line.integer(at: 1).map { $0 == 1 })
                }
                return CompareQuestion(
                    originalTransactionID: id, transactionIDs: ids,
                    storedApps: Self.apps(TextList.decode(row.requiredText(at: 1))),
                    isSandbox: sandboxes.count == 1 ? sandboxes.first ?? nil : nil)
            }
        }
    }

    /// Keeps answers, all or none of them.
    package func keep(_ answers: [(question: CompareQuestion, answer: CompareAnswer)]) throws {
        try writing("keeping Apple's answers") { db in
            for (question, answer) in answers {
                switch answer {
                case .answered(let subscriptions):
                    for subscription in subscriptions { try Self.keep(subscription, db) }
                case .notFound:
                    try db.executeCached(
                        "INSERT INTO compare_absent VALUES (?)", [question.originalTransactionID])
                case .unanswered: break
                }
            }
        }
    }

    private static func keep(_ asked: AskedSubscription, _ db: Database) throws {
        let latest = asked.stated.transaction
        let key = asked.key
        let identity: StatementArguments = [
            key.originalTransactionID, key.bundleID, key.environment,
        ]
        // Every answer about a customer has all of their subscriptions; one with a history says more.
        let known = try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT has_history FROM compare_asked
                    WHERE original_id = ? AND bundle_id = ? AND environment = ?
                    """), arguments: identity)
        if let known, known || asked.transactions == nil { return }
        try db.executeCached(
            "INSERT OR REPLACE INTO compare_asked VALUES (?, ?, ?, ?, ?, ?)",
            identity + [
                asked.stated.signedDate.unixMilliseconds, latest.transactionID,
                asked.transactions != nil,
            ])
        let insert = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO compare_signed
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        let vault = EvidenceVault(db: db)
        let app = (bundleID: key.bundleID, environment: key.environment)
        for transaction in asked.transactions ?? [] {
            try insert.execute(
                arguments: identity
                    + arguments(
                        transaction, AppleTransaction(transaction, environment: key.environment),
                        nil))
            try vault.store(transaction.evidence, of: app)
        }
        try insert.execute(
            arguments: identity
                + arguments(
                    latest, AppleTransaction(asked.stated, environment: key.environment),
                    asked.stated.renewal.evidence.digest))
        try vault.store(latest.evidence, of: app)
        try vault.store(asked.stated.renewal.evidence, of: app)
    }

    private static func arguments(
        _ transaction: SignedTransaction, _ facts: AppleTransaction, _ renewal: EvidenceDigest?
    ) -> StatementArguments {
        [
            transaction.transactionID, facts.productID, facts.purchaseDate?.unixMilliseconds,
            facts.expiresDate?.unixMilliseconds, facts.revocationDate?.unixMilliseconds,
            facts.ownership, facts.price, facts.currency, facts.current?.status.rawValue,
            facts.current?.gracePeriodExpiresDate?.unixMilliseconds, facts.current?.renews,
            transaction.evidence.digest.hexadecimal, renewal?.hexadecimal,
        ]
    }

    private static func apps(_ words: [String]) -> [AppIdentity] {
        words.compactMap { word in
            let parts = word.split(separator: " ", maxSplits: 1)
            guard parts.count == 2,
                let environment = AppStoreEnvironment(rawValue: String(parts[0]))
            else { return nil }
            return AppIdentity(bundleID: String(parts[1]), environment: environment)
        }
    }

    /// Notes that Apple is to be asked about an id.
    static func want(
        _ originalTransactionID: String, of stored: [SubscriptionKey], isMissing: Bool,
        _ db: Database
    ) throws {
        let apps = stored.map { Self.word($0.bundleID, $0.environment) }
        try db.executeCached(
            "INSERT OR IGNORE INTO compare_wanted VALUES (?, ?, ?)",
            [originalTransactionID, TextList.encode(apps), isMissing])
    }

    /// Notes that Apple need not be asked about rows of an app that no line is about.
    static func leaveOutMissing(
        ofApp bundleID: String, _ environment: String, _ db: Database
    ) throws {
        try db.execute(
            sql: "DELETE FROM compare_wanted WHERE is_missing AND apps = ?",
            arguments: [Self.word(bundleID, environment)])
    }

    private static func word(_ bundleID: String, _ environment: String) -> String {
        "\(environment) \(bundleID)"
    }

    /// The facts of a row of `compare_signed`, from its fifth column on.
    static func transaction(_ row: Row, environment: String) -> AppleTransaction {
        var columns = RowColumns(row, at: 4)
        var apple = AppleTransaction(environment: environment)
        apple.productID = columns.text()
        apple.purchaseDate = columns.time()
        apple.expiresDate = columns.time()
        apple.revocationDate = columns.time()
        apple.ownership = columns.text()
        apple.price = columns.integer()
        apple.currency = columns.text()
        let status = columns.number()
        let grace = columns.time()
        let renews = columns.integer()
        apple.current = status.map { status in
            AppleTransaction.Current(
                status: SubscriptionStatus(rawValue: status), gracePeriodExpiresDate: grace,
                renews: renews.map { $0 == 1 })
        }
        return apple
    }
}

extension SQLiteStore {
    /// Hands over the payloads on which the differences of a comparison rest, each once, by digest:
    /// those of Apple's answers, and those that are stored.
    package func forEachEvidence(
        of scratch: CompareScratch, _ body: (ReportedEvidence) throws -> Void
    ) throws {
        try stream("reading evidence") { db in
            try scratch.writing("reading evidence") { answers in
                let asked = EvidenceVault(db: answers)
                let stored = EvidenceVault(db: db)
                try answers.forEachRow(
                    """
                    SELECT DISTINCT evidence FROM compare_differences
                    WHERE evidence IS NOT NULL ORDER BY evidence
                    """
                ) { row in
                    let digest = EvidenceDigest(hexadecimal: row.requiredText(at: 0))
                    if let payload = try asked.payload(digest) ?? stored.payload(digest) {
                        try body(.payload(payload))
                    } else if let tombstone = try stored.tombstone(digest) {
                        try body(.erased(tombstone))
                    }
                }
            }
        }
    }
}
