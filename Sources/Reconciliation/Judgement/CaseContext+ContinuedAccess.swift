import Subscriptions

/// Access is ended for one id only once another subscription that entitles the customer stands in
/// our table as entitling.
///
/// A customer who subscribed again under a new original id has paid; a service that looks only at
/// the id it once stored would lock them out. But the ended row is wrong as long as it is left. So
/// the gain is written first, then the loss, in one transaction, and the loss says by which
/// subscription access goes on.
extension CaseContext {
    /// Gives each draft that ends access the subscriptions by which it goes on, or holds it back
    /// where none of them is in the table, nor will be by the same plan.
    func orderLosses(in drafts: inout [OutcomeDraft], by reading: CustomerReading) {
        for index in drafts.indices {
            guard let comparison = drafts[index].comparison, drafts[index].restraint == nil else {
                continue
            }
            let others = reading.giving(accessInsteadOf: comparison)
            guard let newest = others.first else { continue }
            let standing = others.filter { willStand($0, among: drafts, in: reading) }
            drafts[index].continuedBy = standing.map(\.originalTransactionID)
            guard standing.isEmpty else { continue }
            // Nothing at all is written then: half of Apple's statement would be neither's truth.
            drafts[index].restraint = HeldBackReason.text(until: newest.originalTransactionID)
        }
    }

    /// Whether our table says that a subscription entitles, or will once the plan is written.
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
    /// The live subscriptions of the same group and customer that give access where a row of ours
    /// does and Apple's statement about it no longer does; the newest first.
    ///
    /// Live is one with status 1 or 4 whose transaction is neither wholly revoked nor upgraded away;
    /// a prorated refund need not end the access. A row that the company holds for another customer
    /// gives this one nothing.
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
    /// Whether it is in question whose the row is, so that it gives nobody access for sure.
    fileprivate var doubtsItsCustomer: Bool {
        let doubts: Set<FindingKind> = [
            .identity, .wrongApp, .wrongEnvironment, .migrated, .verificationFailed, .invalidID,
        ]
        return differences.contains { doubts.contains($0.kind) }
    }
}
