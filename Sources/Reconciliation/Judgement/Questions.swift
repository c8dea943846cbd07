import Subscriptions

extension CaseContext {
    /// What must still be asked before the case can be judged; `nil` when nothing.
    ///
    /// - An answer without the asked id: what is the id really?
    /// - An id that Apple does not find: does the bundle's other environment know it? On the day
    ///   that would confirm the absence also: does Get Transaction Info know it?
    /// - A customer whose periods are looked after: what is in the history?
    ///
    /// A row of an app that is not configured causes no further question.
    var nextQuestion: Question? {
        if answerContainsAsked { return historyQuestion }
        guard let asked = item.asked, belongsToApp(asked.row),
            exclusion(of: asked.row, policy: policy) == nil
        else { return nil }
        if let answer {
            let isOpen =
                !answer.isEmpty && rejection(of: asked.row) == nil
                && MigratedRule.successor(of: asked.row, in: self) == nil
            return isOpen && item.transactionInfo == nil ? .transactionInfo : nil
        }
        guard item.statuses == .transactionNotFound else { return nil }
        if item.elsewhere == nil, let other = otherEnvironment { return .statuses(in: other) }
        guard statementElsewhere == nil, item.transactionInfo == nil,
            NotFoundRule.wouldConfirm(asked, policy: policy)
        else { return nil }
        return .transactionInfo
    }

    private var historyQuestion: Question? {
        guard item.history == nil else { return nil }
        switch policy.history {
        case .never: return nil
        case .whenNeeded where !rows.contains { !$0.periods.isEmpty }: return nil
        case .whenNeeded, .always: break
        }
        let drafts = drafts()
        let needing = drafts.filter { draft in
            switch policy.history {
            case .always: draft.comparison != nil && !draft.forbidsWriting
            case .whenNeeded: draft.needsHistory
            case .never: false
            }
        }
        let needsInserted =
            policy.history == .always && drafts.contains { $0.insertion != nil }
        guard !needing.isEmpty || needsInserted else { return nil }
        let revisions = Set(needing.map { $0.comparison?.scoped.historyRevision })
        guard !needsInserted, revisions.count == 1, let revision = revisions.first else {
            return .history(after: nil)
        }
        return .history(after: revision)
    }
}
