import Subscriptions
import Synchronization

/// The App Store Server API of one environment, free of any web server.
///
/// Order of judgement as at Apple: path, token, parameters, id.
final class AppStoreService: Sendable {
    let environment: SimulatedEnvironment
    let encoder: PayloadEncoder
    let signer: PayloadSigner
    let clock: SimulatedClock
    let tokens: TokenCheck
    let world: Mutex<World>
    let pageTokens: PageTokens

    init(
        world: consuming World, app: SimulatedApp, signer: PayloadSigner, clock: SimulatedClock,
        tokens: TokenCheck
    ) {
        let environment = world.environment
        let identifiers = world.identifiers
        self.environment = environment
        self.encoder = PayloadEncoder(
            app: app, environment: environment, identifiers: identifiers)
        self.signer = signer
        self.clock = clock
        self.tokens = tokens
        self.pageTokens = PageTokens(seed: identifiers.seed)
        self.world = Mutex(world)
    }

    /// Answers one request.
    func answer(_ request: ServiceRequest) -> ServiceAnswer {
        guard let (endpoint, id) = Endpoint.match(request.path) else { return .noSuchPath }
        guard request.method == endpoint.method else { return .wrongMethod }
        guard tokens.accepts(authorization: request.authorization) else { return .unauthorized }
        do throws(APIFailure) {
            return try answer(endpoint, id: id, request: request)
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        _ endpoint: Endpoint, id: String, request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        switch endpoint {
        case .statuses: try statuses(id: id, request: request)
        case .history: try history(id: id, request: request, omitsFinishedConsumables: false)
        case .historyV1: try history(id: id, request: request, omitsFinishedConsumables: true)
        case .transactionInfo: try transactionInfo(id: id)
        case .appTransactionInfo: try appTransactionInfo(id: id)
        case .refundHistory: try refundHistory(id: id, request: request)
        case .orderLookup: try orderLookup(id: id)
        case .notificationHistory: try notificationHistory(request: request)
        case .testNotification: try requestTestNotification()
        case .testNotificationStatus: try testNotificationStatus(token: id)
        }
    }

    /// The world as it is now.
    func withWorld<Value: Sendable>(
        _ body: (inout sending World, Timestamp) throws(APIFailure) -> sending Value
    ) throws(APIFailure) -> Value {
        let now = clock.now
        let result = world.withLock { world -> Result<Value, APIFailure> in
            world.advance(to: now)
            do throws(APIFailure) {
                return .success(try body(&world, max(now, world.now)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Finds the account that an id belongs to, with Apple's refusals.
    static func account(of id: String, in world: borrowing World) throws(APIFailure) -> Int {
        let place = world.place(of: id)
        guard place != .malformed else { throw .invalidTransactionID }
        guard let account = world.account(of: place) else { throw .transactionIDNotFound }
        guard !world.accounts[account].isDeleted else { throw .accountNotFound }
        return account
    }

    /// A signed payload; a key that cannot sign is Apple's internal fault.
    func signed(_ payload: [UInt8]) throws(APIFailure) -> [UInt8] {
        do {
            return try signer.sign(payload)
        } catch {
            throw .generalInternal
        }
    }

    /// The unsigned fields around an answer; sandbox answers lack the app's Apple id.
    func writeEnvelope(into json: inout JSONWriter) {
        json.field("environment", environment.rawValue)
        json.field("bundleId", encoder.app.bundleID)
        if environment == .production { json.field("appAppleId", encoder.app.appAppleID) }
    }
}
