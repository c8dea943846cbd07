import Subscriptions

extension CaseContext {
    /// The drafts of all outcomes of the case, one for each subscription, sorted by key.
    func drafts() -> [OutcomeDraft] {
        var drafts = rows.compactMap(draft(of:))
        guard let answer else {
            addUnheldRejection(to: &drafts)
            return drafts
        }
        if answerContainsAsked {
            // With only the asked row's own subscription there is nothing to compare it with, unless
            // its customer pays under another Apple Account.
            if answer.subscriptions.count > 1 || item.asked?.neighbours.isEmpty != true {
                let reading = CustomerReading(self, answer: answer)
                for rule in AllRules.customer {
                    for difference in rule.differences(in: reading).found(by: rule) {
                        attach(difference, to: &drafts)
                    }
                }
                addMissing(reading, to: &drafts)
            }
            addRejectedSiblings(answer, to: &drafts)
        } else {
            addUnheldRejection(to: &drafts)
        }
        // Also when the answer lacks the asked id: it still settles the customer's held rows.
        if answer.subscriptions.count > 1 {
            orderLosses(in: &drafts, by: CustomerReading(self, answer: answer))
        }
        return drafts.count > 1 ? drafts.sorted { $0.key < $1.key } : drafts
    }

    /// Adds a customer rule's finding to the draft of its row; excluded rows get none.
    private func attach(_ difference: Difference, to drafts: inout [OutcomeDraft]) {
        guard let key = difference.finding.key else { return }
        guard let index = drafts.firstIndex(where: { $0.key == key }) else {
            var draft = OutcomeDraft(key: key)
            draft.add([difference])
            drafts.append(draft)
            return
        }
        if case .excluded = drafts[index].verdict { return }
        drafts[index].add([difference])
    }

    /// Prepares the inserts of missing subscriptions, and reports the doubts about the others.
    ///
    /// Nothing is inserted when no row of the customer is stored, or when the asked row may belong
    /// to another app.
    private func addMissing(_ reading: CustomerReading, to drafts: inout [OutcomeDraft]) {
        let doubtsCustomer = drafts.contains { draft in
            draft.key == item.asked?.row.key
                && draft.differences.contains {
                    [.wrongApp, .wrongEnvironment].contains($0.kind)
                }
        }
        for stated in reading.subscriptions where !reading.isHeld(stated) {
            let row = reading.row(of: stated)
            guard let index = drafts.firstIndex(where: { $0.key == row.key }) else { continue }
            let comparison = Comparison(scoped: ScopedRow(row: row), stated: stated)
            let doubt = AllRules.doubts.lazy.compactMap { [policy] in
                $0.doubt(in: comparison, policy: policy)
            }.first
            drafts[index].absence = .present
            drafts[index].statedAt = stated.signedDate
            drafts[index].lacksStatement = doubt != nil
            drafts[index].add(doubt?.differences ?? [])
            drafts[index].add(
                AllRules.unknown.differences(UnknownValueRule.unknowns(in: stated), row: row))
            guard doubt == nil, !doubtsCustomer, reading.knowsCustomer else { continue }
            drafts[index].veto =
                AllRules.writeVetoes.lazy.compactMap {
                    $0.reason(notToInsert: stated, in: reading)
                }.first
            guard drafts[index].veto == nil else { continue }
            drafts[index].insertion = MissingRow(
                key: row.key, customerID: row.customerID, stated: stated)
            drafts[index].periods = PeriodComparison(
                scoped: comparison.scoped, current: stated.transaction, history: item.history,
                now: policy.now)
        }
    }

    /// Reports entries of the asked customer's answer that did not pass verification and that
    /// concern no row of ours.
    private func addRejectedSiblings(_ answer: CustomerAnswer, to drafts: inout [OutcomeDraft]) {
        for (id, rejected) in answer.rejected.sorted(by: { $0.key < $1.key })
        where rejected.isInvalid
            && !drafts.contains(where: { $0.key.originalTransactionID == id })
        {
            let key = SubscriptionKey(app: item.app, originalTransactionID: id)
            let finding = Finding(
                kind: .verificationFailed, severity: .critical, row: LocalSubscription(key: key))
            var draft = OutcomeDraft(key: key)
            draft.add([VerificationFailedRule.difference(finding, rejected)])
            drafts.append(draft)
        }
        guard let rejected = answer.unattributed.first(where: \.isInvalid),
            let index = drafts.firstIndex(where: {
                $0.key.originalTransactionID == item.askedID
            })
        else { return }
        var finding = Finding(
            kind: .verificationFailed, severity: .critical, bundleID: item.app.bundleID,
            environment: item.app.environment.rawValue)
        finding.field = item.askedID
        drafts[index].add([VerificationFailedRule.difference(finding, rejected)])
    }

