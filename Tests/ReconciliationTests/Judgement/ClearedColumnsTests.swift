import Reconciliation
import Subscriptions
import Testing

/// Which columns are cleared where Apple states nothing: each column with each status.
@Suite struct `A column that Apple does not state` {
    /// Takes the value of a column out of Apple's statement; `nil` for columns that Apple always states.
    private static func omission(
        of field: SubscriptionField
    ) -> ((inout StatedSubscription) -> Void)? {
        switch field {
        case .appAccountToken: { $0.transaction.appAccountToken = nil }
        case .productID: { $0.transaction.productID = nil }
        case .expiresDate: { $0.transaction.expiresDate = nil }
        case .gracePeriodExpiresDate: { $0.renewal.gracePeriodExpiresDate = nil }
        case .autoRenewStatus: { $0.renewal.autoRenewStatus = nil }
        case .autoRenewProductID: { $0.renewal.autoRenewProductID = nil }
        case .revocationDate: { $0.transaction.revocationDate = nil }
        case .inAppOwnershipType: { $0.transaction.inAppOwnershipType = nil }
        case .webOrderLineItemID: { $0.transaction.webOrderLineItemID = nil }
        default: nil
        }
    }

    private static func fill(_ field: SubscriptionField, of row: inout LocalSubscription) {
        guard row.value(of: field) == .null else { return }
        let value: FieldValue =
            switch field.form {
            case .text: .text("kept")
            case .integer: .integer(1)
            case .time: .time(Sample.now(days: -3))
            }
        field.definition.place.set(value, in: &row)
    }

    @Test(arguments: SubscriptionField.stated, 1...5)
    func `is cleared where the table says so, and is a finding then`(
        field: SubscriptionField, status: Int
    ) throws {
        guard let omission = Self.omission(of: field) else {
            #expect(field.clearedIn.isEmpty)
            return
        }
        let status = SubscriptionStatus(rawValue: status)
        var row = Sample.row(of: Sample.stated(Sample.id, status))
        Self.fill(field, of: &row)
        let outcome = try outcome(row, beside: Sample.stated(Sample.id, status, omission))
        let cleared = outcome.corrections.flatMap(\.changes.ofSubscription)
            .filter { $0.value.after == .null }.map(\.key)
        #expect(cleared == (field.clearedIn.contains(status) ? [field] : []), "\(outcome.verdict)")
        #expect(outcome.findings.contains { $0.field == field.rawValue } == !cleared.isEmpty)
    }
}
