package import Subscriptions

/// The commitment of a transaction that is billed monthly for twelve months.
///
/// Source: App Store Server API 1.21.
package struct TransactionCommitmentInfo: AppStoreModel {
    package static let modelName = "commitmentInfo"

    package let billingPeriodNumber: Int64?
    package let totalBillingPeriods: Int64?
    package let commitmentExpiresDate: Timestamp?
    /// Milliunits of the currency.
    package let commitmentPrice: Int64?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        billingPeriodNumber = try reader.integer("billingPeriodNumber")
        totalBillingPeriods = try reader.integer("totalBillingPeriods")
        commitmentExpiresDate = try reader.moment("commitmentExpiresDate")
        commitmentPrice = try reader.integer("commitmentPrice")
    }
}