    /// Reports an answer that did not pass verification when no row of ours was asked about.
    private func addUnheldRejection(to drafts: inout [OutcomeDraft]) {
        guard item.asked == nil else { return }
        let key = SubscriptionKey(app: item.app, originalTransactionID: item.askedID)
        let scoped = ScopedRow(row: LocalSubscription(key: key))
        guard !drafts.contains(where: { $0.key == key }),
            let conclusion = VerificationFailedRule().conclusion(about: scoped, in: self)
        else { return }
        var draft = OutcomeDraft(key: key)
        draft.differences = conclusion.differences
        drafts.append(draft)
    }
}

extension CaseContext {
    /// The draft of one row; `nil` for a held row that this case does not settle.
    func draft(of scoped: ScopedRow) -> OutcomeDraft? {
        let row = scoped.row
        guard isAsked(row) || settles(row) else { return nil }
        var draft = OutcomeDraft(key: row.key)
        draft.row = row
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
            draft.suspectUntil = nextLook(at: scoped, after: conclusion.absence)
        } else if let answer, answer.contains(row.key.originalTransactionID),
            let stated = answer.statement(about: row.key.originalTransactionID)
        {
            compare(
                Comparison(
                    scoped: scoped, stated: stated, kept: policy.kept,
                    history: policy.history == .never ? nil : item.history, now: policy.now),
                into: &draft)
        } else {
            draft.verdict = verdictWithoutStatement(of: row)
        }
        if case .excluded = draft.verdict { return draft }
        draft.add(AllRules.local.differences(in: scoped))
        let unknowns = isAsked(row) ? unknownsAroundStatements : []
        if !unknowns.isEmpty {
            let reported = Set(draft.differences.map(\.finding.field))
            let more = unknowns.filter { !reported.contains($0.field) }
            draft.add(AllRules.unknown.differences(more.map { ($0, nil) }, row: row))
        }
        return draft
    }

    /// Unknown fields and values of the answers, outside the statements that are compared with
    /// rows.
    private var unknownsAroundStatements: [UnknownValue] {
        (answer?.unknowns ?? []) + item.historyUnknowns + (info?.unknowns ?? [])
    }

    /// Whether the answer settles a row other than the asked one: it belongs to the asked customer
    /// and has an entry about the row.
    private func settles(_ row: LocalSubscription) -> Bool {
        guard let answer, answerIsTheAskedCustomers else { return false }
        let id = row.key.originalTransactionID
        return answer.contains(id) || answer.rejected[id] != nil
    }

    /// Whether the answer contains the asked id, or its proven original or successor.
    ///
    /// Otherwise it may belong to another customer.
    private var answerIsTheAskedCustomers: Bool {
        guard let answer else { return false }
        if answerContainsAsked || answer.successor(of: item.askedID) != nil { return true }
        return info.map { answer.contains($0.originalTransactionID) } ?? false
    }

    private func compare(_ comparison: Comparison, into draft: inout OutcomeDraft) {
        draft.absence = .present
        draft.statedAt = comparison.stated.signedDate
        let doubt = AllRules.doubts.lazy.compactMap { [policy] in
            $0.doubt(in: comparison, policy: policy)
        }.first
        if let doubt {
            draft.verdict = .undecided(doubt.reason)
            draft.differences = doubt.differences
            return
        }
        draft.verdict = .match
        draft.comparison = comparison
        if !comparison.scoped.standIns.isEmpty || isTrueOriginal(comparison.row) {
            draft.veto = VetoCause.standIn
        }
        draft.add(AllRules.blocking.flatMap { $0.differences(in: comparison).found(by: $0) })
        draft.add(AllRules.beside.flatMap { $0.differences(in: comparison).found(by: $0) })
        if !comparison.isFirstFill {
            if !comparison.statusReadsAlike {
                draft.add(
                    AllRules.status.lazy.compactMap { rule in
                        rule.difference(in: comparison).map { [$0].found(by: rule) }
                    }.first ?? [])
            }
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

    /// Whether the asked id is the id of a later transaction of the row's subscription.
    private func isTrueOriginal(_ row: LocalSubscription) -> Bool {
        InvalidIDRule.trueOriginal(in: self)?.originalTransactionID
            == row.key.originalTransactionID && belongsToApp(row)
    }

    /// The verdict on the asked row when there is no statement about it.
    private func verdictWithoutStatement(of row: LocalSubscription) -> Verdict {
        if let reason = item.statuses?.undecidedReason { return .undecided(reason) }
        guard belongsToApp(row) else { return .excluded(.appNotConfigured) }
        guard let answer else { return .undecided(.unavailable) }
        return .undecided(answer.isEmpty ? .noSubscriptionInAnswer : .idNotInAnswer)
    }
}
