import Subscriptions

/// Access of one row is ended only when the customer's other subscription that gives access is
/// stored as entitling.
///
/// A customer who subscribed again under a new original id has paid, and a service that knows only
/// the old id would lock them out; but the old row must not stay wrong either. So the correction
/// that gives access is written first, then the one that ends it, in the same transaction, and the
/// second names the subscription by which access continues.
extension CaseContext {
    /// Tells each draft that ends access by which subscriptions access continues, or vetoes it
    /// where none of them is stored or will be by the same plan.
    func orderLosses(in drafts: inout [OutcomeDraft], by reading: CustomerReading) {
        for index in drafts.indices {
            guard let comparison = drafts[index].comparison, drafts[index].veto == nil else {
                continue
            }
            let others = reading.giving(accessInsteadOf: comparison)
            guard let newest = others.first else { continue }
            let standing = others.filter { willStand($0, among: drafts, in: reading) }
            drafts[index].continuedBy = standing.map(\.originalTransactionID)
            guard standing.isEmpty else { continue }
            // Then nothing of the row is written: a part of Apple's statement would match neither
            // side.
            drafts[index].veto = VetoCause.heldBack(until: newest.originalTransactionID)
        }
    }

    /// Whether a subscription is stored as entitling, or will be once the plan is written.
    private func willStand(
        _ stated: StatedSubscription, among drafts: [OutcomeDraft], in reading: CustomerReading
    ) -> Bool {
        let draft = drafts.first { $0.key == reading.row(of: stated).key }
        guard let row = reading.heldRow(of: stated) else {
            return draft?.insertion != nil && policy.reports(.missingLocally)
        }
        guard belongsToApp(row), draft?.doubtsItsCustomer != true else { return false }
        if row.isEntitling { return true }
        return draft?.outcome(policy: policy).corrections.contains(where: \.givesAccess) ?? false
    }
}

extension CustomerReading {
    /// For a row that gives access and, by Apple's statement, no longer should: the subscriptions
    /// of the same group and customer that give access instead, the newest first.
    ///
    /// These have status 1 or 4 and a transaction that is neither wholly revoked nor upgraded; a
    /// prorated refund need not end the access. A row that is stored for another customer does not
    /// count.
    fileprivate func giving(accessInsteadOf ended: Comparison) -> [StatedSubscription] {
        guard ended.ourStatus?.isEntitling == true, !ended.stated.status.isEntitling else {
            return []
        }
        return comparable.filter { other in
            other.givesAccess(instead: ended.stated)
                && !names(anotherCustomer: ended.row.customerID, in: heldRow(of: other))
        }.sorted { $1.began(before: $0) }
    }

    private func names(anotherCustomer customer: String?, in row: LocalSubscription?) -> Bool {
        guard let customer, let other = row?.customerID else { return false }
        return customer != other
    }
}

extension StatedSubscription {
    fileprivate func givesAccess(instead ended: StatedSubscription) -> Bool {
        originalTransactionID != ended.originalTransactionID && group == ended.group
            && status.isEntitling && !transaction.isWhollyRevoked && !transaction.isUpgraded
    }
}

extension OutcomeDraft {
    /// Whether findings question whose row it is, so that it cannot be relied on to give access.
    fileprivate var doubtsItsCustomer: Bool {
        let doubts: Set<FindingKind> = [
            .identity, .wrongApp, .wrongEnvironment, .migrated, .verificationFailed, .invalidID,
        ]
        return differences.contains { doubts.contains($0.kind) }
    }
}
