import Subscriptions

/// Customers who pay under two Apple Accounts.
extension State {
    /// The identity of the finding that a row is paid for beside another one.
    static func overlap(of key: SubscriptionKey) -> String {
        var finding = Finding(
            kind: .overlappingSubscriptions, severity: .medium, row: LocalSubscription(key: key))
        finding.field = SubscriptionField.originalTransactionID.rawValue
        return identity(of: finding)
    }

    func neighbours(of key: SubscriptionKey) -> [PaidNeighbour] {
        guard let customer = payers[key]?.customer else { return [] }
        let paid = payers.filter { $0.value.customer == customer && $0.value.paidGroup != nil }
        guard paid.count <= PaidNeighbour.most else { return [] }
        return paid.keys.filter { $0 != key && isOneCustomers(key, $0) }.sorted().compactMap {
            other in
            paid[other]?.paidGroup.map { group in
                PaidNeighbour(
                    originalTransactionID: other.originalTransactionID, group: group,
                    clock: notes[other]?.check?.check.clock)
            }
        }
    }

    /// Whether both rows stand, of one app and environment, with the same customer.
    private func isOneCustomers(_ key: SubscriptionKey, _ other: SubscriptionKey) -> Bool {
        guard key.bundleID == other.bundleID, key.environment == other.environment,
            let customer = table.rows[key]?.customerID, !customer.isEmpty
        else { return false }
        return table.rows[other]?.customerID == customer
    }

    /// Asks again about rows of which what was just noted says something else than the findings.
    mutating func askAboutOverlaps(in pass: Pass) {
        for (key, row) in pass.rows {
            guard let group = row.payer?.paidGroup else { continue }
            for other in neighbours(of: key) where other.group == group {
                let neighbour = SubscriptionKey(
                    bundleID: key.bundleID, environment: key.environment,
                    originalTransactionID: other.originalTransactionID)
                let isLater = OverlapCause.isEarlier(
                    other.originalTransactionID, than: key.originalTransactionID)
                askAboutPair(
                    later: isLater ? key : neighbour, earlier: isLater ? neighbour : key, in: pass)
            }
        }
        for staged in pass.findings where !staged.isSuperseded {
            let finding = staged.finding
            guard finding.kind == .overlappingSubscriptions,
                finding.cause == OverlapCause.twoAccounts, let later = finding.key,
                case .text(let id) = finding.appleValue
            else { continue }
            let earlier = SubscriptionKey(
                bundleID: later.bundleID, environment: later.environment,
                originalTransactionID: id)
            if payers[earlier]?.paidGroup == nil || !isOneCustomers(later, earlier) {
                askAboutOverlap(of: later)
            }
        }
    }

    private mutating func askAboutPair(
        later: SubscriptionKey, earlier: SubscriptionKey, in pass: Pass
    ) {
        guard let mine = notes[later]?.check, let other = notes[earlier]?.check else { return }
        if let account = mine.check.account, account == other.check.account { return }
        guard let ends = other.check.clock, let signed = mine.check.signedDate, ends > signed,
            !pass.states(Self.overlap(of: later))
        else { return }
        let isStatedOfEarlier = pass.findings.contains { staged in
            !staged.isSuperseded
                && Self.identity(of: staged.finding) == Self.overlap(of: earlier)
                && staged.finding.appleValue == .text(later.originalTransactionID)
        }
        if !isStatedOfEarlier { askAboutOverlap(of: later) }
    }

    private mutating func askAboutOverlap(of key: SubscriptionKey) {
        agenda[key] =
            agenda[key]
            ?? Owed(
                reason: .heldBack, turn: AgendaLine.turn(.heldBack, isEntitling: true))
    }
}
