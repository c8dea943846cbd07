import JSONWebSignature

/// Made-up inputs to begin with, of the shapes that Apple sends.
enum FuzzSeeds {
    static let signedMilliseconds: Int64 = 1_750_000_000_000

    static let payloads: [String] = [transaction, renewalInfo, notification, appTransaction]

    static let answers: [String] = [
        #"{"environment":"Production","bundleId":"com.example.app","appAppleId":1234567890,"#
            + #""data":[{"subscriptionGroupIdentifier":"20001","lastTransactions":[{"status":1,"#
            + #""originalTransactionId":"2000000000000001","signedTransactionInfo":"a.b.c","#
            + #""signedRenewalInfo":"a.b.c"}]}]}"#,
        #"{"revision":"r1","hasMore":true,"bundleId":"com.example.app","appAppleId":1234567890,"#
            + #""environment":"Production","signedTransactions":["a.b.c","d.e.f"]}"#,
        #"{"paginationToken":"t","hasMore":true,"notificationHistory":[{"sendAttempts":["#
            + #"{"attemptDate":1698148900000,"sendAttemptResult":"NO_RESPONSE"}],"#
            + #""firstSendAttemptResult":"SUCCESS","signedPayload":"a.b.c"}]}"#,
        #"{"signedTransactionInfo":"a.b.c"}"#,
        #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#,
    ]

    private static let transaction =
        #"{"transactionId":"2000000000000002","originalTransactionId":"2000000000000001","#
        + #""previousOriginalTransactionId":"2000000000000000","webOrderLineItemId":"20","#
        + #""bundleId":"com.example.app","productId":"com.example.monthly","#
        + #""subscriptionGroupIdentifier":"20001","purchaseDate":1749000000000,"#
        + #""originalPurchaseDate":1700000000000.5,"expiresDate":1751600000000,"quantity":3,"#
        + #""type":"Auto-Renewable Subscription","#
        + #""appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138","#
        + #""inAppOwnershipType":"ASSIGNED","signedDate":1750000000000,"revocationReason":1,"#
        + #""revocationDate":1750000000000,"revocationType":"ASSIGNMENT_REVOKE","#
        + #""revocationPercentage":50000,"isUpgraded":true,"offerType":4,"offerIdentifier":"caf\u00e9","#
        + #""environment":"Production","transactionReason":"RENEWAL","storefront":"USA","#
        + #""storefrontId":"143441","price":9.99e3,"currency":"USD","#
        + #""offerDiscountType":"ONE_TIME","appTransactionId":"7","offerPeriod":"P1M","#
        + #""billingPlanType":"MONTHLY","commitmentInfo":{"billingPeriodNumber":1,"#
        + #""totalBillingPeriods":12,"commitmentExpiresDate":1781600000000,"commitmentPrice":-1},"#
        + #""advancedCommerceInfo":{"items":[{"SKU":"😀"}]},"multiSeatInfo":{"seats":[null,true]}}"#

    private static let renewalInfo =
        #"{"expirationIntent":2,"originalTransactionId":"2000000000000001","#
        + #""autoRenewProductId":"com.example.yearly","productId":"com.example.monthly","#
        + #""autoRenewStatus":1,"isInBillingRetryPeriod":true,"priceIncreaseStatus":0,"#
        + #""gracePeriodExpiresDate":1751600000000,"offerType":2,"offerIdentifier":"winter","#
        + #""signedDate":1750000000000,"environment":"Production","#
        + #""recentSubscriptionStartDate":1700000000000,"renewalDate":1751600000000,"#
        + #""currency":"USD","renewalPrice":9990,"eligibleWinBackOfferIds":["a","b"],"#
        + #""renewalBillingPlanType":"BILLED_UPFRONT","renewalQuantity":4,"#
        + #""commitmentInfo":{"commitmentAutoRenewStatus":1,"commitmentRenewalPrice":9990}}"#

    private static let notification =
        #"{"notificationType":"DID_FAIL_TO_RENEW","subtype":"GRACE_PERIOD","#
        + #""notificationUUID":"7e3fb20b-4cdb-47cc-936d-99d65f608138","version":"2.0","#
        + #""signedDate":1750000000000,"data":{"environment":"Production","#
        + #""appAppleId":1234567890,"bundleId":"com.example.app","bundleVersion":"1","#
        + #""signedTransactionInfo":"a.b.c","signedRenewalInfo":"a.b.c","status":4,"#
        + #""consumptionRequestReason":"LEGAL"},"summary":null,"externalPurchaseToken":null}"#

    private static let appTransaction =
        #"{"receiptType":"Production","appAppleId":1234567890,"bundleId":"com.example.app","#
        + #""applicationVersion":"1","versionExternalIdentifier":1,"#
        + #""receiptCreationDate":1750000000000,"originalPurchaseDate":1700000000000,"#
        + #""originalApplicationVersion":"1","deviceVerification":"x","#
        + #""deviceVerificationNonce":"y","preorderDate":1,"appTransactionId":"7","#
        + #""originalPlatform":"visionOS","storeType":"unheard"}"#
}
