import Reconciliation
import Subscriptions
import Synchronization

/// Watches the answers of a whole run for signs that it must not continue.
final class AnswerTally: Sendable {
    private struct State {
        var answered = 0
        var undecodableInARow = 0
        var verificationFailures = 0
        var lastFailure: String?
        var lastUndecodable = ""
        var unfinishedHistories = 0
        var lastUnfinished = ""
        var undeterminedAskedAgain = 0
        /// Apps that any answer names as the settings do.
        var agreed: Set<AppIdentity> = []
        /// How many answers about an app contradict a setting of it.
        var contradicted: [AppIdentity: [ContradictedSetting: Int]] = [:]
    }

    private let state = Mutex(State())
    private let maxVerificationFailures: Int

    init(maxVerificationFailures: Int) {
        self.maxVerificationFailures = maxVerificationFailures
    }

    /// Whether Apple answered anything; `nil` when no call was made.
    func appleAnswered(calls: Int) -> Bool? {
        state.withLock { $0.answered > 0 ? true : calls > 0 ? false : nil }
    }

    /// The failure of the last call without an answer.
    var lastFailure: String? { state.withLock { $0.lastFailure } }

    func note<Answer>(_ lookup: Lookup<Answer>) {
        state.withLock { state in
            switch lookup {
            case .unavailable(let why): state.lastFailure = why
            case .rateLimited: state.lastFailure = "Apple answered 429"
            case .internalFault: state.lastFailure = "Apple answered 5000000"
            case .undecodable(let why):
                state.undecodableInARow += 1
                state.lastUndecodable = why
                state.lastFailure = why
            case .unverified(let rejected):
                state.answered += 1
                if !rejected.isUndetermined { state.verificationFailures += 1 }
            case .answered, .transactionNotFound, .accountNotFound, .invalidID, .restart, .refused:
                state.answered += 1
                state.undecodableInARow = 0
            }
        }
    }

    /// Notes whether an answer that names its app names the one that was checked.
    func note<Answer>(identityIn lookup: Lookup<Answer>, of app: AppIdentity) {
        switch lookup {
        case .answered: note(identityAgrees: true, rejected: [], of: app)
        case .unverified(let rejected):
            note(identityAgrees: false, rejected: [rejected], of: app)
        default: return
        }
    }

    /// Adds statements that each name their app.
    func note(identityAgrees agrees: Bool, rejected: [RejectedStatement], of app: AppIdentity) {
        state.withLock { state in
            if agrees { state.agreed.insert(app) }
            for setting in rejected.compactMap(\.failure.contradicted) {
                state.contradicted[app, default: [:]][setting, default: 0] += 1
            }
        }
    }

    /// The settings that every answer about their app contradicts, and alike, in sentences.
    ///
    /// A damaged answer names some other app once; a mistyped setting is contradicted each time.
    var suspectedSettings: [String] {
        state.withLock { state in
            state.contradicted.sorted { $0.key < $1.key }.compactMap { app, contradicted in
                guard !state.agreed.contains(app), contradicted.count == 1,
                    let (setting, answers) = contradicted.first
                else { return nil }
                return
                    "Every answer about \(app.bundleID) (\(app.environment.rawValue)) that names "
                    + "its app (\(answers)) states the \(setting.name) \(setting.stated); "
                    + "the settings say \(setting.configured). The run changed no row because of "
                    + "these answers. Probably the setting is wrong: compare it with App Store Connect, "
                    + "correct \(setting.name), run \"trueup doctor\", then run the job again."
            }
        }
    }

    func note(_ history: HistoryReading) {
        guard case .incomplete(let why) = history else { return }
        state.withLock { state in
            state.unfinishedHistories += 1
            state.lastUnfinished = why
        }
    }

    /// Names the rows that were not compared because a customer's history had no readable end;
    /// `nil` for none.
    ///
    /// Without this sentence a history that was cut off would look like one that agrees.
    ///
    /// - Parameter rows: How many such rows the checkpoint has, where the run continues another one:
    ///   a killed run took along what it had counted.
    /// - Returns: A sentence for the person on call.
    func unfinishedHistories(ofRowsBefore rows: Int) -> String? {
        state.withLock { state in
            let count = state.unfinishedHistories
            guard max(count, rows) > 0 else { return nil }
            let histories =
                rows > count
                ? "Transaction \(IncompleteReading.notToTheirEnd) for \(rows) rows"
                : "\(count) transaction \(IncompleteReading.notToTheirEnd)"
            return histories
                + (count > 0 ? " (the last one: \(state.lastUnfinished))" : "")
                + ". Their periods were not compared and not changed, and no missing subscription of "
                + "these customers was inserted; the next run reads them again."
        }
    }

