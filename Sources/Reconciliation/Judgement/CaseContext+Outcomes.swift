import Subscriptions

extension CaseContext {
    /// Everything that the case says, one draft for each subscription, sorted by key.
    func drafts() -> [OutcomeDraft] {
        var drafts = rows.compactMap(draft(of:))
        guard let answer else {
            addUnheldRejection(to: &drafts)
            return drafts
        }
        if answerContainsAsked {
            // The asked row's subscription alone has nothing beside it to be compared with.
            if answer.subscriptions.count > 1 || item.asked == nil {
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
        // Also where the asked id only led to the customer: the held rows are settled by the answer.
        if answer.subscriptions.count > 1 {
            orderLosses(in: &drafts, by: CustomerReading(self, answer: answer))
        }
        return drafts.sorted { $0.key < $1.key }
    }

    /// Puts a customer's finding to the row that it names; an excluded row is left alone.
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

    /// Prepares the inserts, and says what is odd about statements that are not inserted.
    ///
    /// Nothing is inserted for a customer whom nobody knows, nor on the word of an asked row that
    /// may be another app's.
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
            let doubt = AllRules.doubts.lazy.compactMap {
                $0.doubt(in: comparison, policy: policy)
            }.first
            drafts[index].absence = .present
            drafts[index].add(doubt?.differences ?? [])
            drafts[index].add(
                AllRules.unknown.differences(UnknownValueRule.unknowns(in: stated), row: row))
            guard doubt == nil, !doubtsCustomer, reading.knowsCustomer else { continue }
            drafts[index].restraint =
                AllRules.restraints.lazy.compactMap {
                    $0.reason(notToInsert: stated, in: reading)
                }.first
            guard drafts[index].restraint == nil else { continue }
            drafts[index].insertion = MissingRow(
                key: row.key, customerID: row.customerID, stated: stated)
            drafts[index].periods = PeriodComparison(
                scoped: comparison.scoped, current: stated.transaction, history: item.history,
                now: policy.now)
        }
    }

    /// Reports entries of the asked customer's answer that must not be believed and that no row of
    /// ours answers for.
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

    /// Reports an unverifiable answer to a question that no row of ours was the cause of.
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
