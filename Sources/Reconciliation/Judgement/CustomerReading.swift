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

    /// The row that we hold of the subscription, under whatever app and environment.
    func heldRow(of stated: StatedSubscription) -> LocalSubscription? {
        held[stated.originalTransactionID]
    }

    /// Whether it is known whose subscriptions these are: we hold a row of the account.
    ///
    /// A row that nobody's customer owns would only be in the way of the company's own insert.
    var knowsCustomer: Bool { !held.isEmpty }

    /// Every customer that a held row of the account names.
    var customers: Set<String> { Set(held.values.compactMap(\.customerID)) }

    /// Whose subscriptions these are: the asked row's customer, or the one that the held rows name.
    var customerID: String? {
        if let customer = context.item.asked?.row.customerID { return customer }
        return customers.count == 1 ? customers.first : nil
    }

    /// The account tokens of the held rows and those that Apple signed for them, in lower case.
    var accountTokens: Set<String> {
        let signed = subscriptions.filter(isHeld).compactMap(\.transaction.appAccountToken)
        return Set((held.values.compactMap(\.appAccountToken) + signed).map { $0.lowercased() })
    }

    /// Whether one of the held rows, looked at in this run or not, has another account's token than
    /// Apple's statement about it.
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
