import AppStoreServerAPI
import Logging
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// Apple's answers for a command that leaves the database as it is.
///
/// The calls count for the share of the quota and are noted beside the database.
struct ReadingInquiry {
    let inquiry: CompareInquiry
    let terminal: ProgressLine
    private let stores: [any AppStore]

    /// How long all questions together may take: a share of the quota may be small.
    private static let patience = Duration.seconds(7 * 86_400)

    private init(_ stores: [any AppStore], _ clock: RunClock, _ terminal: ProgressLine) {
        self.stores = stores
        self.terminal = terminal
        inquiry = CompareInquiry(stores, clock: clock)
    }

    /// Opens connections for every app, and closes them when `body` has ended.
    ///
    /// - Parameters:
    ///   - settings: The apps.
    ///   - store: The database, opened to read.
    ///   - invocation: Variables, clock and standard error.
    ///   - isQuiet: Whether neither progress nor waits are shown.
    ///   - body: Asks.
    /// - Returns: The result of `body`.
    /// - Throws: 77 or 78 for a key, a root or an address that cannot be used; what `body` throws.
    static func with<Value>(
        _ settings: Settings, _ store: SQLiteStore, _ invocation: Invocation, isQuiet: Bool,
        _ body: (ReadingInquiry) async throws -> Value
    ) async throws -> Value {
        let terminal = invocation.progressLine(isQuiet: isQuiet)
        let clock = RunClock(now: invocation.now, deadline: .now + patience)
        let pacing = PacingReport(
            logger: Logger(label: "trueup") { _ in SwiftLogNoOpLogHandler() }, terminal: terminal,
            now: invocation.now)
        let revocationAnswers = StoredRevocationAnswers(store: store, now: invocation.now)
        var connections: [AppConnection] = []
        let result: Result<Value, any Error>
        do {
            var stores: [any AppStore] = []
            for app in settings.apps {
                let connection = try AppConnection(app, environment: invocation.environment)
                connections.append(connection)
                let requests = try await connection.requests(
                    by: clock, notingCallsBeside: store, hear: pacing.tell)
                stores.append(
                    try connection.appStore(
                        asking: requests, keeping: revocationAnswers, wallClock: invocation.now))
            }
            result = .success(try await body(ReadingInquiry(stores, clock, terminal)))
        } catch {
            result = .failure(error)
        }
        terminal.clear()
        for connection in connections { await connection.shutdown() }
        return try result.get()
    }

    /// Whether no app's endpoint works any more.
    var isOut: Bool { stores.allSatisfy { $0.outage() != nil } }

    /// Whether Apple answered a call.
    var hasAnswer: Bool {
        stores.flatMap { $0.callCounts() }.contains {
            $0.calls > 0 && ["ok", "not_found", "undecodable"].contains($0.result)
        }
    }

    /// How many calls were made so far.
    var calls: Int { stores.flatMap { $0.callCounts() }.reduce(0) { $0 + $1.calls } }
}
