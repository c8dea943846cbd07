import Subscriptions

/// A customer's answer beside everything that we hold of it.
struct CustomerReading: Sendable {
    let context: CaseContext
    /// Everything verified in the answer, sorted by original transaction id.
    let subscriptions: [StatedSubscription]
    private let held: [String: LocalSubscription]

    init(_ context: CaseContext, answer: CustomerAnswer) {
        self.context = context
        subscriptions = answer.subscriptions.filter { answer.contains($0.originalTransactionID) }
        held = Dictionary(
            context.rows.map { ($0.row.key.originalTransactionID, $0.row) },
            uniquingKeysWith: { context.belongsToApp($1) ? $1 : $0 })
    }

    /// Statements that can be held beside each other: a status that we know and that the signed
    /// parts allow, of a subscription that has not gone on under another id.
    var comparable: [StatedSubscription] {
        let migrated = Set(subscriptions.compactMap(\.transaction.previousOriginalTransactionID))
        return subscriptions.filter {
            $0.status.isKnown && $0.contradiction == nil
                && !migrated.contains($0.originalTransactionID)
        }
    }

    /// The newest entitling subscription of the group that began after one that is in billing retry
    /// or in its grace period, both purchased; `nil` where there is none.
    func newerEntitling(than old: StatedSubscription) -> StatedSubscription? {
        guard old.isPurchased, old.status == .billingRetry || old.status == .billingGracePeriod
        else { return nil }
        return comparable.filter {
            $0.isPurchased && $0.group == old.group && $0.status.isEntitling
                && old.began(before: $0)
        }.max { $0.began(before: $1) }
    }

    /// Whether we hold the subscription, under whatever app and environment.
    func isHeld(_ stated: StatedSubscription) -> Bool {
        held[stated.originalTransactionID] != nil
    }

    /// The row that a finding about the subscription concerns; a blank one where we hold none.
    func row(of stated: StatedSubscription) -> LocalSubscription {
        if let row = held[stated.originalTransactionID] { return row }
        var row = LocalSubscription(
            key: SubscriptionKey(
                app: context.item.app, originalTransactionID: stated.originalTransactionID))
        row.customerID = customerID
        return row
    }

    /// Whether it is known whose subscriptions these are: we asked for a row, or hold rows that
    /// agree on one customer (or all on none).
    ///
    /// A row that nobody's customer owns would only be in the way of the company's own insert.
    var knowsCustomer: Bool {
        if context.item.asked != nil { return true }
        return Set(subscriptions.compactMap { held[$0.originalTransactionID]?.customerID }).count
            <= 1 && !held.isEmpty
    }

    /// Whose subscriptions these are: the asked row's customer; without an asked row the customer
    /// of the held rows, if they agree on one.
    var customerID: String? {
        if let asked = context.item.asked { return asked.row.customerID }
        let customers = Set(
            subscriptions.compactMap { held[$0.originalTransactionID]?.customerID })
        return customers.count == 1 ? customers.first : nil
    }
}

extension StatedSubscription {
    /// Whether the subscription began before another one; the shorter, then the smaller id decides
    /// between equal beginnings.
    func began(before other: StatedSubscription) -> Bool {
        if let mine = transaction.originalPurchaseDate,
            let theirs = other.transaction.originalPurchaseDate, mine != theirs
        {
            return mine < theirs
        }
        let (mine, theirs) = (originalTransactionID, other.originalTransactionID)
        return (mine.utf8.count, mine) < (theirs.utf8.count, theirs)
    }
}
