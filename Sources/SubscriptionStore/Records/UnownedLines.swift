import GRDB
package import Subscriptions

/// `trueup_unowned`: a line is valid from the run that found it until the run that found it gone.
///
/// So an unchanged line is written once, and the report of each run can be rendered again.
struct UnownedLines {
    let db: Database

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
        to candidates: [UnownedList.Candidate], of source: UnownedList.Source,
        _ speakers: UnownedList.Speakers
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

    func make(_ change: Change, of source: UnownedList.Source, in run: RunReference) throws {
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
    func counts(of apps: [AppIdentity]) throws -> [String: Int] {
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
    func forEach(
        of apps: [AppIdentity], in sequence: Int64, _ body: (UnownedPurchase) throws -> Void
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
    func deleteSome(goneBy sequence: Int64) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM trueup_unowned WHERE line IN (
                    SELECT line FROM trueup_unowned WHERE until_run <= ?
                    LIMIT \(StoreLimits.correctionsPerChunk))
                """, arguments: [sequence])
        return db.changesCount > 0
    }

    /// Deletes the lines that name a customer; the next run lists again what their rows still say.
    func forget(_ customer: String) throws {
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
            try UnownedLines(db: db).forEach(
                of: TextList.apps(row.requiredText(at: 0)), in: sequence, body)
        }
    }
}
