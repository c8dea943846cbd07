import Reconciliation
import Subscriptions
import Synchronization

/// Watches the answers of a whole run for signs that it must not go on.
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
        /// What answers that name an app state of it.
        var identities: [AppIdentity: StatedIdentities] = [:]
    }

    private struct StatedIdentities {
        /// Whether any answer names the app as the settings do.
        var hasAgreed = false
        var contradicted: [ContradictedSetting: Int] = [:]
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

    /// What the last call that brought nothing failed on.
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

    /// Notes whether an answer that names its app names the one that was asked about.
    func note<Answer>(identityIn lookup: Lookup<Answer>, of app: AppIdentity) {
        switch lookup {
        case .answered: note(identityAgrees: true, rejected: [], of: app)
        case .unverified(let rejected):
            note(identityAgrees: false, rejected: [rejected], of: app)
        default: return
        }
    }

    /// The same for statements that each name their app.
    func note(identityAgrees agrees: Bool, rejected: [RejectedStatement], of app: AppIdentity) {
        state.withLock { state in
            var identities = state.identities[app] ?? StatedIdentities()
            if agrees { identities.hasAgreed = true }
            for setting in rejected.compactMap(\.failure.contradicted) {
                identities.contradicted[setting, default: 0] += 1
            }
            state.identities[app] = identities
        }
    }

    /// The settings that every answer about their app contradicts, and alike, in sentences.
    ///
    /// A damaged answer names some other app once; a mistyped setting is contradicted each time.
    var suspectedSettings: [String] {
        state.withLock { state in
            state.identities.sorted { $0.key < $1.key }.compactMap { app, identities in
                guard !identities.hasAgreed, identities.contradicted.count == 1,
                    let (setting, answers) = identities.contradicted.first
                else { return nil }
                return
                    "Every answer about \(app.bundleID) (\(app.environment.rawValue)) that names "
                    + "its app (\(answers)) states the \(setting.name) \(setting.stated); "
                    + "the settings say \(setting.configured). Most likely that setting is wrong: "
                    + "compare it with App Store Connect, correct \(setting.name), see whether "
                    + "\"trueup doctor\" agrees, and run again. No row was changed by these answers."
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

    /// What was not compared because a customer's history had no readable end; `nil` for nothing.
    ///
    /// Without this sentence a history that was cut off would look like one that agrees.
    var unfinishedHistories: String? {
        state.withLock { state in
            guard state.unfinishedHistories > 0 else { return nil }
            return "\(state.unfinishedHistories) transaction \(IncompleteReading.notToTheirEnd) "
                + "(the last one: \(state.lastUnfinished)). Their periods were not compared and "
                + "not changed; the next run reads them again."
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

    /// Why the run must end now; `nil` while it may go on.
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
