import Subscriptions
import Synchronization

/// The App Store Server API of one environment, independent of any web server.
///
/// Checks a request in Apple's order: path, token, form of the body, limits, parameters, id.
struct AppStoreService: Sendable {
    let environment: SimulatedEnvironment
    /// The app that the unsigned parts of answers contain.
    let app: SimulatedApp
    var encoder: PayloadEncoder
    var signer: PayloadSigner
    let clock: SimulatedClock
    let tokens: TokenCheck
    let world: SharedWorld
    let pageTokens: PageTokens
    let connectSettings: AppStoreConnectSettings
    /// How answers are falsified; empty for correct answers.
    var distortions: Set<Distortion> = []
    /// Entries on a page of transaction history or notification history.
    var entriesPerPage = 20
    /// How old the state is that answers show; they are signed with the present date all the same.
    var asOfMilliseconds: Int64 = 0
    /// Notifications that notification history leaves out.
    var listingFaults: [ListingFault] = []

    init(
        world: consuming World, app: SimulatedApp, signer: PayloadSigner, clock: SimulatedClock,
        tokens: TokenCheck, connectSettings: AppStoreConnectSettings
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
        self.connectSettings = connectSettings
        self.world = SharedWorld(world)
    }

    /// The refusal of a request before it is counted or looked up; `nil` if it is admitted.
    func refusal(of request: ServiceRequest) -> ServiceAnswer? {
        guard let (endpoint, _) = Endpoint.match(request.path) else { return .noSuchPath }
        guard request.method == endpoint.method else { return .wrongMethod }
        guard connectSettings.isReleased(in: environment),
            tokens.accepts(authorization: request.authorization)
        else { return .unauthorized }
        return request.isJSON ? nil : .unsupportedMediaType
    }

    /// Answers an admitted request.
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

    /// Gives access to the world, advanced to the present moment.
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

    /// The `signedDate` of answers.
    func signedDate(at now: Timestamp) -> Timestamp {
        distortions.contains(.oldStatement)
            ? now.adding(milliseconds: -30 * CivilCalendar.millisecondsPerDay) : now
    }

    /// The account whose purchases the answer for an id contains.
    func answeredAccount(of id: String, in world: borrowing World) throws(APIFailure) -> Int {
        let account = try Self.account(of: id, in: world)
        return distortions.contains(.otherCustomer) ? world.otherAccount(than: account) : account
    }

    /// Finds the account that an id belongs to; throws Apple's errors.
    static func account(of id: String, in world: borrowing World) throws(APIFailure) -> Int {
        let resolved = world.resolve(id)
        guard resolved != .malformed else { throw .invalidTransactionID }
        guard let account = world.account(of: resolved) else { throw .transactionIDNotFound }
        guard !world.accounts[account].isDeleted else { throw .accountNotFound }
        return account
    }

    /// Signs a payload; a failure is an internal error of Apple's.
    func signed(_ payload: [UInt8]) throws(APIFailure) -> [UInt8] {
        do {
            let jws = try signer.sign(payload)
            return distortions.contains(.badSignature) ? Distortion.breakingSignature(of: jws) : jws
        } catch {
            throw .generalInternal
        }
    }

    /// A transaction of a snapshot, signed now.
    func signedTransaction(
        _ snapshot: ChainSnapshot, period: Int, now: Timestamp
    ) throws(APIFailure) -> [UInt8] {
        try signed(
            encoder.transaction(
                snapshot, period: period, transaction: snapshot.chain.transactions[period],
                signedDate: signedDate(at: now)))
    }

    /// Writes the unsigned fields of an answer; sandbox answers lack `appAppleId`.
    func writeEnvelope(into json: inout JSONWriter) {
        json.field("environment", environment.rawValue)
        json.field("bundleId", app.bundleID)
        if environment == .production { json.field("appAppleId", app.appAppleID) }
        if distortions.contains(.unknownFields) { json.field("serverMood", "calm") }
    }
}
