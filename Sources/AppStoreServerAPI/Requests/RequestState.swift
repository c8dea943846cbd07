import HTTPTransport
import Subscriptions

/// What the requests of one app have in common, and every decision that depends on it.
///
/// Pure: times and random numbers come in, the next step goes out. `PacedRequests` holds it under
/// a lock and does what it says.
struct RequestState {
    /// What a call does after an attempt.
    enum Step: Sendable {
        case done(APIOutcome)
        /// At once, when the endpoint admits it.
        case again
        /// The text says what the last attempt failed on.
        case againAfter(Duration, String)
        /// With another token than the refused one.
        case renewToken
    }

    /// Where one call stands.
    struct Progress: Sendable {
        var attempts = 0
        var hasReplacedConnection = false
        /// Whether it counts among those that may find out whether the endpoint works.
        var isOutstanding = true
        /// How many questions of the endpoint Apple had answered at this one's first fault.
        var answersBefore: Int?
    }

    /// Apple's "errors to retry", complete.
    static let policy = RetryPolicy(retriedCodes: [4_040_002, 4_040_004, 4_040_006, 5_000_001])

    /// Attempts of a question that fails while others are answered: it is asked again at the end of
    /// the run, and must not hold up the others until then.
    static let attemptsAmongAnswers = 2

    /// So many different questions are tried when the first of a run all fail.
    ///
    /// With the 32 that were on their way, a hundred bad ids at the front of a table do not stop a
    /// night.
    static let probesInDoubt = 72

    /// So many errors in a row that are not Apple's, with nothing of Apple's before, are enough to
    /// know that no call gets through.
    static let foreignAnswersToGiveUp = 50

    let app: AppIdentity
    let keyID: String
    /// Who is asked, for people.
    let host: String
    private(set) var stop: RunStop?
    var counter = CallCounter()
    var clockSkew = ClockSkew()
    /// A token made because another was refused, until Apple accepts it; never printed.
    var unprovenToken: String?
    /// Whether anything came that only Apple says.
    var hasAnswer = false
    var foreignInARow = 0
    private var lanes: [Endpoint: EndpointLane]
    /// Calls that are not ended or put off.
    var outstanding: [Endpoint: Int] = [:]
    /// Endpoints that several questions waited for at once.
    var crowded: Set<Endpoint> = []
    var budget = RetryBudget()
    var generator: SeededGenerator
    private var notices: [OutageNotice] = []

    init(
        app: AppIdentity, keyID: String, host: String, rates: QuotaRates, maxOutage: Duration,
        deadline: Duration?, seed: UInt64
    ) {
        self.app = app
        self.keyID = keyID
        self.host = host
        lanes = Dictionary(
            uniqueKeysWithValues: Endpoint.allCases.map {
                (
                    $0,
                    EndpointLane(
                        requestsPerSecond: rates.perSecond(of: $0), patience: maxOutage,
                        deadline: deadline,
                        probesInDoubt: Self.isAskedAgain($0) ? Self.probesInDoubt : 0)
                )
            })
        generator = SeededGenerator(seed: seed)
    }

    mutating func callWasMade(_ endpoint: Endpoint) {
        budget.callWasMade()
        outstanding[endpoint, default: 0] += 1
        if outstanding[endpoint, default: 0] > 1 { crowded.insert(endpoint) }
    }

    mutating func callEnded(_ endpoint: Endpoint, _ progress: Progress) {
        if progress.isOutstanding { outstanding[endpoint, default: 0] -= 1 }
    }

    /// The run ends; the first reason stays.
    ///
    /// - Returns: the reason that every call throws from now on.
    mutating func wasStopped(_ reason: RunStop) -> RunStop {
        let first = stop ?? reason
        stop = first
        return first
    }

    mutating func requestWasWanted(
        _ endpoint: Endpoint, at now: Duration
    ) throws(RunStop) -> EndpointLane.Admission {
        if let stop { throw stop }
        return withLane(endpoint) { $0.requestWasWanted(at: now) }
    }

    mutating func slotCame(
        _ endpoint: Endpoint, at now: Duration
    ) throws(RunStop) -> EndpointLane.Start? {
        if let stop { throw stop }
        return withLane(endpoint) { $0.slotCame(at: now) }
    }

    mutating func requestWasAbandoned(
        _ endpoint: Endpoint, at now: Duration, _ start: EndpointLane.Start
    ) {
        withLane(endpoint) { $0.requestWasAbandoned(at: now, start) }
    }

    func isTrusted(_ endpoint: Endpoint) -> Bool { lanes[endpoint]?.isTrusted ?? false }

    func givenUp(_ endpoint: Endpoint) -> String? { lanes[endpoint]?.givenUpOn }

    mutating func withLane<T>(_ endpoint: Endpoint, _ body: (inout EndpointLane) -> T) -> T {
        guard var lane = lanes[endpoint] else { preconditionFailure("an endpoint without a lane") }
        defer { lanes[endpoint] = lane }
        return body(&lane)
    }

    /// Keeps what people should hear, until somebody takes it.
    mutating func note(
        _ change: CircuitBreaker.Change?, of endpoint: Endpoint, at now: Duration,
        wallClock: Timestamp
    ) {
        guard let change else { return }
        let event: OutageNotice.Event =
            switch change {
            case .waits(let until, let givesUpAt):
                .waits(
                    until: wallClock.adding(until - now),
                    givesUpAt: wallClock.adding(givesUpAt - now)
                )
            case .worksAgain(let since): .worksAgain(afterSeconds: (now - since).components.seconds)
            case .gaveUp: .gaveUp
            }
        let cause = withLane(endpoint) { $0.lastFault }
        notices.append(OutageNotice(app: app, endpoint: endpoint, event: event, cause: cause))
    }

    mutating func takeNotices() -> [OutageNotice] {
        defer { notices = [] }
        return notices
    }
}

extension Timestamp {
    func adding(_ duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return adding(milliseconds: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
