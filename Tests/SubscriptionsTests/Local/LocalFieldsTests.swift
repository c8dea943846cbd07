import Subscriptions
import Testing

@Suite struct `The fields of local rows` {
    @Test func `names the columns of a row in the order of import and export`() {
        let names: [String] = [
            "original_transaction_id", "environment", "bundle_id", "customer_id",
            "app_account_token", "product_id", "status", "expires_date",
            "grace_period_expires_date", "auto_renew_status", "auto_renew_product_id",
            "revocation_date", "in_app_ownership_type", "latest_transaction_id",
            "web_order_line_item_id", "signed_date", "paid_elsewhere_until", "quantity",
            "renewal_quantity", "revoked_seats",
        ]
        #expect(SubscriptionField.allCases.map(\.rawValue) == names)
    }

    @Test func `names the seventeen columns of a period`() {
        let names: [String] = [
            "transaction_id", "original_transaction_id", "environment", "bundle_id", "product_id",
            "type", "purchase_date", "expires_date", "revocation_date", "revocation_reason",
            "web_order_line_item_id", "in_app_ownership_type", "is_upgraded", "offer_type", "price",
            "currency", "signed_date",
        ]
        #expect(TransactionField.ofPeriods.map(\.rawValue) == names)
    }

    @Test func `names the sixteen columns of a purchase`() {
        let names: [String] = [
            "transaction_id", "original_transaction_id", "environment", "bundle_id", "customer_id",
            "app_account_token", "product_id", "type", "quantity", "purchase_date",
            "revocation_date", "revocation_reason", "revocation_percentage", "price", "currency",
            "signed_date",
        ]
        #expect(TransactionField.ofPurchases.map(\.rawValue) == names)
        let columns = Set(TransactionTable.allCases.flatMap(\.fields))
        #expect(columns == Set(TransactionField.allCases))
    }

    @Test func `puts each column's value where it is read`() {
        var values: [SubscriptionField: FieldValue] = [:]
        for (index, field) in SubscriptionField.allCases.enumerated() {
            values[field] =
                switch field.form {
                case .text: .text("text \(index)")
                case .integer: .integer(Int64(index))
                case .time: .time(Timestamp(unixMilliseconds: Int64(index)))
                }
        }
        var row = LocalSubscription(
            key: SubscriptionKey(bundleID: "b", environment: "e", originalTransactionID: "1"))
        for (field, value) in values { field.definition.place.set(value, in: &row) }
        for field in SubscriptionField.allCases {
            let isKey = [.bundleID, .environment, .originalTransactionID].contains(field)
            #expect((row.value(of: field) == values[field]) != isKey, "\(field.rawValue)")
            field.definition.place.set(.null, in: &row)
            #expect((row.value(of: field) == .null) != isKey, "\(field.rawValue)")
        }
        // A value of another form is no value of the column.
        SubscriptionField.status.definition.place.set(.text("1"), in: &row)
        #expect(row.status == nil)
    }

    @Test func `gives nothing for an empty column`() {
        let row = LocalSubscription(
            key: SubscriptionKey(bundleID: "", environment: "", originalTransactionID: ""))
        #expect(row.value(of: .status) == .null)
        #expect(row.value(of: .originalTransactionID) == .text(""))
        #expect(FieldValue.null.plainText == "")
        #expect(FieldValue.null.json == .null)
    }

    @Test func `writes an upgrade as a number`() {
        var period = LocalTransaction(
            key: TransactionKey(bundleID: "b", environment: "Sandbox", transactionID: "2"),
            originalTransactionID: "1")
        #expect(period.value(of: .isUpgraded) == .null)
        period.isUpgraded = true
        #expect(period.value(of: .isUpgraded) == .integer(1))
        period.price = .max
        #expect(period.value(of: .price).plainText == "9223372036854775807")
    }
}

extension FieldValue {
    fileprivate var form: FieldForm? {
        switch self {
        case .null: nil
        case .text: .text
        case .integer: .integer
        case .time: .time
        }
    }
}