    /// Whether one more row may be asked again because revocation was not learned: when nothing at
    /// all can be learned, a second call for every row would only spend the quota.
    func mayAskUndeterminedAgain() -> Bool {
        state.withLock { state in
            guard state.undeterminedAskedAgain < RunLimits.undeterminedAskedAgain else {
                return false
            }
            state.undeterminedAskedAgain += 1
            return true
        }
    }

    func note(rejected: [RejectedStatement]) {
        let failures = rejected.count(where: \.isInvalid)
        guard failures > 0 else { return }
        state.withLock { $0.verificationFailures += failures }
    }

    /// The reason to end the run now; `nil` while it may continue.
    var verdict: RunEnd? {
        state.withLock { state in
            if state.undecodableInARow >= RunLimits.undecodableInARow {
                return .unreadable(
                    "\(state.undecodableInARow) answers in a row could not be read "
                        + "(\(state.lastUndecodable)).")
            }
            if state.verificationFailures > maxVerificationFailures {
                return .unreadable(
                    "\(state.verificationFailures) signed answers did not verify; "
                        + "max_verification_failures is \(maxVerificationFailures).")
            }
            return nil
        }
    }
}

/// The apps that Apple refuses to talk about in this run, with what the person on call should know.
///
/// A key is revoked, or an app is entered wrongly, for one app; so only the calls of that app end.
/// The run itself ends when no app that it is about can be asked any more.
final class AppRefusals: Sendable {
    private let apps: Set<AppIdentity>
    private let refused = Mutex<[AppIdentity: AppRefusal]>([:])

    /// - Parameter apps: The apps that the run is about.
    init(apps: some Sequence<AppIdentity>) {
        self.apps = Set(apps)
    }

    /// The likely reason of Apple's refusal, by app; empty where no app is refused.
    var reasons: [AppIdentity: AppRefusal] { refused.withLock { $0 } }

    /// The reason to end the run; `nil` while it may continue other apps.
    ///
    /// Where some keys are refused and other apps not known, the end is that of the keys; both
    /// statuses hold.
    var stop: RunStop? {
        let reasons = reasons
        guard !reasons.isEmpty, apps.isSubset(of: reasons.keys) else { return nil }
        let text = reasons.sorted { $0.key < $1.key }.map(\.value.why).joined(separator: " ")
        return reasons.values.contains { $0.status == .denied }
            ? .denied(text) : .misconfigured(text)
    }

    func isRefused(_ app: AppIdentity) -> Bool { refusal(of: app) != nil }

    func refusal(of app: AppIdentity) -> AppRefusal? { refused.withLock { $0[app] } }

    func note(_ refusal: AppRefusal, of app: AppIdentity) {
        refused.withLock { $0[app] = $0[app] ?? refusal }
    }
}

/// The reason why Apple answers nothing about an app.
struct AppRefusal: Hashable, Sendable {
    /// `denied` for a 401, and `config` where Apple does not know the app.
    var status: ExitStatus
    /// Sentences for the person on call.
    var why: String
    /// The reason given for a row that was not checked because of it.
    var answer: String

    /// `nil` for what ends the whole run.
    init?(_ stop: RunStop) {
        switch stop {
        case .denied(let why):
            (status, self.why) = (.denied, why)
            answer = "Apple refuses the key of this app (401)"
        case .misconfigured(let why):
            (status, self.why) = (.config, why)
            answer = "Apple does not know this app as it is configured"
        case .quotaWaitPastDeadline, .deadlineReached, .cancelled, .store: return nil
        }
    }
}

/// An app's connection that ends by itself: from a refusal of Apple's on, nothing about the app is
/// answered and no call is made, while the others continue.
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

    func refundHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage> {
        try await asking { () async throws(RunStop) in
            try await store.refundHistory(of: id, after: revision)
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
