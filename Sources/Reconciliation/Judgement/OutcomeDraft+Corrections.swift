import Subscriptions

extension OutcomeDraft {
    /// The outcome: what is reported and written, and the payloads that prove it.
    func outcome(policy: Policy) -> RowOutcome {
        var outcome = RowOutcome(key: key, verdict: verdict)
        outcome.absence = absence
        outcome.look = look
        outcome.isDoubtful = isDoubtful
        var kept = differences.filter { policy.reports($0.kind) }
        var payloads: [SignedPayload] = []
        if let insertion, policy.reports(.missingLocally) {
            outcome.corrections.append(insertion.correction(keeping: policy.kept))
            payloads += [insertion.stated.transaction.evidence, insertion.stated.renewal.evidence]
            mark(&kept) { $0.kind == .missingLocally }
        }
        if let veto {
            refuse(&kept, because: veto, policy: policy)
        } else if mayWrite, let comparison {
            let correctable = kept.filter { isCorrectable($0, policy: policy) }
            if let correction = correction(
                of: comparison, mending: correctable, policy: policy)
            {
                outcome.corrections.append(correction)
                payloads += [
                    comparison.stated.transaction.evidence, comparison.stated.renewal.evidence,
                ]
                mark(&kept) { correctable.contains($0) }
            }
        }
        for period in periodsToInsert(policy: policy) {
            outcome.corrections.append(
                period.insert(
                    into: key, kinds: periods?.areKept == true ? [.transactionMissing] : []))
            payloads.append(period.transaction.evidence)
            mark(&kept) {
                $0.kind == .transactionMissing
                    && $0.finding.field == period.transaction.transactionID
            }
        }
        let fills = periods?.fills(policy: policy) ?? []
        if fillsPeriods(policy: policy) {
            outcome.corrections += fills.map { $0.correction(of: key) }
            payloads += fills.map(\.transaction.evidence)
        } else {
            outcome.leavesPeriodsEmpty = !fills.isEmpty
        }
        outcome.statedAt = statedAt
        for index in outcome.corrections.indices {
            outcome.corrections[index].restsOn = statedAt
        }
        outcome.check = check(after: outcome.corrections, policy: policy)
        outcome.payer = outcome.check == nil ? nil : payer
        outcome.figures = figures
        outcome.findings = kept.map(\.finding).sorted { $0.sortKey < $1.sortKey }
        outcome.evidence = Set(payloads + kept.compactMap(\.payload))
            .sorted { $0.digest.hexadecimal < $1.digest.hexadecimal }
        return outcome
    }

    /// What the row adds to the control totals.
    private var figures: RowFigures? {
        guard verdict == .match || verdict == .discrepancy, let row else { return nil }
        return RowFigures(
            ourStatus: row.status.map(Int64.init),
            stated: comparison.map { comparison in
                RowFigures.Stated(
                    status: comparison.stated.status.rawValue,
                    price: comparison.stated.transaction.price,
                    currency: comparison.stated.transaction.currency)
            })
    }

    /// Whether the row was judged and no finding forbids writing.
    var mayWrite: Bool {
        (verdict == .match || verdict == .discrepancy) && !forbidsWriting
    }

    private func mark(_ differences: inout [Difference], where isPlanned: (Difference) -> Bool) {
        for index in differences.indices where isPlanned(differences[index]) {
            differences[index].finding.action = .planned
        }
    }

    /// Marks each finding that would have been corrected as refused, with the veto as its cause.
    private func refuse(
        _ differences: inout [Difference], because veto: String, policy: Policy
    ) {
        for index in differences.indices
        where differences[index].kind == .missingLocally
            || (mayWrite && isCorrectable(differences[index], policy: policy))
        {
            differences[index].finding.action = .refused
            differences[index].finding.cause = veto
        }
    }

