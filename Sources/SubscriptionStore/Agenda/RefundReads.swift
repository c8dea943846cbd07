import GRDB
package import Subscriptions

/// The customers whose refunds are read, each once in so many days.
///
/// A reading counts unless its checkpoint was dropped, because then nothing of it was reported.
enum RefundReads {
    /// Who the purchase `t` belongs to, as `trueup_refund_reads` names it.
    static let owner = """
        CASE WHEN nullif(t.customer_id, '') IS NULL THEN 't:' || t.transaction_id
            ELSE 'c:' || t.customer_id END
        """

    /// A condition: a subscription of the customer of the purchase `t` is stored.
    static let hasSubscription = """
        EXISTS (SELECT 1 FROM subscriptions AS s WHERE s.customer_id = nullif(t.customer_id, '')
            AND s.bundle_id = t.bundle_id AND s.environment = t.environment)
        """

    /// Forgets when the refunds of a customer were read, in the apps of these rows.
    static func forget(
        _ customer: String, inAppsOf keys: [SubscriptionKey], _ db: Database
    ) throws {
        for app in Set(keys.map { [$0.bundleID, $0.environment] }) {
            try db.executeCached(
                """
                DELETE FROM trueup_refund_reads
                WHERE owner = 'c:' || ? AND bundle_id = ? AND environment = ?
                """, [customer] + StatementArguments(app))
        }
    }

    /// A condition: the customer of the purchase `t` was read since a moment.
    static let isRead = """
        EXISTS (SELECT 1 FROM trueup_refund_reads AS r
            WHERE r.owner = \(owner) AND r.bundle_id = t.bundle_id
                AND r.environment = t.environment AND r.read_at >= ?
                AND NOT EXISTS (SELECT 1 FROM trueup_passes AS w
                    WHERE w.pass_id = r.pass_id AND w.state = 'dropped'))
        """
}

extension SQLiteStore {
    /// How many pages of histories the stored periods and purchases of an app's customers fill.
    package func historyPages(of app: AppIdentity) async throws(StoreError) -> HistoryPages {
        try view("counting the pages of histories") { db in
            let row = try db.row(
                """
                WITH customers (customer_id) AS (
                    SELECT DISTINCT customer_id FROM subscriptions
                    WHERE bundle_id = ?1 AND environment = ?2 AND customer_id <> ''),
                counts (customer_id, count) AS (
                    SELECT s.customer_id, count(*) FROM transactions AS t
                    JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "t"))
                    WHERE t.bundle_id = ?1 AND t.environment = ?2 GROUP BY s.customer_id
                    UNION ALL
                    SELECT customer_id, count(*) FROM purchases
                    WHERE bundle_id = ?1 AND environment = ?2 GROUP BY customer_id)
                SELECT (SELECT count(*) FROM customers), ifnull(sum((total - 1) / 20), 0) FROM (
                    SELECT sum(count) AS total FROM counts
                    WHERE customer_id IN (SELECT customer_id FROM customers)
                    GROUP BY customer_id)
                """, [app.bundleID, app.environment.rawValue])
            return HistoryPages(
                customers: row?.number(at: 0) ?? 0, further: row?.number(at: 1) ?? 0)
        }
    }

    /// How many customers there are, and how many of them are due.
    package func customersToRead(
        in sweep: RefundSweep
    ) async throws(StoreError) -> RefundSweepCount {
        try view("counting the customers with purchases") { db in
            var count = RefundSweepCount()
            count.days = sweep.days
            let row = try db.row(
                """
                SELECT count(DISTINCT owner), count(DISTINCT CASE is_read WHEN 0 THEN owner END),
                    count(DISTINCT CASE WHEN is_read = 0 AND NOT has_subscription THEN owner END)
                FROM (SELECT \(RefundReads.owner) AS owner, \(RefundReads.isRead) AS is_read,
                        \(RefundReads.hasSubscription) AS has_subscription
                    FROM purchases AS t WHERE t.bundle_id = ? AND t.environment = ?)
                """,
                [
                    sweep.cutoff.unixMilliseconds, sweep.app.bundleID,
                    sweep.app.environment.rawValue,
                ])
            count.customers = row?.number(at: 0) ?? 0
            count.due = row?.number(at: 1) ?? 0
            count.dueWithoutSubscription = row?.number(at: 2) ?? 0
            return count
        }
    }

    /// The next purchases whose customers are due, by their ids.
    ///
    /// Not those that this checkpoint has compared already, by a notification or a history.
    package func dueRefunds(
        of sweep: RefundSweep, after transactionID: String?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [RefundedCustomer] {
        try await read("reading whose refunds are due") { db in
            try db.rows(
                cached: """
                    SELECT t.transaction_id, t.customer_id, \(RefundReads.hasSubscription)
                    FROM purchases AS t
                    WHERE t.bundle_id = ? AND t.environment = ? AND t.transaction_id > ?
                        AND NOT \(RefundReads.isRead)
                        AND NOT EXISTS (SELECT 1 FROM trueup_pass_purchases AS p
                            WHERE p.pass_id = ? AND p.bundle_id = t.bundle_id
                                AND p.environment = t.environment
                                AND p.transaction_id = t.transaction_id
                                AND p.verdict <> \(JudgedPurchase.Verdict.undecided.rawValue))
                    ORDER BY t.transaction_id LIMIT ?
                    """,
                [
                    sweep.app.bundleID, sweep.app.environment.rawValue, transactionID ?? "",
                    sweep.cutoff.unixMilliseconds, pass.passID, limit,
                ]
            ).map { row in
                let id = row.requiredText(at: 0)
                return RefundedCustomer(
                    customer: PurchaseCustomer(
                        customerID: row.text(at: 1), transactionID: id), transactionID: id,
                    hasSubscription: row.number(at: 2) == 1)
            }
        }
    }

    /// Stores what a customer's refunds say, in one transaction with that they were read.
    ///
    /// A check, and a run that leaves out rows, does not note that.
    package func stage(
        _ outcomes: [RowOutcome], ofRefundsOf customer: RefundedCustomer, in sweep: RefundSweep,
        pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing a customer's refunds") { db in
            let reference = try RunReference(run, in: pass, db)
            if !outcomes.isEmpty {
                try PlanReader(db: db).breakSeal(ofRun: reference.sequence)
                try PassStaging(db: db, run: reference, now: run.started).stage(
                    StagedBatch(outcomes: outcomes))
            }
            guard run.worksOffQueue else { return }
            try db.executeCached(
                "INSERT OR REPLACE INTO trueup_refund_reads VALUES (?, ?, ?, ?, ?)",
                [
                    customer.customer.owner, sweep.app.bundleID, sweep.app.environment.rawValue,
                    sweep.now.unixMilliseconds, pass.passID,
                ])
        }
    }
}

extension PurchaseCustomer {
    /// The name in `trueup_refund_reads`.
    fileprivate var owner: String {
        switch self {
        case .named(let name): "c:" + name
        case .unnamed(let transactionID): "t:" + transactionID
        }
    }
}
