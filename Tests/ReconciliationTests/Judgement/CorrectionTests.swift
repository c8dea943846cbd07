import Reconciliation
import Subscriptions
import Testing

@Suite struct `A correction` {
    @Test func `keeps a row that already agrees with Apple`() throws {
        let outcome = try outcome(Sample.row(), beside: Sample.stated())
        #expect(outcome.verdict == .match)
        #expect(outcome.findings.isEmpty)
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.evidence.isEmpty)
        #expect(outcome.absence == .present)
    }

    @Test func `keeps both sides of a judged row for the control totals`() throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod)
        let figures = try outcome(Sample.row { $0.status = 2 }, beside: stated).figures
        #expect(figures?.ourStatus == 2)
        #expect(figures?.statedStatus == 4)
        #expect(figures?.price == stated.transaction.price)
        #expect(figures?.currency == stated.transaction.currency)
    }

    @Test func `fills a row that is not known yet completely and without findings`() throws {
        let stated = Sample.stated(Sample.id, .billingGracePeriod)
        var row = LocalSubscription(key: Sample.row().key)
        row.customerID = "customer 1"
        row.rowVersion = 1
        row.productID = "something.else"
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .match)
        #expect(outcome.findings.isEmpty)
        let correction = try #require(outcome.corrections.first)
        #expect(correction.target == .update(row.key, expectedRowVersion: 1))
        #expect(correction.kinds.isEmpty)
        #expect(correction.evidence == stated.transaction.evidence.digest)
        #expect(correction.evidenceRenewal == stated.renewal.evidence.digest)
        #expect(correction.appleSignedDate == stated.signedDate)
        var filled = Sample.row(of: stated) { $0.signedDate = stated.signedDate }
        filled.rowVersion = 2
        #expect(row.applying(outcome.corrections) == filled)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `fills columns that are not known yet together with a correction`() throws {
        let row = Sample.row {
            $0.autoRenewStatus = 0
            $0.appAccountToken = nil
            $0.expiresDate = nil
            $0.latestTransactionID = nil
        }
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.kinds == [.renewalPreference])
        #expect(
            try Set(outcome.changes().keys) == [
                "auto_renew_status", "app_account_token", "expires_date", "latest_transaction_id",
                "signed_date",
            ])
    }

    @Test func `states the values before and after, and the version that it saw`() throws {
        let row = Sample.row { $0.status = 2 }
        let outcome = try outcome(row, beside: Sample.stated())
        let correction = try #require(outcome.corrections.first)
        #expect(correction.target == .update(row.key, expectedRowVersion: 3))
        #expect(
            correction.changes.ofSubscription[.status]
                == FieldChange(before: .integer(2), after: .integer(1)))
        #expect(
            correction.changes.ofSubscription[.signedDate]
                == FieldChange(
                    before: .time(Sample.now(days: -1)), after: .time(Sample.stated().signedDate)))
        #expect(correction.kinds == [.accessMissing])
    }

    @Test func `reports a column without authority and does not write it`() throws {
        let policy = Sample.policy { $0.reportOnlyFields = ["expires_date"] }
        let row = Sample.row {
            $0.expiresDate = Sample.now(days: 3)
            $0.latestTransactionID = "1"
            $0.webOrderLineItemID = "2"
        }
        let alone = try outcome(row, beside: Sample.stated(), policy)
        #expect(alone.verdict == .discrepancy)
        #expect(alone.kinds == [.expiry])
        #expect(alone.findings[0].action == .none)
        #expect(alone.corrections.isEmpty)
        var second = row
        second.autoRenewStatus = 0
        let beside = try outcome(second, beside: Sample.stated(), policy)
        #expect(beside.kinds == [.expiry, .renewalPreference])
        #expect(try Set(beside.changes().keys) == ["auto_renew_status", "signed_date"])
        #expect(beside.corrections[0].kinds == [.renewalPreference])
        #expect(beside.findings.map(\.action) == [.none, .planned])
    }

    @Test func `moves the ids of the period with the product even where its end is held back`()
        throws
    {
        let policy = Sample.policy { $0.reportOnlyFields = ["expires_date"] }
        let row = Sample.row {
            $0.expiresDate = Sample.now(days: 3)
            $0.productID = "silver.monthly"
            $0.latestTransactionID = "1"
            $0.webOrderLineItemID = "2"
        }
        let outcome = try outcome(row, beside: Sample.stated(), policy)
        #expect(
            try Set(outcome.changes().keys) == [
                "product_id", "latest_transaction_id", "web_order_line_item_id", "signed_date",
            ])
    }

    @Test func `fills no row in a run that is narrowed to some kinds`() throws {
        let policy = Sample.policy { $0.onlyKinds = [.expiry] }
        let row = LocalSubscription(key: Sample.row().key)
        let outcome = try outcome(row, beside: Sample.stated(), policy)
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `reports and corrects only the kinds asked for, with an honest verdict`() throws {
        let row = Sample.row {
            $0.status = 2
            $0.expiresDate = Sample.now(days: -3)
            $0.autoRenewStatus = 0
        }
        let only = Sample.policy { $0.onlyKinds = [.renewalPreference] }
        let narrowed = try outcome(row, beside: Sample.stated(), only)
        #expect(narrowed.verdict == .discrepancy)
        #expect(narrowed.kinds == [.renewalPreference])
        #expect(try Set(narrowed.changes().keys) == ["auto_renew_status", "signed_date"])
        let none = Sample.policy { $0.onlyKinds = [.product] }
        let silent = try outcome(row, beside: Sample.stated(), none)
        #expect(silent.verdict == .discrepancy)
        #expect(silent.findings.isEmpty)
        #expect(silent.corrections.isEmpty)
    }

    @Test func `heeds a finding that is not reported`() throws {
        let row = Sample.row {
            $0.appAccountToken = "00000000-0000-4000-8000-000000000001"
            $0.status = 2
        }
        let policy = Sample.policy { $0.onlyKinds = [.accessMissing] }
        let outcome = try outcome(row, beside: Sample.stated(), policy)
        #expect(outcome.kinds == [.accessMissing])
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `of several findings makes one correction`() throws {
        let row = Sample.row {
            $0.status = 2
            $0.expiresDate = Sample.now(days: -3)
            $0.inAppOwnershipType = "FAMILY_SHARED"
        }
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.kinds == [.accessMissing, .expiry, .ownership])
        #expect(outcome.corrections.map(\.kinds) == [[.accessMissing, .expiry, .ownership]])
    }

    @Test func `states by which rules it is planned, each with its version`() throws {
        let row = Sample.row {
            $0.status = 2
            $0.expiresDate = Sample.now(days: -3)
        }
        let rules = try outcome(row, beside: Sample.stated()).corrections[0].rules
        #expect(rules.map(\.kind) == [.accessMissing, .expiry])
        #expect(rules.map(\.rule.name) == ["AccessMissingRule", "ExpiryRule"])
        #expect(rules.allSatisfy { $0.rule.version >= 1 })
        let unknown = LocalSubscription(key: Sample.row().key)
        let fill = try outcome(unknown, beside: Sample.stated()).corrections[0].rules
        #expect(fill.map(\.kind) == [nil])
        #expect(fill.map(\.rule.name) == ["FirstFill"])
    }
}