    private func isCorrectable(_ difference: Difference, policy: Policy) -> Bool {
        guard let column = difference.column else { return false }
        return !policy.reportOnlyFields.contains(column.rawValue)
    }

    /// The correction or fill of a held row; `nil` when there is nothing to write.
    ///
    /// A corrected row takes over every column that Apple states, empty ones included, because from
    /// then on it is the row of the new statement. Without a finding to correct, a row without a
    /// status is filled completely, any other row only in its empty columns. Not written are
    /// report-only columns, and columns of findings that this run leaves out. A run that is
    /// narrowed to some kinds fills nothing, because a fill belongs to no kind.
    private func correction(
        of comparison: Comparison, mending correctable: [Difference], policy: Policy
    ) -> PlannedCorrection? {
        let onlyFills = correctable.isEmpty
        guard !onlyFills || policy.onlyKinds == nil else { return nil }
        let mended = correctable.reduce(into: Set<SubscriptionField>()) { $0.formUnion($1.columns) }
        let held = differences.filter { !correctable.contains($0) }
            .reduce(into: Set<SubscriptionField>()) { $0.formUnion($1.columns) }
            .subtracting(mended)
        var changes: [SubscriptionField: FieldChange] = [:]
        for field in SubscriptionField.stated
        where !held.contains(field)
            && !policy.reportOnlyFields.contains(field.rawValue)
            && field != .signedDate
            && (!onlyFills || comparison.isFirstFill || comparison.isNotKnownYet(field))
            && comparison.differs(in: field)
        {
            changes[field] = comparison.change(of: field)
        }
        guard !changes.isEmpty else { return nil }
        if comparison.row.signedDate != comparison.stated.signedDate {
            changes[.signedDate] = comparison.change(of: .signedDate)
        }
        let kinds = correctable.map(\.kind).inContractOrder
        var planned = PlannedCorrection(
            target: .update(key, expectedRowVersion: comparison.row.rowVersion),
            changes: .subscription(changes), kinds: kinds,
            evidence: comparison.stated.transaction.evidence.digest,
            evidenceRenewal: comparison.stated.renewal.evidence.digest,
            appleSignedDate: comparison.stated.signedDate,
            reason: reason(of: comparison, kinds, Set(changes.keys)),
            rules: kinds.isEmpty
                ? [comparison.isFirstFill ? FirstFill.applied : ColumnFill.applied]
                : correctable.compactMap(\.appliedRule).inContractOrder)
        if planned.endsAccess { planned.continuedBy = continuedBy }
        return planned
    }

    private func reason(
        of comparison: Comparison, _ kinds: [FindingKind], _ changed: Set<SubscriptionField>
    ) -> String {
        guard kinds.isEmpty else {
            return "Takes over Apple's statement: "
                + kinds.map(\.rawValue).joined(separator: ", ") + "."
        }
        if comparison.isFirstFill { return "First fill of a row that was not known yet." }
        let columns = SubscriptionField.allCases.filter {
            $0 != .signedDate && changed.contains($0)
        }
        return "Fills in what was not known yet: "
            + columns.map(\.rawValue).joined(separator: ", ") + "."
    }
}

extension Finding {
    /// The order of findings within one outcome: kind, then field, as in the report files.
    var sortKey: (String, String) { (kind.rawValue, field ?? "") }
}

extension [FindingKind] {
    /// Each kind once, in the order of `FindingKind`.
    var inContractOrder: [FindingKind] {
        let held = Set(self)
        return FindingKind.allCases.filter(held.contains)
    }
}

extension Sequence where Element == AppliedRule {
    /// Each rule once, by kind in the order of `FindingKind`, then by name.
    var inContractOrder: [AppliedRule] {
        let order = FindingKind.allCases
        return Set(self).sorted { left, right in
            let ranks = [left, right].map { $0.kind.flatMap(order.firstIndex) ?? -1 }
            return (ranks[0], left.rule.name) < (ranks[1], right.rule.name)
        }
    }
}
