import Reconciliation
import Subscriptions
import Testing

/// A row with a status and an empty column: not known yet (docs/columns.md).
@Suite struct `Column fill` {
    private static let fillable: [SubscriptionField] = [
        .appAccountToken, .productID, .expiresDate, .autoRenewStatus, .autoRenewProductID,
        .inAppOwnershipType, .latestTransactionID, .webOrderLineItemID,
    ]

    private func row(without fields: Set<SubscriptionField>) -> LocalSubscription {
        Sample.row { row in
            for field in fields {
                switch field {
                case .appAccountToken: row.appAccountToken = nil
                case .productID: row.productID = nil
                case .expiresDate: row.expiresDate = nil
                case .autoRenewStatus: row.autoRenewStatus = nil
                case .autoRenewProductID: row.autoRenewProductID = nil
                case .inAppOwnershipType: row.inAppOwnershipType = nil
                case .latestTransactionID: row.latestTransactionID = nil
                case .webOrderLineItemID: row.webOrderLineItemID = nil
                default: break
                }
            }
        }
    }

    @Test(arguments: fillable)
    func `an empty column is filled in from Apple's answer, and the row matches`(
        field: SubscriptionField
    ) throws {
        let empty = row(without: [field])
        let first = try outcome(empty, beside: Sample.stated())
        #expect(first.verdict == .match)
        #expect(first.findings.isEmpty)
        #expect(first.hasAllEvidence)
        let changes = try first.changes()
        #expect(Set(changes.keys) == [field.rawValue, "signed_date"])
        #expect(changes[field.rawValue] == Sample.row().value(of: field).plainText)
        #expect(first.corrections[0].kinds.isEmpty)
        #expect(first.corrections[0].rules.map(\.rule.name) == ["ColumnFill"])
        #expect(first.corrections[0].reason.contains(field.rawValue))

        let policy = Sample.policy { $0.settleMilliseconds = 0 }
        let second = try outcome(
            empty.applying(first.corrections), beside: Sample.stated(), policy)
        #expect(second.verdict == .match)
        #expect(second.corrections.isEmpty)
    }

    @Test func `all empty columns are filled in at once`() throws {
        let changes = try outcome(row(without: Set(Self.fillable)), beside: Sample.stated())
            .changes()
        #expect(
            Set(changes.keys) == Set(Self.fillable.map(\.rawValue)).union(["signed_date"]))
    }

    @Test func `empty text stands in the ledger as it stood in the row`() throws {
        var empty = row(without: [.productID, .expiresDate])
        empty.emptyTexts = [.productID]
        let correction = try outcome(empty, beside: Sample.stated()).corrections[0]
        #expect(correction.changes.ofSubscription[.productID]?.before == .text(""))
        #expect(correction.changes.ofSubscription[.expiresDate]?.before == .null)
    }

    @Test func `an empty token contradicts no account`() throws {
        var empty = row(without: [.appAccountToken])
        empty.emptyTexts = [.appAccountToken]
        #expect(try outcome(empty, beside: Sample.stated()).verdict == .match)
    }

    @Test func `an empty date of revocation or grace says that there is none`() throws {
        let stated = Sample.stated {
            $0.transaction.revocationDate = Sample.now(days: -1)
            $0.transaction.revocationType = "REFUND_PRORATED"
        }
        let row = Sample.row(of: stated) { $0.revocationDate = nil }
        #expect(try outcome(row, beside: stated).corrections.isEmpty)
    }

    @Test func `when it was signed is not filled in for its own sake`() throws {
        let row = Sample.row { $0.signedDate = nil }
        #expect(try outcome(row, beside: Sample.stated()).corrections.isEmpty)
    }

    @Test func `a column that is only reported is not filled in`() throws {
        let policy = Sample.policy { $0.reportOnlyFields = ["product_id"] }
        let outcome = try outcome(row(without: [.productID]), beside: Sample.stated(), policy)
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `a run narrowed to some kinds fills nothing in`() throws {
        let policy = Sample.policy { $0.onlyKinds = [.expiry] }
        let outcome = try outcome(row(without: [.productID]), beside: Sample.stated(), policy)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `a difference that may not be written is not written with the fill`() throws {
        let policy = Sample.policy { $0.reportOnlyFields = ["expires_date"] }
        var empty = row(without: [.productID])
        empty.expiresDate = Sample.now(days: 1)
        let outcome = try outcome(empty, beside: Sample.stated(), policy)
        #expect(outcome.kinds == [.expiry])
        #expect(Set(try outcome.changes().keys) == ["product_id", "signed_date"])
    }

    @Test func `nothing is filled in of a row that may be another customer's`() throws {
        var empty = row(without: [.productID])
        empty.appAccountToken = "00000000-0000-0000-0000-000000000000"
        let outcome = try outcome(empty, beside: Sample.stated())
        #expect(outcome.kinds == [.identity])
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `a correction takes the empty columns along`() throws {
        var empty = row(without: [.productID])
        empty.status = 2
        let outcome = try outcome(empty, beside: Sample.stated())
        #expect(outcome.kinds == [.accessMissing])
        #expect(try outcome.changes()["product_id"] == "gold.monthly")
    }
}
