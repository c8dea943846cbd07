import AppStoreServerAPI
import JSONWebSignature
import Subscriptions
import Testing

/// Every field of API 1.23 and Notifications 2.23 has a home; whatever comes later is kept.
@Suite struct `Models` {
    private static let transaction =
        #"{"transactionId":"2","originalTransactionId":"1","previousOriginalTransactionId":"0","#
        + #""webOrderLineItemId":"20","bundleId":"com.example.app","productId":"p","#
        + #""subscriptionGroupIdentifier":"20001","purchaseDate":1749000000000,"#
        + #""originalPurchaseDate":1700000000000,"expiresDate":1751600000000,"quantity":25,"#
        + #""type":"Auto-Renewable Subscription","appAccountToken":"t","#
        + #""inAppOwnershipType":"ASSIGNED","signedDate":1750000000000,"revocationReason":0,"#
        + #""revocationDate":1750000000000,"revocationType":"ASSIGNMENT_REVOKE","#
        + #""revocationPercentage":50000,"isUpgraded":true,"offerType":4,"offerIdentifier":"o","#
        + #""environment":"Production","transactionReason":"RENEWAL","storefront":"USA","#
        + #""storefrontId":"143441","price":10990,"currency":"USD","offerDiscountType":"ONE_TIME","#
        + #""appTransactionId":"7","offerPeriod":"P1M","billingPlanType":"MONTHLY","#
        + #""commitmentInfo":{"billingPeriodNumber":3,"totalBillingPeriods":12,"#
        + #""commitmentExpiresDate":1781600000000,"commitmentPrice":131880},"#
        + #""advancedCommerceInfo":{"items":[{"SKU":"s"}]},"#
        + #""multiSeatInfo":{"invitationManagement":"DEVELOPER","seats":25},"#
        + #""additionalTransactionReason":"SEAT_ADDITION"}"#

    private static let renewalInfo =
        #"{"expirationIntent":5,"originalTransactionId":"1","autoRenewProductId":"q","#
        + #""productId":"p","autoRenewStatus":0,"isInBillingRetryPeriod":true,"#
        + #""priceIncreaseStatus":1,"gracePeriodExpiresDate":1751600000000,"offerType":1,"#
        + #""offerIdentifier":"o","signedDate":1750000000000,"environment":"Sandbox","#
        + #""recentSubscriptionStartDate":1700000000000,"renewalDate":1751600000000,"#
        + #""currency":"USD","renewalPrice":9990,"offerDiscountType":"FREE_TRIAL","#
        + #""eligibleWinBackOfferIds":["a","b"],"appAccountToken":"t","appTransactionId":"7","#
        + #""offerPeriod":"P1Y","renewalBillingPlanType":"BILLED_UPFRONT","#
        + #""commitmentInfo":{"commitmentAutoRenewProductId":"q","commitmentAutoRenewStatus":1,"#
        + #""commitmentRenewalBillingPlanType":"MONTHLY","commitmentRenewalDate":1781600000000,"#
        + #""commitmentRenewalPrice":131880},"renewalQuantity":30,"#
        + #""advancedCommerceInfo":{},"multiSeatInfo":{"seats":30}}"#

    @Test func `read a transaction of today whole`() throws {
        let model = try JWSTransactionDecodedPayload(json: Array(Self.transaction.utf8))
        #expect(model.unknowns == [])
        #expect(Self.absentMembers(of: model) == [])
        #expect(model.inAppOwnershipType == "ASSIGNED")
        #expect(model.revocationType == "ASSIGNMENT_REVOKE")
        #expect(model.revocationPercentage == 50_000)
        #expect(model.quantity == 25)
        #expect(model.price == 10_990)
        #expect(model.commitmentInfo?.commitmentPrice == 131_880)
        #expect(
            model.multiSeatInfo?.source == #"{"invitationManagement":"DEVELOPER","seats":25}"#)
        #expect(model.advancedCommerceInfo?.source == #"{"items":[{"SKU":"s"}]}"#)
        let commitment = try #require(model.commitmentInfo)
        #expect(Self.absentMembers(of: commitment) == [])
    }

    @Test func `read renewal info of today whole`() throws {
        let model = try JWSRenewalInfoDecodedPayload(json: Array(Self.renewalInfo.utf8))
        #expect(model.unknowns == [])
        #expect(Self.absentMembers(of: model) == [])
        #expect(model.renewalQuantity == 30)
        #expect(model.eligibleWinBackOfferIds == ["a", "b"])
        let commitment = try #require(model.commitmentInfo)
        #expect(Self.absentMembers(of: commitment) == [])
    }

    @Test(arguments: [
        "MIGRATION", "MIGRATE", "METADATA_UPDATE", "PRICE_CHANGE", "RESCIND_CONSENT",
        "UNCLAIM_SEATS", "ONE_TIME_CHARGE", "EXTERNAL_PURCHASE_TOKEN",
    ])
    func `know the notification type`(type: String) throws {
        let json = "{\"notificationType\":\"\(type)\"}"
        let model = try ResponseBodyV2DecodedPayload(json: Array(json.utf8))
        #expect(model.notificationType == type)
        #expect(model.unknowns == [])
    }

