import Reconciliation
import Subscriptions
import Testing

@Suite struct `The purchase refund missed rule` {
    private func outcome(
        _ signed: SignedTransaction, beside stored: LocalTransaction
    ) throws -> RowOutcome {
        let outcomes = Purchased.outcomes(of: Purchased.item([signed], stored: [stored]))
        #expect(outcomes.count == 1)
        return try #require(outcomes.first)
    }

    @Test func `reports a refund that is not recorded, and writes it`() throws {
        let signed = Purchased.refunded("7")
        let outcome = try outcome(signed, beside: Purchased.stored(Purchased.signed("7")))
        #expect(outcome.kinds == [.purchaseRefundMissed] && outcome.verdict == nil)
        let finding = outcome.findings[0]
        #expect(finding.severity == .high && finding.action == .planned)
        #expect(finding.direction == .companyLoses && finding.field == "revocation_date")
        #expect(finding.amount == 990 && finding.changedAt == signed.revocationDate)
        let correction = try #require(outcome.corrections.first)
        #expect(
            correction.target == .updatePeriod(Purchased.stored(signed).key, of: outcome.key))
        #expect(
            correction.changes.after.mapValues(\.plainText) == [
                "revocation_date": Sample.now(days: -2).rfc3339, "revocation_reason": "1",
                "revocation_percentage": "100000", "signed_date": signed.signedDate.rfc3339,
            ])
        #expect(correction.changes.before["revocation_date"] == .null)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `reports a refund that was reversed, and clears it`() throws {
        let outcome = try outcome(
            Purchased.signed("7"), beside: Purchased.stored(Purchased.refunded("7")))
        #expect(outcome.kinds == [.purchaseRefundMissed])
        #expect(outcome.findings[0].severity == .high)
        #expect(outcome.findings[0].direction == .customerLoses)
        let after = try #require(outcome.corrections.first).changes.after
        for column in ["revocation_date", "revocation_reason", "revocation_percentage"] {
            #expect(after[column] == .null, "\(column)")
        }
    }

    @Test func `reports another refund than the recorded one`() throws {
        let outcome = try outcome(
            Purchased.refunded("7"),
            beside: Purchased.stored(Purchased.refunded("7")) {
                $0.revocationPercentage = 50_000
            })
        #expect(outcome.kinds == [.purchaseRefundMissed])
        #expect(outcome.findings[0].severity == .medium)
        #expect(outcome.findings[0].field == "revocation_percentage")
        #expect(
            try #require(outcome.corrections.first).changes.after["revocation_percentage"]
                == .integer(100_000))
    }

    @Test func `writes no column that a job keeps for itself`() throws {
        let policy = Sample.policy {
            $0.reportOnlyFields.formUnion([
                "revocation_date", "revocation_reason", "revocation_percentage",
            ])
        }
        let item = Purchased.item(
            [Purchased.refunded("7")], stored: [Purchased.stored(Purchased.signed("7"))])
        let outcome = try #require(Purchased.outcomes(of: item, policy).first)
        #expect(outcome.kinds == [.purchaseRefundMissed] && outcome.corrections.isEmpty)
    }

    @Test func `finds nothing in what Apple omits, or what is kept to the second`() throws {
        let signed = Purchased.signed("7") {
            $0.revocationDate = Sample.now(days: -2, milliseconds: -5_123)
        }
        let stored = Purchased.stored(signed) {
            $0.revocationDate = Timestamp(
                unixMilliseconds: Sample.now(days: -2, milliseconds: -5_123).unixMilliseconds / 1000
                    * 1000)
            $0.revocationReason = 0
            $0.revocationPercentage = 100_000
        }
        let outcome = try outcome(signed, beside: stored)
        #expect(outcome.findings.isEmpty && outcome.corrections.isEmpty)
    }

    /// Apple's notification may still be on its way to the company.
    @Test func `waits for a refund, a purchase or a row that is younger than settle`() throws {
        let young = Sample.now(minutes: -5)
        let refund = try outcome(
            Purchased.signed("7") { $0.revocationDate = young },
            beside: Purchased.stored(Purchased.signed("7")))
        #expect(refund.findings.isEmpty && refund.examined == .nothing)
        let row = try outcome(
            Purchased.refunded("7"),
            beside: Purchased.stored(Purchased.signed("7")) { $0.signedDate = young })
        #expect(row.findings.isEmpty && row.examined == .nothing)
    }

    @Test func `follows what a notification says of a stored purchase`() throws {
        func outcome(_ signed: SignedTransaction) -> RowOutcome {
            Reconciliation.outcome(
                ofPurchase: signed, stored: Purchased.stored(Purchased.signed("7")),
                app: Sample.app, policy: Sample.policy())
        }
        var refunded = Purchased.refunded("7")
        refunded.signedDate = Sample.now(minutes: -30)
        let told = outcome(refunded)
        #expect(told.kinds == [.purchaseRefundMissed] && told.corrections.count == 1)
        #expect(told.findings[0].customerID == "customer 1")
        #expect(told.purchase?.key.transactionID == "7" && told.statedAt == refunded.signedDate)
        refunded.signedDate = Sample.now(minutes: -5)
        let inFlight = outcome(refunded)
        #expect(inFlight.findings.isEmpty && inFlight.corrections.isEmpty)
        #expect(inFlight.statedAt == refunded.signedDate)
        #expect(told.purchase?.verdict == .discrepancy && inFlight.purchase?.verdict == .undecided)
    }

    @Test func `is reported and not corrected where the purchases are a copy`() {
        var policy = Sample.policy()
        policy.writesPurchases = false
        var refunded = Purchased.refunded("7")
        refunded.signedDate = Sample.now(minutes: -30)
        let told = Reconciliation.outcome(
            ofPurchase: refunded, stored: Purchased.stored(Purchased.signed("7")),
            app: Sample.app, policy: policy)
        #expect(told.kinds == [.purchaseRefundMissed] && told.corrections.isEmpty)
        #expect(told.findings.first?.action == FindingAction.none)
    }

    @Test func `writes nothing to a newer or unreadable row, or to another customer's`() throws {
        let signed = Purchased.refunded("7")
        let bought = Purchased.signed("7")
        let newer = try outcome(
            signed, beside: Purchased.stored(bought) { $0.signedDate = Sample.now(days: 1) })
        #expect(newer.findings.isEmpty && newer.corrections.isEmpty && newer.examined == .nothing)
        let unreadable = try outcome(
            signed, beside: Purchased.stored(bought) { $0.unreadable = [.revocationDate: "soon"] })
        #expect(unreadable.findings.isEmpty && unreadable.corrections.isEmpty)
        let foreign = try outcome(
            signed,
            beside: Purchased.stored(bought) {
                $0.appAccountToken = "00000000-0000-0000-0000-000000000001"
            })
        #expect(foreign.kinds == [.purchaseRefundMissed] && foreign.corrections.isEmpty)
        #expect(foreign.findings[0].action == .refused)
    }
}
