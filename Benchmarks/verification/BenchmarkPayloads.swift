import FoundationEssentials
import TestSupport

/// Signed transactions of one leaf, as a nightly run meets them: 28 members each, all distinct.
struct BenchmarkPayloads {
    static let bundleID = "com.example.app"
    static let signedMilliseconds: Int64 = 1_750_000_000_000

    let rootDER: [UInt8]
    /// Compact JWS.
    let texts: [[UInt8]]

    static func made(count: Int) throws -> BenchmarkPayloads {
        let chain = try TestSigningChain()
        return BenchmarkPayloads(
            rootDER: chain.rootDER,
            texts: try (0..<count).map { Array(try chain.sign(transaction($0)).utf8) })
    }

    /// One JWS a line, and the root in DER: what another verifier needs to judge the same.
    func write(to folder: String) throws {
        let lines = texts.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        try Data(lines.utf8).write(to: URL(filePath: folder + "/payloads.txt"))
        try Data(rootDER).write(to: URL(filePath: folder + "/root.der"))
    }

    private static func transaction(_ number: Int) -> String {
        let id = 2_000_000_000_000_000 + number
        return #"{"transactionId":"\#(id + 500_000)","originalTransactionId":"\#(id)","#
            + #""webOrderLineItemId":"\#(id + 900_000)","bundleId":"\#(bundleID)","#
            + #""productId":"com.example.monthly","subscriptionGroupIdentifier":"20001","#
            + #""purchaseDate":1749000000000,"originalPurchaseDate":1700000000000,"#
            + #""expiresDate":1751600000000,"quantity":1,"type":"Auto-Renewable Subscription","#
            + #""appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138","#
            + #""inAppOwnershipType":"PURCHASED","signedDate":\#(signedMilliseconds + Int64(number)),"#
            + #""offerType":2,"offerIdentifier":"com.example.winter","environment":"Production","#
            + #""transactionReason":"RENEWAL","storefront":"USA","storefrontId":"143441","#
            + #""price":9990,"currency":"USD","offerDiscountType":"PAY_AS_YOU_GO","#
            + #""appTransactionId":"704897469903403","offerPeriod":"P1M","#
            + #""billingPlanType":"BILLED_UPFRONT","revocationPercentage":0,"isUpgraded":false}"#
    }
}