    @Test(arguments: [
        ("REFUND", "SEATS"), ("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY"),
        ("DID_CHANGE_RENEWAL_PREF", "DECREASE_QUANTITY"),
    ])
    func `know the subtypes of seats`(type: String, subtype: String) throws {
        let json = "{\"notificationType\":\"\(type)\",\"subtype\":\"\(subtype)\"}"
        let model = try ResponseBodyV2DecodedPayload(json: Array(json.utf8))
        #expect(model.subtype == subtype)
        #expect(model.unknowns == [])
    }

    @Test func `know which seats a notification releases`() throws {
        let json =
            #"{"notificationType":"UNCLAIM_SEATS","unclaimInfo":{"unclaimSeatIds":["a","b"]}}"#
        let model = try ResponseBodyV2DecodedPayload(json: Array(json.utf8))
        #expect(model.unclaimInfo?.unclaimSeatIds == ["a", "b"])
        #expect(model.hasKnownContent && !model.namesApp)
        #expect(model.unknowns == [])
    }

    @Test func `keep a notification of tomorrow`() throws {
        let json =
            #"{"notificationType":"SEAT_LOST","subtype":"FOR_GOOD","data":{"status":6,"mood":[1],"#
            + #""environment":"Production"},"moodData":{}}"#
        let model = try ResponseBodyV2DecodedPayload(json: Array(json.utf8))
        #expect(model.notificationType == "SEAT_LOST")
        #expect(model.data?.status == 6)
        #expect(
            Set(model.unknowns) == [
                UnknownValue(field: "notification.notificationType", value: "SEAT_LOST"),
                UnknownValue(field: "notification.subtype", value: "FOR_GOOD"),
                UnknownValue(field: "notification.data.status", value: "6"),
                UnknownValue(field: "notification.data.mood", value: nil),
                UnknownValue(field: "notification.moodData", value: nil),
            ])
    }

    @Test func `keep the first of a thousand unknown members`() throws {
        let many = (0..<1000).map { "\"new\($0)\":\($0)" }.joined(separator: ",")
        let model = try JWSTransactionDecodedPayload(json: Array("{\(many)}".utf8))
        #expect(model.unknowns.count == ObjectReader.keptUnknowns)
        #expect(model.unknowns.first == UnknownValue(field: "transaction.new0", value: nil))
    }

    /// An object of a megabyte once took hours: every member was held against every other.
    @Test(.timeLimit(.minutes(10)))
    func `take an object of a hundred thousand members`() throws {
        let many = (0..<100_000).map { "\"n\($0)\":0" }.joined(separator: ",")
        let model = try ErrorPayload(json: Array("{\(many),\"errorCode\":4040010}".utf8))
        #expect(model.errorCode == 4_040_010)
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func `read every whole number exactly`(number: Int64) throws {
        let json = "{\"price\":\(number),\"expiresDate\":\(number),\"quantity\":\(number)}"
        let model = try JWSTransactionDecodedPayload(json: Array(json.utf8))
        #expect(model.price == number)
        #expect(model.expiresDate?.unixMilliseconds == number)
        #expect(model.quantity == number)
    }

    @Test(arguments: ["transactionId", "originalTransactionId", "webOrderLineItemId", "productId"])
    func `take a number for an id for undecodable`(member: String) {
        #expect(throws: UndecodableModel.self) {
            try JWSTransactionDecodedPayload(json: Array("{\"\(member)\":2000000000000001}".utf8))
        }
    }

    @Test(arguments: ["9223372036854775808", "9.5", "\"9990\"", "1e400"])
    func `take what is no whole number of milliunits for undecodable`(price: String) {
        #expect(throws: UndecodableModel.self) {
            try JWSTransactionDecodedPayload(json: Array("{\"price\":\(price)}".utf8))
        }
    }

    @Test func `refuse a member that stands there twice, inside too`() {
        for json in [
            #"{"status":1,"status":2}"#, #"{"environment":"Production","environment":"Sandbox"}"#,
        ] {
            #expect(throws: UndecodableModel.self) {
                try NotificationData(json: Array(json.utf8))
            }
        }
        let payload = ErrorPayload(body: Array(#"{"errorCode":4040010,"errorCode":1}"#.utf8))
        #expect(payload.errorCode == nil)
    }

    @Test func `let unknown members be nested as deep as any`() throws {
        let depth = JWSLimits.jsonDepth - 1
        let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let model = try JWSTransactionDecodedPayload(json: Array("{\"new\":\(nested)}".utf8))
        #expect(model.unknowns.count == 1)
        #expect(throws: UndecodableModel.self) {
            try JWSTransactionDecodedPayload(json: Array("{\"new\":[\(nested)]}".utf8))
        }
    }

    /// Members of a model that stayed empty.
    private static func absentMembers(of model: some AppStoreModel) -> [String] {
        Mirror(reflecting: model).children.compactMap { child in
            let mirror = Mirror(reflecting: child.value)
            return mirror.displayStyle == .optional && mirror.children.isEmpty ? child.label : nil
        }
    }
}
