import FoundationEssentials
import Subscriptions

extension AppStoreService {
    /// Set App Account Token: payloads that are signed later contain it.
    func setAppAccountToken(
        id: String, request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        let body = try request.decodedBody(AppAccountTokenBody.self)
        try withWorld { world, now throws(APIFailure) in
            let chain = try Self.chain(
                ofOriginal: id, in: world, malformed: .invalidTransactionID,
                otherwise: .transactionIDIsNotOriginal)
            guard !world.chains[chain].isFamilyShared else {
                throw .familyTransactionNotSupported
            }
            world.appAccountTokens[chain, default: []].append(
                AppAccountToken(since: now, token: body.token))
        }
        return .empty(status: 200)
    }
}

/// Source: App Store Server API, `UpdateAppAccountTokenRequest`.
private struct AppAccountTokenBody: Decodable {
    let token: String

    init(from decoder: any Decoder) throws {
        token = try BodyMembers(decoder).required(
            String.self, "appAccountToken", otherwise: .invalidAppAccountTokenUUID
        ) { UUID(uuidString: $0) != nil }
    }
}
