package import JSONWebSignature
package import Subscriptions

/// The payload of signed renewal information; it names no bundle.
///
/// Source: App Store Server API, JWSRenewalInfoDecodedPayload (1.23).
package struct JWSRenewalInfoDecodedPayload: AppStoreModel {
    package static let modelName = "renewalInfo"

    package let expirationIntent: Int?
    package let originalTransactionId: String?
    package let autoRenewProductId: String?
    package let productId: String?
    package let autoRenewStatus: Int?
    package let isInBillingRetryPeriod: Bool?
    package let priceIncreaseStatus: Int?
    package let gracePeriodExpiresDate: Timestamp?
    package let offerType: Int?
    package let offerIdentifier: String?
    package let signedDate: Timestamp?
    package let environment: String?
    package let recentSubscriptionStartDate: Timestamp?
    package let renewalDate: Timestamp?
    package let currency: String?
    /// Milliunits of `currency`.
    package let renewalPrice: Int64?
    package let offerDiscountType: String?
    package let eligibleWinBackOfferIds: [String]?
    package let appAccountToken: String?
    package let appTransactionId: String?
    package let offerPeriod: String?
    package let renewalBillingPlanType: String?
    package let commitmentInfo: RenewalCommitmentInfo?
    package let renewalQuantity: Int64?
    package let advancedCommerceInfo: JSONValue?
    package let multiSeatInfo: JSONValue?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        expirationIntent = try reader.enumeration(
            "expirationIntent", known: KnownValues.expirationIntents, .strict)
        originalTransactionId = try reader.text("originalTransactionId", .strict)
        autoRenewProductId = try reader.text("autoRenewProductId", .strict)
        productId = try reader.text("productId", .strict)
        autoRenewStatus = try reader.enumeration(
            "autoRenewStatus", known: KnownValues.autoRenewStatuses, .strict)
        isInBillingRetryPeriod = try reader.boolean("isInBillingRetryPeriod", .strict)
        priceIncreaseStatus = try reader.enumeration(
            "priceIncreaseStatus", known: KnownValues.priceIncreaseStatuses)
        gracePeriodExpiresDate = try reader.moment("gracePeriodExpiresDate", .strict)
        offerType = try reader.enumeration("offerType", known: KnownValues.offerTypes)
        offerIdentifier = try reader.text("offerIdentifier")
        signedDate = try reader.moment("signedDate", .strict)
        environment = try reader.environment()
        recentSubscriptionStartDate = try reader.moment("recentSubscriptionStartDate")
        renewalDate = try reader.moment("renewalDate", .strict)
        currency = try reader.text("currency")
        renewalPrice = try reader.integer("renewalPrice")
        offerDiscountType = try reader.enumeration(
            "offerDiscountType", known: KnownValues.offerDiscountTypes)
        eligibleWinBackOfferIds = try reader.texts("eligibleWinBackOfferIds")
        appAccountToken = try reader.text("appAccountToken", .strict)
        appTransactionId = try reader.text("appTransactionId")
        offerPeriod = try reader.text("offerPeriod")
        renewalBillingPlanType = try reader.enumeration(
            "renewalBillingPlanType", known: KnownValues.billingPlanTypes)
        commitmentInfo = try reader.object("commitmentInfo", as: RenewalCommitmentInfo.self)
        renewalQuantity = try reader.integer("renewalQuantity")
        advancedCommerceInfo = try reader.rawObject("advancedCommerceInfo")
        multiSeatInfo = try reader.rawObject("multiSeatInfo")
        unknowns = try reader.finish()
    }
}

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
