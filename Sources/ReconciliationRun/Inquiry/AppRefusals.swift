import Subscriptions
import Synchronization

/// The apps that Apple refuses to talk about in this run, with what the person on call should know.
///
/// A key is revoked, or an app is entered wrongly, for one app; so only the calls of that app end. The
/// run itself ends when no app that it is about can be asked any more.
final class AppRefusals: Sendable {
    private let apps: Set<AppIdentity>
    private let refused = Mutex<[AppIdentity: AppRefusal]>([:])

    /// - Parameter apps: The apps that the run is about.
    init(apps: some Sequence<AppIdentity>) {
        self.apps = Set(apps)
    }

    /// What Apple's refusal likely means, by app; empty where no app is refused.
    var reasons: [AppIdentity: AppRefusal] { refused.withLock { $0 } }

    /// Why the run must end; `nil` while it may go on with other apps.
    ///
    /// Where some keys are refused and other apps not known, the end is that of the keys; both
    /// statuses hold.
    var stop: RunStop? {
        let reasons = reasons
        guard !reasons.isEmpty, apps.isSubset(of: reasons.keys) else { return nil }
        let text = reasons.sorted { $0.key < $1.key }.map(\.value.why).joined(separator: " ")
        return reasons.values.contains { $0.kind == .denied } ? .denied(text) : .misconfigured(text)
    }

    func isRefused(_ app: AppIdentity) -> Bool { refusal(of: app) != nil }

    func refusal(of app: AppIdentity) -> AppRefusal? { refused.withLock { $0[app] } }

    func note(_ refusal: AppRefusal, of app: AppIdentity) {
        refused.withLock { $0[app] = $0[app] ?? refusal }
    }
}

/// Why Apple answers nothing about an app.
package struct AppRefusal: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A 401: the key.
        case denied
        /// Apple does not know the app.
        case misconfigured
    }

    package var kind: Kind
    /// Sentences for the person on call.
    package var why: String

    package init(_ kind: Kind, _ why: String) {
        self.kind = kind
        self.why = why
    }

    /// `nil` for what ends the whole run.
    init?(_ stop: RunStop) {
        switch stop {
        case .denied(let why): self.init(.denied, why)
        case .misconfigured(let why): self.init(.misconfigured, why)
        case .quotaWaitPastDeadline, .deadlineReached, .cancelled, .store: return nil
        }
    }

    /// What is said of a row that was not asked about because of it.
    var answer: String {
        switch kind {
        case .denied: "Apple refuses the key of this app (401)"
        case .misconfigured: "Apple does not know this app as it is configured"
        }
    }

    var status: ExitStatus {
        switch kind {
        case .denied: .denied
        case .misconfigured: .config
        }
    }
}

/// An app's connection that ends by itself: from a refusal of Apple's on, nothing about the app is
/// answered and no call is made, while the others go on.
struct RefusableAppStore: AppStore {
    let store: any AppStore
    let refusals: AppRefusals

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
        if let refusal = refusals.refusal(of: app) { return try answer(to: refusal) }
        do throws(RunStop) {
            return try await question()
        } catch {
            guard let refusal = AppRefusal(error) else { throw error }
            refusals.note(refusal, of: app)
            return try answer(to: refusal)
        }
    }

    /// - Throws: The end of the run where no other app is left to ask.
    private func answer<Answer>(to refusal: AppRefusal) throws(RunStop) -> Lookup<Answer> {
        if let stop = refusals.stop { throw stop }
        return .unavailable(refusal.answer)
    }
}
