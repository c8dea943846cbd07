import Subscriptions
import Synchronization

/// The App Store Server API of one environment, free of any web server.
///
/// Order of judgement as at Apple: path, token, parameters, id.
struct AppStoreService: Sendable {
    let environment: SimulatedEnvironment
    /// The app that the unsigned parts of answers name.
    let app: SimulatedApp
    var encoder: PayloadEncoder
    var signer: PayloadSigner
    let clock: SimulatedClock
    let tokens: TokenCheck
    let world: SharedWorld
    let pageTokens: PageTokens
    let switches: StoreSwitches
    /// How answers are falsified; `nil` tells the truth.
    var distortion: Distortion?

    init(
        world: consuming World, app: SimulatedApp, signer: PayloadSigner, clock: SimulatedClock,
        tokens: TokenCheck, switches: StoreSwitches
    ) {
        let environment = world.environment
        let identifiers = world.identifiers
        self.environment = environment
        self.app = app
        self.encoder = PayloadEncoder(
            app: app, environment: environment, identifiers: identifiers)
        self.signer = signer
        self.clock = clock
        self.tokens = tokens
        self.pageTokens = PageTokens(seed: identifiers.seed)
        self.switches = switches
        self.world = SharedWorld(world)
    }

    /// Answers one request.
    func answer(_ request: ServiceRequest) -> ServiceAnswer {
        guard let (endpoint, id) = Endpoint.match(request.path) else { return .noSuchPath }
        guard request.method == endpoint.method else { return .wrongMethod }
        guard switches.isReleased(in: environment),
            tokens.accepts(authorization: request.authorization)
        else { return .unauthorized }
        do throws(APIFailure) {
            return try answer(endpoint, id: id, request: request)
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        _ endpoint: Endpoint, id: String, request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        if distortion == .wrongTypes { return .wrongTypes }
        return switch endpoint {
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
        let result = world.state.withLock { world -> Result<Value, APIFailure> in
            world.advance(to: now)
            do throws(APIFailure) {
                return .success(try body(&world, max(now, world.now)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The moment that answers are signed at.
    func signedDate(at now: Timestamp) -> Timestamp {
        distortion == .oldStatement
            ? now.adding(milliseconds: -30 * BillingPeriod.millisecondsPerDay) : now
    }

    /// The account whose subscriptions are answered for an id.
    func answeredAccount(of id: String, in world: borrowing World) throws(APIFailure) -> Int {
        let account = try Self.account(of: id, in: world)
        return distortion == .otherCustomer ? (account + 1) % world.accounts.count : account
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
            let jws = try signer.sign(payload)
            return distortion == .badSignature ? Distortion.breakingSignature(of: jws) : jws
        } catch {
            throw .generalInternal
        }
    }

    /// The unsigned fields around an answer; sandbox answers lack the app's Apple id.
    func writeEnvelope(into json: inout JSONWriter) {
        json.field("environment", environment.rawValue)
        json.field("bundleId", app.bundleID)
        if environment == .production { json.field("appAppleId", app.appAppleID) }
        if distortion == .unknownFields { json.field("serverMood", "calm") }
    }
}
