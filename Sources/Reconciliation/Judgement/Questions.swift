import Subscriptions

extension CaseContext {
    /// What must still be asked before the case can be judged; `nil` when nothing.
    ///
    /// - An answer without the asked id: what is the id really?
    /// - An id that Apple does not find: does the bundle's other environment know it? On the day
    ///   that would confirm the absence also: does Get Transaction Info know it?
    /// - A customer of whom a subscription would be inserted: does a row of ours stand under the id
    ///   of a later transaction of it? Only the whole history tells.
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
        let held = Set(rows.map(\.row.key.originalTransactionID))
        let mayInsert = answer?.subscriptions.contains { !held.contains($0.originalTransactionID) }
        let looksAfterPeriods =
            switch policy.history {
            case .never: false
            case .whenNeeded: rows.contains { !$0.periods.isEmpty || $0.needsWholeHistory }
            case .always: true
            }
        guard mayInsert == true || looksAfterPeriods else { return nil }
        let drafts = drafts()
        if policy.reports(.missingLocally), drafts.contains(where: { $0.insertion != nil }) {
            return .history(after: nil)
        }
        let needing = drafts.filter { draft in
            switch policy.history {
            case .always: draft.comparison != nil && !draft.forbidsWriting
            case .whenNeeded: draft.needsHistory(policy: policy)
            case .never: false
            }
        }
        let revisions = Set(needing.map { $0.comparison?.scoped.historyRevision })
        guard let revision = revisions.first else { return nil }
        return .history(after: revisions.count == 1 ? revision : nil)
    }
}
