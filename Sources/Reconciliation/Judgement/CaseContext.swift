import Subscriptions

/// A case with its indexed answer and the policy: what the rules work with.
///
/// A class, because it is large and every rule is given it: a copy counts references that all cases
/// share, for which the processors then wait on each other.
final class CaseContext: Sendable {
    let item: Case
    let policy: Policy
    /// The status answer, when there is one.
    let answer: CustomerAnswer?
    /// How Apple refused the status question; `nil` for every other result of it.
    let refusal: Refusal?
    /// Whether the answer contains a verified statement about the asked id.
    let answerContainsAsked: Bool
    /// Whether any part of the answers did not pass verification.
    private let hasRejections: Bool

    /// The refusals that say something about the asked id.
    enum Refusal {
        case transactionNotFound, accountNotFound, invalidID
    }

    init(_ item: Case, policy: Policy) {
        self.item = item
        self.policy = policy
        if case .answered(let answer) = item.statuses {
            self.answer = CustomerAnswer(answer)
        } else {
            self.answer = nil
        }
        refusal =
            switch item.statuses {
            case .transactionNotFound: .transactionNotFound
            case .accountNotFound: .accountNotFound
            case .invalidID: .invalidID
            default: nil
            }
        answerContainsAsked = answer?.contains(item.askedID) ?? false
        hasRejections =
            answer?.hasRejections == true || item.statuses?.isUnverified == true
            || item.transactionInfo?.isUnverified == true
    }

    /// Whether the row is the one that the question was for.
    func isAsked(_ row: LocalSubscription) -> Bool { item.asked?.row.key == row.key }

    /// Whether the row belongs to the app that asked.
    func belongsToApp(_ row: LocalSubscription) -> Bool {
        row.key.bundleID == item.app.bundleID
            && row.key.environment == item.app.environment.rawValue
    }

    /// The answer of Get Transaction Info to the asked id.
    ///
    /// Ignored when it is about neither the asked id nor its successor: then it belongs to another
    /// request.
    var info: SignedTransaction? {
        guard case .answered(let info) = item.transactionInfo,
            info.transactionID == item.askedID
                || info.previousOriginalTransactionID == item.askedID
        else { return nil }
        return info
    }

    /// The bundle's other environment, where it is configured.
    var otherEnvironment: AppIdentity? {
        policy.apps.sorted().first {
            $0.bundleID == item.app.bundleID && $0.environment != item.app.environment
        }
    }

    /// The verified statement about the asked id in the bundle's other environment.
    var statementElsewhere: StatedSubscription? {
        guard let elsewhere = item.elsewhere, elsewhere.app.environment != item.app.environment,
            case .answered(let answer) = elsewhere.statuses
        else { return nil }
        let found = CustomerAnswer(answer)
        return found.contains(item.askedID) ? found.statement(about: item.askedID) : nil
    }

    /// Every row of the case in key order, so that nothing depends on the order of the answer.
    var rows: [ScopedRow] {
        let asked = item.asked.map { [$0] } ?? []
        guard !item.held.isEmpty else { return asked }
        return (asked + item.held.filter { !isAsked($0.row) }).sorted { $0.row.key < $1.row.key }
    }
}

extension CaseContext {
    /// The part of the answers about a row that did not pass verification; `nil` when all did.
    ///
    /// That is the entry with the row's own id. For the asked row also the whole answer, the answer
    /// of Get Transaction Info, and an entry without a usable id where no entry has the asked one.
    func rejection(of row: LocalSubscription) -> RejectedStatement? {
        guard hasRejections else { return nil }
        let id = row.key.originalTransactionID
        if let rejected = answer?.rejected[id] { return rejected }
        guard isAsked(row) || item.asked == nil else { return nil }
        if case .unverified(let rejected) = item.statuses { return rejected }
        if let answer, !answer.contains(id), let first = answer.unattributed.first { return first }
        if !answerContainsAsked, case .unverified(let rejected) = item.transactionInfo {
            return rejected
        }
        return nil
    }

    /// A rejected entry whose signature is valid: the payload is genuine, but was made for another
    /// app or environment.
    ///
    /// The unsigned envelope of an answer proves nothing, and an entry without a usable id may be
    /// about another subscription.
    func signedRejection(
        of row: LocalSubscription, for reason: VerificationFailure.Reason
    ) -> RejectedStatement? {
        guard let rejected = rejection(of: row), rejected.failure.reason == reason,
            rejected.payload != nil, answer?.unattributed.contains(rejected) != true
        else { return nil }
        return rejected
    }
}
