package import JSONWebSignature
package import Subscriptions

/// The payload of a signed transaction.
///
/// Source: App Store Server API, JWSTransactionDecodedPayload (1.23).
package struct JWSTransactionDecodedPayload: AppStoreModel {
    package static let modelName = "transaction"

    package let transactionId: String?
    package let originalTransactionId: String?
    package let previousOriginalTransactionId: String?
    package let webOrderLineItemId: String?
    package let bundleId: String?
    package let productId: String?
    package let subscriptionGroupIdentifier: String?
    package let purchaseDate: Timestamp?
    package let originalPurchaseDate: Timestamp?
    package let expiresDate: Timestamp?
    package let quantity: Int64?
    package let type: String?
    package let appAccountToken: String?
    package let inAppOwnershipType: String?
    package let signedDate: Timestamp?
    package let revocationReason: Int?
    package let revocationDate: Timestamp?
    package let revocationType: String?
    /// Milliunits of a percent.
    package let revocationPercentage: Int64?
    package let isUpgraded: Bool?
    package let offerType: Int?
    package let offerIdentifier: String?
    package let environment: String?
    package let transactionReason: String?
    package let storefront: String?
    package let storefrontId: String?
    /// Milliunits of `currency`.
    package let price: Int64?
    package let currency: String?
    package let offerDiscountType: String?
    package let appTransactionId: String?
    package let offerPeriod: String?
    package let billingPlanType: String?
    package let commitmentInfo: TransactionCommitmentInfo?
    package let advancedCommerceInfo: JSONValue?
    package let multiSeatInfo: JSONValue?
    package let additionalTransactionReason: String?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        transactionId = try reader.text("transactionId", .strict)
        originalTransactionId = try reader.text("originalTransactionId", .strict)
        previousOriginalTransactionId = try reader.text("previousOriginalTransactionId", .strict)
        webOrderLineItemId = try reader.text("webOrderLineItemId", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
        productId = try reader.text("productId", .strict)
        subscriptionGroupIdentifier = try reader.text("subscriptionGroupIdentifier", .strict)
        purchaseDate = try reader.moment("purchaseDate", .strict)
        originalPurchaseDate = try reader.moment("originalPurchaseDate", .strict)
        expiresDate = try reader.moment("expiresDate", .strict)
        quantity = try reader.integer("quantity")
        type = try reader.enumeration("type", known: KnownValues.productTypes, .strict)
        appAccountToken = try reader.text("appAccountToken", .strict)
        inAppOwnershipType = try reader.enumeration(
            "inAppOwnershipType", known: SignedTransaction.knownOwnershipTypes, .strict)
        signedDate = try reader.moment("signedDate", .strict)
        revocationReason = try reader.enumeration(
            "revocationReason", known: KnownValues.revocationReasons, .strict)
        revocationDate = try reader.moment("revocationDate", .strict)
        revocationType = try reader.enumeration(
            "revocationType", known: KnownValues.revocationTypes)
        revocationPercentage = try reader.integer("revocationPercentage")
        isUpgraded = try reader.boolean("isUpgraded", .strict)
        offerType = try reader.enumeration("offerType", known: KnownValues.offerTypes, .strict)
        offerIdentifier = try reader.text("offerIdentifier")
        environment = try reader.environment()
        transactionReason = try reader.enumeration(
            "transactionReason", known: KnownValues.transactionReasons)
        storefront = try reader.text("storefront")
        storefrontId = try reader.text("storefrontId")
        price = try reader.amount("price")
        currency = try reader.text("currency", .strict)
        offerDiscountType = try reader.enumeration(
            "offerDiscountType", known: KnownValues.offerDiscountTypes)
        appTransactionId = try reader.text("appTransactionId", .strict)
        offerPeriod = try reader.text("offerPeriod")
        billingPlanType = try reader.enumeration(
            "billingPlanType", known: KnownValues.billingPlanTypes)
        commitmentInfo = try reader.object("commitmentInfo", as: TransactionCommitmentInfo.self)
        advancedCommerceInfo = try reader.rawObject("advancedCommerceInfo")
        multiSeatInfo = try reader.rawObject("multiSeatInfo")
        additionalTransactionReason = try reader.enumeration(
            "additionalTransactionReason", known: KnownValues.additionalTransactionReasons)
        unknowns = try reader.finish()
    }
}

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

/// The seats of a transaction, as far as decisions and sums need them.
///
/// Most members of the object are not documented yet, so it is read by name, and what is not of the
/// expected form counts as absent. Source: App Store Server API 1.23, TransactionMultiSeatInfo.
struct MultiSeatInfo {
    /// Seats that were refunded while others of the same transaction remain.
    let revokedSeatQuantity: Int64?
    /// The price of all seats together, in milliunits; `nil` where no price tiers are stated or
    /// their sum cannot be a price.
    let price: Int64?

    init(_ object: JSONValue) {
        var members = JSONMembers(object)
        revokedSeatQuantity = members?.take("revokedSeatQuantity")?.integer.flatMap {
            $0 >= 0 ? $0 : nil
        }
        price = Self.sum(of: members?.take("priceTiers")?.elements ?? [])
    }

    /// The sum of price times quantity over the tiers.
    private static func sum(of tiers: [JSONValue]) -> Int64? {
        guard !tiers.isEmpty else { return nil }
        var sum: Int64 = 0
        for tier in tiers {
            var members = JSONMembers(tier)
            guard let price = members?.take("price")?.integer,
                let quantity = members?.take("quantity")?.integer,
                let cost = product(of: price, and: quantity)
            else { return nil }
            let (next, overflow) = sum.addingReportingOverflow(cost)
            guard !overflow else { return nil }
            sum = next
        }
        return sum
    }

    /// `nil` where the product cannot be held.
    static func product(of price: Int64, and quantity: Int64) -> Int64? {
        let (product, overflow) = price.multipliedReportingOverflow(by: quantity)
        return overflow ? nil : product
    }
}
