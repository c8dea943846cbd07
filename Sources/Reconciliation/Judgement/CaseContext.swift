import Subscriptions

/// A case with its answer prepared and the policy at hand: what the rules look at.
struct CaseContext: Sendable {
    let item: Case
    let policy: Policy
    /// The status answer, when there is one.
    let answer: CustomerAnswer?

    init(_ item: Case, policy: Policy) {
        self.item = item
        self.policy = policy
        if case .answered(let answer) = item.statuses {
            self.answer = CustomerAnswer(answer)
        } else {
            self.answer = nil
        }
    }

    /// Whether the row is the one that the question was for.
    func isAsked(_ row: LocalSubscription) -> Bool { item.asked?.row.key == row.key }

    /// Whether the row belongs to the app that asked.
    func belongsToApp(_ row: LocalSubscription) -> Bool {
        row.key.bundleID == item.app.bundleID
            && row.key.environment == item.app.environment.rawValue
    }

    /// Whether the answer holds Apple's verified word about the asked id.
    var answerContainsAsked: Bool { answer?.contains(item.askedID) ?? false }

    /// The signed transaction that Get Transaction Info gave of the asked id.
    ///
    /// One that is about neither the asked id nor its successor went astray on its way here.
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

    /// Apple's verified word about the asked id in the bundle's other environment.
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
        return (asked + item.held.filter { !isAsked($0.row) }).sorted { $0.row.key < $1.row.key }
    }
}
