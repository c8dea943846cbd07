import ReconciliationRun
import Subscriptions
import Synchronization

/// An App Store that answers as a test says: by id, with faults by call.
final class ScriptedAppStore: AppStore {
    /// What it says; everything that is not said is not found.
    struct Script: Sendable {
        var statuses: [String: Lookup<StatusAnswer>] = [:]
        var transactions: [String: Lookup<SignedTransaction>] = [:]
        var histories: [String: [Lookup<HistoryPage>]] = [:]
        /// The pages of the notification history, whatever window is asked for.
        var notifications: [Lookup<NotificationPage>] = []
        /// What the notification history holds, instead of pages: those of a window are listed, 20 on a
        /// page.
        var history: [RecordedNotification] = []
        /// Windows in which this moment lies are not answered, but for the whole history.
        var unreadable: Timestamp?
        /// What comes in place of a status answer, by the number of the question, from 1.
        var faults: [Int: Lookup<StatusAnswer>] = [:]
        /// With this question, and with every later one, the asking is over.
        var stop: (question: Int, reason: RunStop)?
        /// Why every call is refused with 401, of whatever kind it is.
        var denial: String?
        /// Apple does not know the app: the sentence for people.
        var isUnknown: String?
        /// From this question on Apple answers nobody.
        var outageFrom: Int?
        /// Is told the number of each status question before it is answered.
        var beforeAnswer: @Sendable (Int) -> Void = { _ in }

        init() {}
    }

    let app: AppIdentity
    private let state: Mutex<(script: Script, asked: [String], calls: [String: Int])>

    init(_ app: AppIdentity, _ script: Script = Script()) {
        self.app = app
        state = Mutex((script, [], [:]))
    }

    /// Changes what it says from now on.
    func change(_ body: (inout Script) -> Void) {
        state.withLock { state in
            var script = state.script
            body(&script)
            state.script = script
        }
    }

    /// A new run asks: questions are counted from 1 again.
    func newRun() {
        state.withLock { state in
            state.asked = []
            state.calls = [:]
        }
    }

    /// The ids of the status questions since the run began, in their order.
    var asked: [String] { state.withLock { $0.asked } }

    /// How many calls of an endpoint since the run began.
    func calls(_ endpoint: String) -> Int {
        state.withLock { $0.calls[endpoint] ?? 0 }
    }

    func subscriptionStatuses(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<StatusAnswer> {
        if Task.isCancelled { throw .cancelled }
        let (before, number) = try count("subscription_statuses", id.text)
        before.beforeAnswer(number)
        let script = state.withLock(\.script)
        if let stop = script.stop, number >= stop.question { throw stop.reason }
        if let first = script.outageFrom, number >= first { return .unavailable("503") }
        if let fault = script.faults[number] { return fault }
        return script.statuses[id.text] ?? .transactionNotFound
    }

    func transactionInfo(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<SignedTransaction> {
        try count("transaction_info", nil).script.transactions[id.text] ?? .transactionNotFound
    }

    func transactionHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage> {
        let pages = try count("transaction_history", nil).script.histories[id.text] ?? []
        let read = pages.prefix { page in
            guard case .answered(let page) = page else { return false }
            return page.revision != revision
        }
        let next = revision == nil ? 0 : read.count + 1
        return pages.indices.contains(next) ? pages[next] : .transactionNotFound
    }

    func refundHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage> {
        _ = try count("refund_history", nil)
        return .transactionNotFound
    }

    func notificationHistory(
        in window: NotificationWindow, paginationToken: String?
    ) async throws(RunStop) -> Lookup<NotificationPage> {
        let script = try count("notification_history", nil).script
        let next = paginationToken.flatMap { Int($0) } ?? 0
        guard script.history.isEmpty else {
            return Self.page(next, of: window, script)
        }
        let pages = script.notifications
        return pages.indices.contains(next)
            ? pages[next]
            : .answered(NotificationPage(notifications: [], hasMore: false, paginationToken: nil))
    }

    /// Lists what was signed from the beginning of the window to before its end.
    private static func page(
        _ number: Int, of window: NotificationWindow, _ script: Script
    ) -> Lookup<NotificationPage> {
        let length = window.end.milliseconds(since: window.start)
        if let moment = script.unreadable, window.start <= moment, moment < window.end,
            length < 2 * 24 * 3_600_000
        {
            return .unavailable("503")
        }
        let listed = script.history.filter {
            window.start <= $0.signedDate && $0.signedDate < window.end
        }
        let rest = listed.dropFirst(20 * number)
        let hasMore = rest.count > 20
        return .answered(
            NotificationPage(
                notifications: Array(rest.prefix(20)), hasMore: hasMore,
                paginationToken: hasMore ? String(number + 1) : nil))
    }

    func callCounts() -> [CallCount] {
        state.withLock { $0.calls }.map { CallCount(endpoint: $0, result: "ok", calls: $1) }
    }

    func outage() -> String? {
        state.withLock { state in
            guard let first = state.script.outageFrom, state.asked.count >= first else {
                return nil
            }
            return "Apple answers nobody"
        }
    }

    private func count(
        _ endpoint: String, _ id: String?
    ) throws(RunStop) -> (script: Script, number: Int) {
        let counted = state.withLock { state in
            if let id { state.asked.append(id) }
            state.calls[endpoint, default: 0] += 1
            return (script: state.script, number: state.asked.count)
        }
        if let why = counted.script.denial { throw .denied(why) }
        if let why = counted.script.isUnknown { throw .misconfigured(why) }
        return counted
    }
}
