import Subscriptions

/// A customer's answer together with all our rows of its subscriptions.
struct CustomerReading: Sendable {
    let context: CaseContext
    /// The verified statements of the answer, sorted by original transaction id.
    let subscriptions: [StatedSubscription]
    private let held: [String: LocalSubscription]

    init(_ context: CaseContext, answer: CustomerAnswer) {
        self.context = context
        subscriptions = answer.subscriptions.filter { answer.contains($0.originalTransactionID) }
        held = Dictionary(
            context.rows.map { ($0.row.key.originalTransactionID, $0.row) },
            uniquingKeysWith: { context.belongsToApp($1) ? $1 : $0 })
    }

    /// The statements that can be compared with each other: with a known status that the signed
    /// parts do not contradict, and not migrated to another id.
    var comparable: [StatedSubscription] {
        let migrated = Set(subscriptions.compactMap(\.transaction.previousOriginalTransactionID))
        return subscriptions.filter {
            $0.status.isKnown && $0.contradiction == nil
                && !migrated.contains($0.originalTransactionID)
        }
    }

    /// For a purchased subscription in billing retry or in its grace period: the newest purchased
    /// and entitling one of the group that began later; `nil` where there is none.
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

    /// The row that a finding about the subscription concerns; an empty one where we hold none.
    func row(of stated: StatedSubscription) -> LocalSubscription {
        if let row = held[stated.originalTransactionID] { return row }
        var row = LocalSubscription(
            key: SubscriptionKey(
                app: context.item.app, originalTransactionID: stated.originalTransactionID))
        row.customerID = customerID
        return row
    }

    /// The row that we hold of the subscription, under whatever app and environment.
    func heldRow(of stated: StatedSubscription) -> LocalSubscription? {
        held[stated.originalTransactionID]
    }

    /// Whether we hold a row of the account, so that the customer is known.
    ///
    /// A row without a customer would only be in the way of the company's own insert.
    var knowsCustomer: Bool { !held.isEmpty }

    /// The customers that our rows of the account name.
    var customers: Set<String> { Set(held.values.compactMap(\.customerID)) }

    /// The asked row's customer, or else the one that all our rows of the account name.
    var customerID: String? {
        if let customer = context.item.asked?.row.customerID { return customer }
        return customers.count == 1 ? customers.first : nil
    }

    /// The account tokens of our rows, and those that Apple signed for them, in lower case.
    var accountTokens: Set<String> {
        let signed = subscriptions.filter(isHeld).compactMap(\.transaction.appAccountToken)
        return Set((held.values.compactMap(\.appAccountToken) + signed).map { $0.lowercased() })
    }

    /// Whether one of our rows has another account token than Apple's statement about it.
    var holdsForeignRow: Bool {
        subscriptions.contains { stated in
            heldRow(of: stated).map { row in
                !IdentityRule().differences(
                    in: Comparison(scoped: ScopedRow(row: row), stated: stated)
                ).isEmpty
            } ?? false
        }
    }
}

extension StatedSubscription {
    /// Whether the subscription began before another one.
    ///
    /// Between equal dates the shorter id comes first, then the smaller one.
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

extension StatedSubscription {
    /// The signed group; where the payload names none, the unsigned one around it.
    var group: String { transaction.subscriptionGroupID ?? subscriptionGroupID }

    /// Whether the customer pays for it, as opposed to a member of the family.
    var isPurchased: Bool { transaction.inAppOwnershipType == "PURCHASED" }
}
