import Subscriptions
import Synchronization

/// The App Store Server API of one environment, free of any web server.
///
/// Order of judgement as at Apple: path, token, form of the body, limits, parameters, id.
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
    /// How answers are falsified; none tells the truth.
    var distortions: Set<Distortion> = []
    /// How many entries a page of history or of notifications has.
    var entriesPerPage = 20
    /// Answers show the state of so long ago, though signed now.
    var asOfMilliseconds: Int64 = 0
    /// How notification history fails to list.
    var listingFaults: [ListingFault] = []

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

    /// Why a request is turned away before anything is counted or looked up; `nil` lets it in.
    func refusal(of request: ServiceRequest) -> ServiceAnswer? {
        guard let (endpoint, _) = Endpoint.match(request.path) else { return .noSuchPath }
        guard request.method == endpoint.method else { return .wrongMethod }
        guard switches.isReleased(in: environment),
            tokens.accepts(authorization: request.authorization)
        else { return .unauthorized }
        return request.isJSON ? nil : .unsupportedMediaType
    }

    /// Answers a request that was let in.
    func answer(_ request: ServiceRequest) -> ServiceAnswer {
        guard let (endpoint, id) = Endpoint.match(request.path) else { return .noSuchPath }
        do throws(APIFailure) {
            return try answer(endpoint, id: id, request: request)
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        _ endpoint: Endpoint, id: String, request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        if distortions.contains(.wrongTypes) { return .wrongTypes }
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
        distortions.contains(.oldStatement)
            ? now.adding(milliseconds: -30 * BillingPeriod.millisecondsPerDay) : now
    }

    /// The account whose purchases are answered for an id.
    func answeredAccount(of id: String, in world: borrowing World) throws(APIFailure) -> Int {
        let account = try Self.account(of: id, in: world)
        return distortions.contains(.otherCustomer) ? world.otherAccount(than: account) : account
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
            return distortions.contains(.badSignature) ? Distortion.breakingSignature(of: jws) : jws
        } catch {
            throw .generalInternal
        }
    }

    /// The unsigned fields around an answer; sandbox answers lack the app's Apple id.
    func writeEnvelope(into json: inout JSONWriter) {
        json.field("environment", environment.rawValue)
        json.field("bundleId", app.bundleID)
        if environment == .production { json.field("appAppleId", app.appAppleID) }
        if distortions.contains(.unknownFields) { json.field("serverMood", "calm") }
    }
}
