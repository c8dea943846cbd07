package import Subscriptions

/// The commitment of the next renewal, where a subscription is billed monthly for twelve months.
///
/// Source: App Store Server API 1.21.
package struct RenewalCommitmentInfo: AppStoreModel {
    package static let modelName = "commitmentInfo"

    package let commitmentAutoRenewProductId: String?
    package let commitmentAutoRenewStatus: Int?
    package let commitmentRenewalBillingPlanType: String?
    package let commitmentRenewalDate: Timestamp?
    /// Milliunits of the currency.
    package let commitmentRenewalPrice: Int64?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        commitmentAutoRenewProductId = try reader.text("commitmentAutoRenewProductId")
        commitmentAutoRenewStatus = try reader.enumeration(
            "commitmentAutoRenewStatus", known: KnownValues.autoRenewStatuses)
        commitmentRenewalBillingPlanType = try reader.enumeration(
            "commitmentRenewalBillingPlanType", known: KnownValues.billingPlanTypes)
        commitmentRenewalDate = try reader.moment("commitmentRenewalDate")
        commitmentRenewalPrice = try reader.integer("commitmentRenewalPrice")
    }
}
