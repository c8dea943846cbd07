import Subscriptions

/// A status answer indexed by id, independent of its order.
struct CustomerAnswer: Sendable {
    /// One statement for each original transaction id, sorted by that id.
    let subscriptions: [StatedSubscription]
    let rejected: [String: RejectedStatement]
    /// Rejected entries that name no usable id.
    let unattributed: [RejectedStatement]
    let unknowns: [UnknownValue]
    /// The periods that several transactions represent, by original transaction id.
    private let periods: [String: SharedPeriod]

    /// - Parameters:
    ///   - answer: Apple's answer about the customer.
    ///   - history: The customer's history, where it was read: an answer need not show every
    ///     transaction of a period that several represent.
    init(_ answer: StatusAnswer, history: HistoryReading? = nil) {
        let periods = Self.sharedPeriods(in: answer.subscriptions, history: history)
        self.periods = periods
        subscriptions = Self.oneForEachID(
            periods.isEmpty
                ? answer.subscriptions : Self.statements(answer.subscriptions, of: periods))
        rejected = Dictionary(
            answer.rejected.compactMap { entry in
                entry.originalTransactionID.map { ($0, entry) }
            },
            uniquingKeysWith: { $0.sortKey < $1.sortKey ? $0 : $1 })
        unattributed = answer.rejected.filter { $0.originalTransactionID == nil }
            .sorted { $0.sortKey < $1.sortKey }
        unknowns = answer.unknowns
    }

    private static func sharedPeriods(
        in stated: [StatedSubscription], history: HistoryReading?
    ) -> [String: SharedPeriod] {
        guard stated.contains(where: \.transaction.sharesPeriod) else { return [:] }
        return Dictionary(grouping: stated, by: \.originalTransactionID).compactMapValues {
            SharedPeriod(shown: $0.map(\.transaction), history: history)
        }
    }

    /// The period of an id's newest transaction, where several transactions represent it.
    func period(of id: String) -> SharedPeriod? { periods[id] }

    /// One statement for each shared period, with the transaction that represents it, next to those
    /// of other subscriptions.
    ///
    /// The status comes from the entry that shows this transaction, if one does.
    private static func statements(
        _ stated: [StatedSubscription], of periods: [String: SharedPeriod]
    ) -> [StatedSubscription] {
        let others = stated.filter { periods[$0.originalTransactionID] == nil }
        return others
            + periods.compactMap { id, period in
                let about = stated.filter { $0.originalTransactionID == id }
                let own = about.filter {
                    $0.transaction.transactionID == period.representative.transactionID
                }
                var statement = (own.isEmpty ? about : own).max { $1.isBetterThan($0) }
                statement?.transaction = period.representative
                statement?.sharedSeats =
                    period.isWhole ? SeatCount(over: period.transactions) : nil
                return statement
            }
    }

    private static func oneForEachID(_ stated: [StatedSubscription]) -> [StatedSubscription] {
        guard stated.count > 1 else { return stated }
        return Dictionary(
            stated.map { ($0.originalTransactionID, $0) },
            uniquingKeysWith: { $0.isBetterThan($1) ? $0 : $1 }
        ).values.sorted { $0.originalTransactionID < $1.originalTransactionID }
    }

    func statement(about id: String) -> StatedSubscription? {
        position(of: id).map { subscriptions[$0] }
    }

    /// Whether the answer contains a verified statement about the id.
    func contains(_ id: String) -> Bool { position(of: id) != nil && rejected[id] == nil }

    /// The position of the statement about an id, by binary search: they are sorted by it.
    private func position(of id: String) -> Int? {
        var range = subscriptions.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let found = subscriptions[middle].originalTransactionID
            if found == id { return middle }
            range =
                found < id ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return nil
    }

    var isEmpty: Bool { subscriptions.isEmpty && !hasRejections }

    /// Whether any entry of the answer was rejected.
    var hasRejections: Bool { !rejected.isEmpty || !unattributed.isEmpty }

    /// The subscription that an id was migrated to, by a signed statement.
    func successor(of id: String) -> StatedSubscription? {
        subscriptions.first {
            $0.transaction.previousOriginalTransactionID == id && $0.originalTransactionID != id
                && rejected[$0.originalTransactionID] == nil
        }
    }
}

extension StatedSubscription {
    fileprivate func isBetterThan(_ other: StatedSubscription) -> Bool {
        (signedDate, transaction.evidence.jws) > (other.signedDate, other.transaction.evidence.jws)
    }
}

extension RejectedStatement {
    /// A failed verification comes before one that could not be completed.
    fileprivate var sortKey: (Int, String) {
        (isUndetermined ? 1 : 0, failure.reason.rawValue + (payload?.jws ?? ""))
    }
}

extension Lookup {
    /// Whether the whole answer is refused.
    var isUnverified: Bool { if case .unverified = self { true } else { false } }

    /// The reason why a row stays undecided after this lookup; `nil` where it is a definite answer
    /// of Apple's.
    ///
    /// Other refusals of the question say nothing about the subscription.
    var undecidedReason: UndecidedReason? {
        switch self {
        case .rateLimited: .rateLimited
        case .unavailable, .internalFault, .refused, .restart: .unavailable
        case .undecodable: .undecodable
        case .unverified(let rejected):
            rejected.isUndetermined ? .unavailable : .verificationFailed
        case .answered, .transactionNotFound, .accountNotFound, .invalidID: nil
        }
    }
}

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

    /// The comparison of a subscription with that row.
    func comparison(of stated: StatedSubscription) -> Comparison {
        Comparison(scoped: ScopedRow(row: row(of: stated)), stated: stated)
    }

    /// A finding about a subscription that another one, named in `apple_value`, makes wrong for the
    /// customer.
    func difference(
        _ kind: FindingKind, _ severity: Severity, about stated: StatedSubscription,
        beside otherID: String, cause: String
    ) -> Difference {
        var finding = comparison(of: stated).finding(kind, severity, cause: cause)
        finding.field = SubscriptionField.originalTransactionID.rawValue
        finding.localValue = .text(stated.originalTransactionID)
        finding.appleValue = .text(otherID)
        finding.direction = .customerLoses
        return Difference(finding, payload: stated.transaction.evidence)
    }

    /// The row that we hold of the subscription, under whatever app and environment.
    func heldRow(of stated: StatedSubscription) -> LocalSubscription? {
        held[stated.originalTransactionID]
    }

    /// Other subscriptions of the row's customer, paid for under another Apple Account.
    ///
    /// A statement that ends before this one was signed counts only for what is known already:
    /// whether it was renewed shows once Apple is asked about it, which then is due.
    func neighbours(of stated: StatedSubscription) -> [PaidNeighbour] {
        let scoped = context.rows.first {
            $0.row.key.originalTransactionID == stated.originalTransactionID
                && context.belongsToApp($0.row)
        }
        guard let scoped, !scoped.neighbours.isEmpty else { return [] }
        let inAnswer = Set(subscriptions.map(\.originalTransactionID))
        return scoped.neighbours.filter { other in
            let lasts = other.clock.map { $0 > stated.signedDate } ?? false
            return other.group == stated.group && (lasts || scoped.isKnownOverlap)
                && !inAnswer.contains(other.originalTransactionID)
        }
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
            isHeld(stated) && !AllRules.identity.find(comparison(of: stated)).isEmpty
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

    /// Whether the customer pays for it and it gives access.
    var isPaid: Bool { status.isEntitling && isPurchased && !transaction.isUpgraded }
}
