import Subscriptions

extension CaseContext {
    /// What comes of one row; `nil` for a held row that this case does not settle.
    func draft(of scoped: ScopedRow) -> OutcomeDraft? {
        let row = scoped.row
        guard isAsked(row) || settles(row) else { return nil }
        var draft = OutcomeDraft(key: row.key)
        if let reason = exclusion(of: row, policy: policy) {
            draft.verdict = .excluded(reason)
            return draft
        }
        let conclusion = AllRules.standing.lazy.compactMap {
            $0.conclusion(about: scoped, in: self)
        }
        .first
        if let conclusion {
            draft.verdict = conclusion.verdict
            draft.differences = conclusion.differences
            draft.absence = conclusion.absence
        } else if let answer, answer.contains(row.key.originalTransactionID),
            let stated = answer.statement(about: row.key.originalTransactionID)
        {
            compare(Comparison(scoped: scoped, stated: stated), into: &draft)
        } else {
            draft.verdict = verdictWithoutStatement(of: row)
        }
        if case .excluded = draft.verdict { return draft }
        draft.add(AllRules.local.differences(in: scoped))
        if isAsked(row) {
            let reported = Set(draft.differences.map(\.finding.field))
            let more = unknownsAroundStatements.filter { !reported.contains($0.field) }
            draft.add(AllRules.unknown.differences(more.map { ($0, nil) }, row: row))
        }
        return draft
    }

    /// What is unknown in the answers about the asked id, outside the statements compared with rows.
    private var unknownsAroundStatements: [UnknownValue] {
        (answer?.unknowns ?? []) + item.historyUnknowns + (info?.unknowns ?? [])
    }

    /// Whether the answer settles a row other than the asked one: it is the asked customer's
    /// answer, and it speaks of the row.
    private func settles(_ row: LocalSubscription) -> Bool {
        guard let answer, answerIsTheAskedCustomers else { return false }
        let id = row.key.originalTransactionID
        return answer.contains(id) || answer.rejected[id] != nil
    }

    /// Whether the answer contains the asked id, or its proven original or successor; otherwise it
    /// may be somebody else's.
    private var answerIsTheAskedCustomers: Bool {
        guard let answer else { return false }
        if answerContainsAsked || answer.successor(of: item.askedID) != nil { return true }
        return info.map { answer.contains($0.originalTransactionID) } ?? false
    }

    private func compare(_ comparison: Comparison, into draft: inout OutcomeDraft) {
        draft.absence = .present
        let doubt = AllRules.doubts.lazy.compactMap { $0.doubt(in: comparison, policy: policy) }
            .first
        if let doubt {
            draft.verdict = .undecided(doubt.reason)
            draft.differences = doubt.differences
            return
        }
        draft.verdict = .match
        draft.comparison = comparison
        if !comparison.scoped.standIns.isEmpty || isTrueOriginal(comparison.row) {
            draft.restraint = StandInReason.text
        }
        draft.add(AllRules.blocking.flatMap { $0.differences(in: comparison).found(by: $0) })
        if !comparison.isFirstFill {
            draft.add(
                AllRules.status.lazy.compactMap { rule in
                    rule.difference(in: comparison).map { [$0].found(by: rule) }
                }.first ?? [])
            draft.add(AllRules.row.flatMap { $0.differences(in: comparison).found(by: $0) })
        }
        var unknowns = UnknownValueRule.unknowns(in: comparison.stated)
        let history = policy.history == .never ? nil : item.history
        if !comparison.scoped.periods.isEmpty || comparison.scoped.needsWholeHistory
            || history != nil
        {
            let periods = PeriodComparison(
                scoped: comparison.scoped, current: comparison.stated.transaction,
                history: history, now: policy.now)
            draft.periods = periods
            draft.add(AllRules.period.flatMap { $0.differences(in: periods).found(by: $0) })
            unknowns += periods.stated.flatMap { period in
                period.transaction.unknowns.map { ($0, period.transaction.evidence) }
            }
        }
        if !unknowns.isEmpty {
            draft.add(AllRules.unknown.differences(unknowns, row: comparison.row))
        }
    }

    /// Whether the asked id turned out to be a later transaction's of the row's subscription.
    private func isTrueOriginal(_ row: LocalSubscription) -> Bool {
        InvalidIDRule.trueOriginal(in: self)?.originalTransactionID
            == row.key.originalTransactionID && belongsToApp(row)
    }

    /// The verdict on the asked row when nothing was found out about it.
    private func verdictWithoutStatement(of row: LocalSubscription) -> Verdict {
        if let reason = item.statuses?.undecidedReason { return .undecided(reason) }
        guard belongsToApp(row) else { return .excluded(.appNotConfigured) }
        guard let answer else { return .undecided(.unavailable) }
        return .undecided(answer.isEmpty ? .noSubscriptionInAnswer : .idNotInAnswer)
    }
}
