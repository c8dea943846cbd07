import Reconciliation
import Subscriptions
import Testing

@Suite struct `The renewal preference rule` {
    @Test func `reports a missed cancellation on the renewal info's evidence`() throws {
        let stated = Sample.stated { $0.renewal.autoRenewStatus = 0 }
        let outcome = try outcome(Sample.row(), beside: stated)
        #expect(outcome.kinds == [.renewalPreference])
        let finding = try outcome.finding(.renewalPreference)
        #expect(finding.severity == .medium)
        #expect(finding.field == "auto_renew_status")
        #expect(finding.cause == "cancellation not recorded")
        #expect(finding.evidence == stated.renewal.evidence.digest)
        #expect(try outcome.changes()["auto_renew_status"] == "0")
        #expect(outcome.hasAllEvidence)
    }

    @Test func `reports both columns when both differ`() throws {
        let stated = Sample.stated {
            $0.renewal.autoRenewStatus = 0
            $0.renewal.autoRenewProductID = "silver.monthly"
        }
        let outcome = try outcome(Sample.row(), beside: stated)
        #expect(
            outcome.findings.map(\.field) == ["auto_renew_product_id", "auto_renew_status"])
        #expect(outcome.corrections[0].kinds == [.renewalPreference])
    }

    @Test func `says nothing where either side states nothing`() throws {
        let stated = Sample.stated {
            $0.renewal.autoRenewStatus = nil
            $0.renewal.autoRenewProductID = nil
        }
        #expect(try outcome(Sample.row(), beside: stated).verdict == .match)
        let row = Sample.row {
            $0.autoRenewStatus = nil
            $0.autoRenewProductID = nil
        }
        #expect(try outcome(row, beside: Sample.stated()).verdict == .match)
    }

    @Test func `never takes over an auto-renew status that it does not know`() throws {
        let stated = Sample.stated { $0.renewal.autoRenewStatus = 7 }
        #expect(try outcome(Sample.row(), beside: stated).verdict == .match)
    }
}
