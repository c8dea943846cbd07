import GRDB
import Subscriptions

/// Rows of one customer that are paid for, as far as Apple was asked about them.
///
/// They are found by the digest of the checks, and told from other customers' by the ids that stand in
/// the company's rows now.
struct PaidNeighbours {
    let db: Database

    /// Whether there may be any beside the check of a row, by its alias in the query.
    static func exist(beside check: String) -> String {
        """
        EXISTS (SELECT 1 FROM trueup_checks AS o INDEXED BY trueup_checks_by_payer
            WHERE o.customer = \(check).customer
            AND o.paid_group IS NOT NULL AND o.bundle_id = \(check).bundle_id
            AND o.environment = \(check).environment
            AND o.original_transaction_id <> \(check).original_transaction_id)
        """
    }

    /// That a customer, as a digest in the query, is one: under a name for nobody far more is paid.
    static func isOne(_ customer: String) -> String {
        """
        (SELECT count(*) FROM (SELECT 1
            FROM trueup_checks AS c INDEXED BY trueup_checks_by_payer
            WHERE c.customer = \(customer) AND c.paid_group IS NOT NULL
            LIMIT \(PaidNeighbour.most + 1))) <= \(PaidNeighbour.most)
        """
    }

    /// The company's rows beside two checks, `s` and `t`, which are of one customer.
    static func ofOneCustomer(_ check: String, _ other: String) -> String {
        """
        CROSS JOIN subscriptions AS s ON s.bundle_id = \(check).bundle_id
            AND s.environment = \(check).environment
            AND s.original_transaction_id = \(check).original_transaction_id
        CROSS JOIN subscriptions AS t ON t.bundle_id = \(other).bundle_id
            AND t.environment = \(other).environment
            AND t.original_transaction_id = \(other).original_transaction_id
            AND t.customer_id = s.customer_id AND t.customer_id <> ''
        """
    }

    func rows(beside key: SubscriptionKey) throws -> [PaidNeighbour] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT o.original_transaction_id, o.paid_group, o.clock
                FROM trueup_checks AS k
                CROSS JOIN trueup_checks AS o INDEXED BY trueup_checks_by_payer
                    ON o.customer = k.customer AND o.paid_group IS NOT NULL AND o.bundle_id = k.bundle_id
                    AND o.environment = k.environment
                    AND o.original_transaction_id <> k.original_transaction_id
                \(Self.ofOneCustomer("k", "o"))
                WHERE k.bundle_id = ? AND k.environment = ? AND k.original_transaction_id = ?
                    AND \(Self.isOne("k.customer"))
                ORDER BY o.original_transaction_id
                """)
        return try Row.fetchAll(statement, arguments: key.arguments).map { row in
            PaidNeighbour(
                originalTransactionID: row.requiredText(at: 0), group: row.requiredText(at: 1),
                clock: row.time(at: 2))
        }
    }

    /// Forgets whose rows are; they are noted again when they are judged next.
    func forget(_ keys: [SubscriptionKey]) throws {
        let update = try db.cachedStatement(
            sql: """
                UPDATE trueup_checks SET customer = NULL, paid_group = NULL
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """)
        for key in keys { try update.execute(arguments: key.arguments) }
    }

    /// Whether a finding about a row says that it is paid for beside another one.
    func isKnownOverlap(_ key: SubscriptionKey) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM trueup_findings
                        WHERE finding_id = ? AND state IN \(FindingLook.unresolved))
                    """), arguments: [Self.findingID(of: key)]) ?? false
    }

    /// The identity of the finding that a row is paid for beside another one.
    static func findingID(of key: SubscriptionKey) -> String {
        var finding = Finding(
            kind: .overlappingSubscriptions, severity: .medium, row: LocalSubscription(key: key))
        finding.field = SubscriptionField.originalTransactionID.rawValue
        return FindingIdentity.of(finding)
    }
}
