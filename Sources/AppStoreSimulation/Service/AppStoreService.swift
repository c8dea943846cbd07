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
    let leaves: LeafRotation
    /// A signer that replaces the right one; `nil` for right signatures.
    var flawedSigner: PayloadSigner?
    let clock: SimulatedClock
    let tokens: TokenCheck
    /// Checks the tokens of App Store Connect's API.
    let connectTokens: TokenCheck
    let world: SharedWorld
    let pageTokens: PageTokens
    let connectSettings: AppStoreConnectSettings
    let retention: RetentionMessaging
    /// How answers are falsified; empty for correct answers.
    var distortions: Set<Distortion> = []
    /// Entries on a page of transaction history or notification history.
    var entriesPerPage = 20
    /// How old the state is that answers show; they are signed with the present date all the same.
    var asOfMilliseconds: Int64 = 0
    /// Notifications that notification history leaves out.
    var listingFaults: [ListingFault] = []

    init(
        world: consuming World, app: SimulatedApp, leaves: LeafRotation, clock: SimulatedClock,
        tokens: TokenCheck, connectTokens: TokenCheck,
        connectSettings: AppStoreConnectSettings, retention: RetentionMessaging
    ) {
        let environment = world.environment
        let identifiers = world.identifiers
        let catalogue = world.catalogue
        let pace = world.pace
        self.environment = environment
        self.app = app
        self.encoder = PayloadEncoder(
            app: app, environment: environment, identifiers: identifiers,
            catalogue: catalogue, pace: pace)
        self.leaves = leaves
        self.clock = clock
        self.tokens = tokens
        self.connectTokens = connectTokens
        self.pageTokens = PageTokens(seed: identifiers.seed)
        self.connectSettings = connectSettings
        self.retention = retention
        self.world = SharedWorld(world)
    }

    var catalogue: Catalogue { encoder.catalogue }

    /// The refusal of a request before it is counted or looked up; `nil` if it is admitted.
    func refusal(of request: ServiceRequest) -> ServiceAnswer? {
        guard let match = Endpoint.match(request) else { return .noSuchPath }
        guard request.method == match.endpoint.method else { return .wrongMethod }
        if match.endpoint == .salesReports {
            // App Store Connect has no sandbox.
            guard environment == .production else { return .noSuchPath }
            return connectTokens.accepts(authorization: request.authorization)
                ? nil : .connectUnauthorized
        }
        guard environment == .sandbox || !match.endpoint.isOfSandboxAlone else {
            return .noSuchPath
        }
        guard connectSettings.isReleased(in: environment),
            tokens.accepts(authorization: request.authorization)
        else { return .unauthorized }
        return request.hasBody(of: match.endpoint.contentType) ? nil : .unsupportedMediaType
    }

    /// Answers an admitted request.
    func answer(_ request: ServiceRequest) -> ServiceAnswer {
        guard let match = Endpoint.match(request) else { return .noSuchPath }
        do throws(APIFailure) {
            return try answer(match, request: request)
        } catch {
            return .failure(error)
        }
    }

    private func answer(
        _ match: Endpoint.Match, request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        if distortions.contains(.wrongTypes) { return .wrongTypes }
        let id = match.id
        return switch match.endpoint {
        case .statuses: try statuses(id: id, request: request)
        case .history: try history(id: id, request: request, omitsFinishedConsumables: false)
        case .historyV1: try history(id: id, request: request, omitsFinishedConsumables: true)
        case .transactionInfo: try transactionInfo(id: id)
        case .appTransactionInfo: try appTransactionInfo(id: id)
        case .refundHistory: try refundHistory(id: id, request: request)
        case .refundHistoryV1: try refundHistoryV1(id: id)
        case .orderLookup: try orderLookup(id: id)
        case .notificationHistory: try notificationHistory(request: request)
        case .testNotification: try requestTestNotification()
        case .testNotificationStatus: try testNotificationStatus(token: id)
        case .extendRenewal: try extendRenewal(id: id, request: request)
        case .massExtension: try requestMassExtension(request)
        case .massExtensionStatus: try massExtensionStatus(match.parameters)
        case .consumption: try sendConsumption(id: id, request: request)
        case .consumptionV1: try sendConsumptionV1(id: id, request: request)
        case .appAccountToken: try setAppAccountToken(id: id, request: request)
        case .finishTransaction: try finishTransaction(id: id)
        case .uploadImage: try uploadImage(id: id, request: request)
        case .deleteImage: try deleteImage(id: id)
        case .imageList: list { $0.images }
        case .uploadMessage: try uploadMessage(id: id, request: request)
        case .deleteMessage: try deleteMessage(id: id)
        case .messageList: list { $0.messages }
        case .configureDefaultMessage:
            try configureDefaultMessage(match.parameters, request: request)
        case .deleteDefaultMessage: try deleteDefaultMessage(match.parameters)
        case .defaultMessage: try defaultMessage(match.parameters)
        case .configureRealtimeURL: try configureRealtimeURL(request)
        case .deleteRealtimeURL: try deleteRealtimeURL()
        case .realtimeURL: try realtimeURL()
        case .performanceTest: try beginPerformanceTest(request)
        case .performanceTestResult: try performanceTestResult(id: id)
        case .salesReports: try salesReport(request)
        case .customerGroups: try customerGroups(id: id)
        case .groupMembers: try groupMembers(id: id, request: request)
        case .claimSeat: try claimSeat(id: id, request: request)
        case .seatInfo: try seatInfo(id: id)
        case .unclaimSeat: try unclaimSeat(match.parameters)
        case .associateSeat: try associateSeat(match.parameters, request: request)
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

    /// The `signedDate` of answers, by the server's clock.
    func signedDate(at now: Timestamp) -> Timestamp {
        statementDate(at: now).adding(milliseconds: clock.skewMilliseconds)
    }

    /// The moment whose state answers show.
    func statementDate(at now: Timestamp) -> Timestamp {
        distortions.contains(.oldStatement)
            ? now.adding(milliseconds: -30 * CivilCalendar.millisecondsPerDay) : now
    }

    /// Finds the chain of an original transaction id; throws Apple's errors.
    ///
    /// `otherwise`: the error for a transaction id that is not an original one.
    static func chain(
        ofOriginal id: String, in world: borrowing World, malformed: APIFailure,
        otherwise notOriginal: APIFailure
    ) throws(APIFailure) -> Int {
        switch world.resolve(id) {
        case .malformed: throw malformed
        case .unknown: throw .originalTransactionIDNotFound
        case .appTransaction: throw .appTransactionIDNotSupported
        case .transaction(let chain, let period):
            guard !world.isDeleted(chain: chain) else { throw .originalTransactionIDNotFound }
            guard period == 0 else { throw notOriginal }
            return chain
        }
    }

    /// Finds a transaction by its id; throws Apple's errors.
    static func transaction(
        of id: String, in world: borrowing World
    ) throws(APIFailure) -> (chain: Int, period: Int) {
        switch world.resolve(id) {
        case .malformed: throw .invalidTransactionID
        case .unknown: throw .transactionIDNotFound
        case .appTransaction: throw .appTransactionIDNotSupported
        case .transaction(let chain, let period):
            guard !world.isDeleted(chain: chain) else { throw .transactionIDNotFound }
            return (chain, period)
        }
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

    /// Signs a payload by the leaf of its `signedDate`; a failure is an internal error of Apple's.
    func signed(_ payload: [UInt8], at signedDate: Timestamp) throws(APIFailure) -> [UInt8] {
        do {
            let jws = try (flawedSigner ?? leaves.signer(at: signedDate)).sign(payload)
            return distortions.contains(.badSignature) ? Distortion.breakingSignature(of: jws) : jws
        } catch {
            throw .generalInternal
        }
    }

    /// A transaction of a snapshot, signed now.
    func signedTransaction(
        _ snapshot: ChainSnapshot, period: Int, now: Timestamp
    ) throws(APIFailure) -> [UInt8] {
        let signedDate = signedDate(at: now)
        return try signed(
            encoder.transaction(
                snapshot, period: period, transaction: snapshot.chain.transactions[period],
                signedDate: signedDate), at: signedDate)
    }

    /// Writes the unsigned fields of an answer; sandbox answers lack `appAppleId`.
    func writeEnvelope(into json: inout JSONWriter) {
        json.field("environment", environment.rawValue)
        json.field("bundleId", app.bundleID)
        if environment == .production { json.field("appAppleId", app.appAppleID) }
        if distortions.contains(.unknownFields) { json.field("serverMood", "calm") }
    }
}
