import Subscriptions

extension AppStoreService {
    /// Extend a Subscription Renewal Date.
    ///
    /// A request that is sent again with its identifier gets the first one's answer and extends
    /// nothing.
    func extendRenewal(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let terms = try request.decodedBody(ExtensionTerms.self)
        let (chain, effective, lineItem) = try withWorld { world, now throws(APIFailure) in
            let chain = try Self.chain(
                ofOriginal: id, in: world, malformed: .invalidOriginalTransactionID,
                otherwise: .originalTransactionIDNotFound)
            let request = ExtensionRequest(chain: chain, identifier: terms.requestIdentifier)
            let period = world.chains[chain].transactions.count - 1
            let lineItem = world.identifiers.lineItemID(chain: chain, period: period)
            if let effective = world.extensionRequests[request] {
                return (chain, effective, lineItem)
            }
            if let refusal = world.extensionRefusal(chain: chain, at: now) { throw refusal }
            let known = world.notifications.count
            world.extendRenewal(chain: chain, days: terms.days, at: now)
            world.sortNotifications(from: known)
            world.refreshNextDue()
            let effective = world.chains[chain].renewal.renewalDate
            world.extensionRequests[request] = effective
            return (chain, effective, lineItem)
        }
        return .json { json in
            json.field(
                "originalTransactionId",
                String(encoder.identifiers.transactionID(chain: chain, period: 0)))
            json.field("webOrderLineItemId", String(lineItem))
            json.field("success", true)
            json.field("effectiveDate", effective)
        }
    }
}

/// What requests for one extension and for a mass extension have in common.
///
/// Source: App Store Server API, `ExtendRenewalDateRequest`.
struct ExtensionTerms: Decodable, Sendable {
    private static let longestIdentifier = 128

    let days: Int
    let requestIdentifier: String

    init(from decoder: any Decoder) throws {
        let members = try BodyMembers(decoder)
        days = try members.required(
            Int.self, "extendByDays", otherwise: .invalidExtendByDays, where: (1...90).contains)
        // 0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage.
        _ = try members.required(
            Int.self, "extendReasonCode", otherwise: .invalidExtendReasonCode,
            where: (0...3).contains)
        requestIdentifier = try members.required(
            String.self, "requestIdentifier", otherwise: .invalidRequestIdentifier
        ) { !$0.isEmpty && $0.count <= Self.longestIdentifier }
    }
}
