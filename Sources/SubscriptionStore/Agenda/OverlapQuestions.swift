import GRDB
import Subscriptions

/// Puts rows on the queue of which the checks of a run's end say something else about paying twice
/// under two Apple Accounts than its findings.
///
/// A judgement knows what was in the checks as the run began. So the later row of a pair that came
/// about in this run is checked again, and so is one whose neighbour is no longer paid for.
struct OverlapQuestions: Sendable {
    let run: RunReference
    let started: Timestamp

    /// Asks for pairs that the checkpoint does not state, of a source of rows of
    /// `trueup_pass_rows`, named `p`.
    func askAboutNew(_ rows: String, _ arguments: StatementArguments, _ db: Database) throws {
        let pairs = try db.rows(
            cached: """
                SELECT k.bundle_id, k.environment, k.original_transaction_id,
                    o.bundle_id, o.environment, o.original_transaction_id,
                    k.clock, o.clock, k.signed_date, o.signed_date
                FROM \(rows)
                CROSS JOIN trueup_checks AS o INDEXED BY trueup_checks_by_payer
                    ON o.customer = p.customer
                    AND o.paid_group = p.paid_group AND o.paid_group IS NOT NULL
                    AND o.bundle_id = p.bundle_id AND o.environment = p.environment
                    AND o.original_transaction_id <> p.original_transaction_id
                CROSS JOIN trueup_checks AS k ON \(SubscriptionKey.agree("k", "p"))
                    AND k.customer = o.customer AND k.paid_group = o.paid_group
                    AND (k.account IS NULL OR o.account IS NULL OR k.account <> o.account)
                \(PaidNeighbours.ofOneCustomer("k", "o"))
                WHERE p.paid_group IS NOT NULL AND \(PaidNeighbours.isOne("p.customer"))
                """, arguments)
        for row in pairs {
            let (mine, other) = (SubscriptionKey(row, at: 0), SubscriptionKey(row, at: 3))
            let isLater = PaidNeighbour.isEarlier(
                other.originalTransactionID, than: mine.originalTransactionID)
            let (later, earlier) = isLater ? (mine, other) : (other, mine)
            guard let ends = row.time(at: isLater ? 7 : 6),
                let signed = row.time(at: isLater ? 8 : 9), ends > signed,
                try stated(later, db) == nil,
                try stated(earlier, db) != .text(later.originalTransactionID)
            else { continue }
            try ask(later, db)
        }
    }

    /// Asks for the rows that are in the checkpoint as paid for next to one that is not, or is
    /// another customer's.
    func askAboutEnded(_ db: Database) throws {
        let rows = try db.rows(
            """
            SELECT key_bundle_id, key_environment, original_transaction_id, apple_value
            FROM trueup_pass_findings INDEXED BY trueup_pass_findings_of_overlaps
            WHERE pass_id = ? AND kind = 'overlapping_subscriptions'
                AND field = ? AND cause = ?
                AND superseded_by IS NULL AND original_transaction_id IS NOT NULL
            """,
            [
                run.passID, SubscriptionField.originalTransactionID.rawValue,
                Finding.causeTwoAccounts,
            ])
        for row in rows {
            let later = SubscriptionKey(row, at: 0)
            guard case .text(let id) = try FieldValueText.value(row.requiredText(at: 3)) else {
                continue
            }
            let earlier = SubscriptionKey(
                bundleID: later.bundleID, environment: later.environment,
                originalTransactionID: id)
            if try !isPaidByOne(earlier, later, db) { try ask(later, db) }
        }
    }

    private func isPaidByOne(
        _ earlier: SubscriptionKey, _ later: SubscriptionKey, _ db: Database
    ) throws -> Bool {
        try db.holds(
            """
            trueup_checks AS k CROSS JOIN trueup_checks AS o
            \(PaidNeighbours.ofOneCustomer("k", "o"))
            WHERE k.bundle_id = ? AND k.environment = ? AND k.original_transaction_id = ?
                AND o.bundle_id = ? AND o.environment = ? AND o.original_transaction_id = ?
                AND o.paid_group IS NOT NULL
            """, later.arguments + earlier.arguments)
    }

    /// Next to which subscription the checkpoint states that a row is paid for; `nil` where it does
    /// not.
    private func stated(_ key: SubscriptionKey, _ db: Database) throws -> FieldValue? {
        try db.text(
            cached: """
                SELECT apple_value FROM trueup_pass_findings
                WHERE pass_id = ? AND finding_id = ? AND superseded_by IS NULL
                """, [run.passID, PaidNeighbours.findingID(of: key)]
        ).map(FieldValueText.value)
    }

    private func ask(_ key: SubscriptionKey, _ db: Database) throws {
        try QuestionQueue.ask(about: key, .heldBack, isEntitling: true, since: started, db)
    }
}
