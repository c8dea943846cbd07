import GRDB
import Reconciliation
import Subscriptions

/// Finds losses of a plan whose customer gains the same entitlement by another correction of the plan.
///
/// A judgement sees the subscriptions of one Apple Account in one app. A customer may have another
/// account, or use another app of the company's, in whose answer the gain was found. Both are linked:
/// the gain is written first, and the loss only if the gain is stored.
extension LinkedCorrections {
    /// A loss, and the subscriptions by which access continues.
    typealias Link = (correction: Int64, key: SubscriptionKey, before: [String], gains: [String])

    /// The links that are missing; none for a run that applies a stored plan or reverts a run.
    func missing(by catalogue: ProductCatalogue?) throws -> [Link] {
        guard try !db.holds("trueup_applications WHERE pass_id = ?", [passID]) else { return [] }
        var links: [Link] = []
        try db.forEachRow(
            """
            SELECT \(PlanApplication.StoredCorrection.columns) FROM trueup_pass_corrections AS c
                INDEXED BY trueup_pass_corrections_planned
            WHERE c.pass_id = ? AND c.fate = 'planned' AND c.superseded_by IS NULL
                AND c.target = 'update' AND c.undo_of IS NULL
                AND (instr(c.kinds, '\(FindingKind.accessUnpaid.rawValue)') > 0
                    OR instr(c.kinds, '\(FindingKind.revocationMissed.rawValue)') > 0)
            """, [passID]
        ) { row in
            let loss = try PlanApplication.StoredCorrection(row)
            guard loss.correction.endsAccess else { return }
            let known = loss.correction.continuedBy
            let gains = try gains(insteadOf: loss.correction.subscription, by: catalogue)
                .filter { !known.contains($0) }
            guard !gains.isEmpty else { return }
            links.append((loss.id, loss.correction.subscription, known, gains))
        }
        return links
    }

    /// Subscriptions of the customer that give an entitlement of this one by the same plan.
    private func gains(
        insteadOf key: SubscriptionKey, by catalogue: ProductCatalogue?
    ) throws -> [String] {
        let rows = try db.rows(
            cached: """
                SELECT \(PlanApplication.StoredCorrection.columns),
                    ended.product_id, other.product_id
                FROM subscriptions AS ended
                CROSS JOIN subscriptions AS other INDEXED BY subscriptions_by_customer
                    ON other.customer_id = ended.customer_id
                CROSS JOIN trueup_pass_corrections AS c ON c.pass_id = ?4
                    AND c.bundle_id = other.bundle_id AND c.environment = other.environment
                    AND c.original_transaction_id = other.original_transaction_id
                    AND c.fate = 'planned' AND c.superseded_by IS NULL
                WHERE ended.bundle_id = ?1 AND ended.environment = ?2
                    AND ended.original_transaction_id = ?3
                    AND nullif(ended.customer_id, '') IS NOT NULL
                    AND \(EntitlementBook.isOne("ended.customer_id"))
                    AND other.environment = ?2
                    AND (other.bundle_id <> ?1 OR other.original_transaction_id <> ?3)
                ORDER BY other.bundle_id <> ?1, other.bundle_id,
                    other.original_transaction_id, c.correction_id
                """, key.arguments + [passID])
        var gains: [String] = []
        for row in rows {
            let gain = try PlanApplication.StoredCorrection(row).correction
            guard gain.undoOf == nil, gain.givesAccess else { continue }
            var product = row.text(at: row.count - 1)
            if case .text(let next)? = gain.changes.ofSubscription[.productID]?.after {
                product = next
            }
            let name = key.name(of: gain.subscription)
            guard catalogue.grant(sameBy: row.text(at: row.count - 2), and: product),
                !gains.contains(name)
            else { continue }
            gains.append(name)
        }
        return gains
    }

    func write(_ links: ArraySlice<Link>) throws {
        for link in links {
            let others = link.before + link.gains
            try db.executeCached(
                "UPDATE trueup_pass_corrections SET continued_by = ? WHERE correction_id = ?",
                [TextList.encode(others), link.correction])
            try add(link.gains, to: link.key)
        }
    }
}

extension SQLiteStore {
    /// Links losses and gains of a plan that is not sealed yet.
    func linkByEntitlement(_ pass: OpenPass) async throws(StoreError) {
        let doing = "ordering the corrections of a plan"
        let links = try await read(doing) { [catalogue] db in
            try LinkedCorrections(db: db, passID: pass.passID).missing(by: catalogue)
        }
        for some in links.chunked(by: StoreLimits.correctionsPerChunk) {
            try await write(doing) { db in
                try LinkedCorrections(db: db, passID: pass.passID).write(some)
            }
        }
    }
}
