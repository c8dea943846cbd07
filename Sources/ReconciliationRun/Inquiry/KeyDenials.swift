import Subscriptions
import Synchronization

/// The apps whose key Apple refuses in this run, with what the person on call should know of it.
///
/// A key is revoked for one app, so only the calls of that app end. The run itself ends when no app
/// that it is about can be asked any more.
final class KeyDenials: Sendable {
    private let apps: Set<AppIdentity>
    private let denied = Mutex<[AppIdentity: String]>([:])

    /// - Parameter apps: The apps that the run is about.
    init(apps: some Sequence<AppIdentity>) {
        self.apps = Set(apps)
    }

    /// What Apple's refusal likely means, by app; empty where no key is refused.
    var reasons: [AppIdentity: String] { denied.withLock { $0 } }

    /// Why the run must end; `nil` while it may go on with other apps.
    var stop: RunStop? {
        let reasons = reasons
        guard !reasons.isEmpty, apps.isSubset(of: reasons.keys) else { return nil }
        let sentences = reasons.sorted { $0.key < $1.key }.map(\.value)
        return .denied(sentences.joined(separator: " "))
    }

    func isDenied(_ app: AppIdentity) -> Bool { denied.withLock { $0[app] != nil } }

    func note(_ why: String, of app: AppIdentity) {
        denied.withLock { $0[app] = $0[app] ?? why }
    }
}

/// An app's connection that ends with its own key: from the refusal on, nothing about the app is
/// answered and no call is made, while the others go on.
struct DeniableAppStore: AppStore {
    let store: any AppStore
    let denials: KeyDenials

    var app: AppIdentity { store.app }

    func subscriptionStatuses(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<StatusAnswer> {
        try await asking { () async throws(RunStop) in try await store.subscriptionStatuses(of: id)
        }
    }

    func transactionInfo(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<SignedTransaction> {
        try await asking { () async throws(RunStop) in try await store.transactionInfo(of: id) }
    }

    func transactionHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage> {
        try await asking { () async throws(RunStop) in
            try await store.transactionHistory(of: id, after: revision)
        }
    }

    func notificationHistory(
        in window: NotificationWindow, paginationToken: String?
    ) async throws(RunStop) -> Lookup<NotificationPage> {
        try await asking { () async throws(RunStop) in
            try await store.notificationHistory(in: window, paginationToken: paginationToken)
        }
    }

    func callCounts() -> [CallCount] { store.callCounts() }

    func outage() -> String? { store.outage() }

    func remarks() -> [String] { store.remarks() }

    private func asking<Answer>(
        _ question: () async throws(RunStop) -> Lookup<Answer>
    ) async throws(RunStop) -> Lookup<Answer> {
        if denials.isDenied(app) { return try answerOfDenied() }
        do throws(RunStop) {
            return try await question()
        } catch {
            guard case .denied(let why) = error else { throw error }
            denials.note(why, of: app)
            return try answerOfDenied()
        }
    }

    /// - Throws: The end of the run where no other app is left to ask.
    private func answerOfDenied<Answer>() throws(RunStop) -> Lookup<Answer> {
        if let stop = denials.stop { throw stop }
        return .unavailable("Apple refuses the key of this app (401)")
    }
}
