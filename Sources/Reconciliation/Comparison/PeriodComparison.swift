package import Subscriptions

/// The stored periods of one row, and the periods that Apple states.
///
/// A class, so that the drafts of the many rows without periods are small.
final class PeriodComparison: Sendable {
    let scoped: ScopedRow
    let now: Timestamp
    /// The transaction that the status answer calls the last one.
    let current: SignedTransaction
    /// The periods of this subscription in Apple's history, oldest first.
    let stated: [StatedPeriod]
    /// The periods of the history, and the current one of the status answer, which is known without
    /// the history.
    let priced: [StatedPeriod]
    /// Every known transaction of the subscription, by its id.
    private let signed: [String: SignedTransaction]
    /// Every transaction of a complete history; `nil` when the history is not complete, so that
    /// absence proves nothing.
    private let complete: [SignedTransaction]?

    init(
        scoped: ScopedRow, current: SignedTransaction, history: HistoryReading?, now: Timestamp
    ) {
        self.scoped = scoped
        self.now = now
        self.current = current
        let id = scoped.row.key.originalTransactionID
        let own = (history?.transactions ?? []).filter { $0.originalTransactionID == id }
        stated = StatedPeriod.periods(of: own)
        priced = StatedPeriod.periods(of: own + [current])
        signed = (own + [current]).latestByID
        if case .complete(let all) = history, !own.isEmpty {
            complete = all
        } else {
            complete = nil
        }
    }

    /// Whether the company stores periods of this subscription.
    ///
    /// Also when it has none now but had some at the last reading: then they were lost.
    var areKept: Bool { !scoped.periods.isEmpty || scoped.keptPeriods }

    /// Whether the complete history of this subscription is known.
    var isComplete: Bool { complete != nil }

    /// Periods in Apple's history that we do not hold.
    var missing: [StatedPeriod] {
        stated.filter { period in !scoped.periods.contains(where: period.includes) }
    }

    /// Apple's transaction with the id of a stored period; `nil` where it is not known.
    func ownTransaction(of period: LocalTransaction) -> SignedTransaction? {
        signed[period.key.transactionID]
    }

    /// The fills of stored periods: their empty columns that Apple's transaction with the same id
    /// states, as far as they may be written; sorted by key.
    func fills(policy: Policy) -> [PeriodFill] {
        scoped.periods.compactMap { period in
            ownTransaction(of: period).flatMap {
                PeriodFill(of: period, from: $0, policy: policy)
            }
        }.sorted { $0.period.key < $1.period.key }
    }

    /// Whether a stored period has empty columns that only the history can fill, and the history
    /// has not been read since the periods changed.
    ///
    /// A column that a reading left empty is not stated by Apple and must not cost a call each run.
    func lackStatements(policy: Policy) -> Bool {
        guard scoped.historyRevision == nil else { return false }
        return scoped.periods.contains { period in
            period.key.transactionID != current.transactionID
                && TransactionField.statedOfEveryPeriod.contains {
                    period.value(of: $0) == .null && policy.writesInPeriods($0)
                }
        }
    }

    /// The transaction id by which all findings name a period: for the current period the current
    /// transaction's, even where another device or a restore created it.
    func transactionID(of period: StatedPeriod) -> String {
        period.contains(current) ? current.transactionID : period.transaction.transactionID
    }

    /// Our periods that match no transaction of Apple's complete history, whatever its original id,
    /// because Apple is known to move transactions to another original id.
    var unknownToApple: [LocalTransaction] {
        guard let complete else { return [] }
        let ids = Set(complete.map(\.transactionID))
        let items = Set(complete.compactMap(\.webOrderLineItemID))
        return scoped.periods.filter { period in
            !ids.contains(period.key.transactionID)
                && !(period.webOrderLineItemID.map(items.contains) ?? false)
        }.sorted { $0.key < $1.key }
    }
}

extension HistoryReading {
    /// The transactions that were read; none when the reading is incomplete.
    package var transactions: [SignedTransaction] {
        switch self {
        case .complete(let transactions), .since(_, let transactions): transactions
        case .incomplete: []
        }
    }
}

/// Fills in empty columns of a stored period from Apple's signed transaction with the same id.
///
/// Other transactions of the same line item (restores, further devices) have other dates, so
/// nothing is taken from them. Columns with a value are never changed.
struct PeriodFill: Hashable, Sendable {
    let period: LocalTransaction
    let transaction: SignedTransaction
    /// The columns to fill in, in the table's order; never empty.
    let fields: [TransactionField]

    /// `nil` when there is nothing to fill in, the transaction has another id, or the row was
    /// signed later.
    init?(of period: LocalTransaction, from transaction: SignedTransaction, policy: Policy) {
        guard period.key.transactionID == transaction.transactionID,
            period.originalTransactionID == transaction.originalTransactionID,
            !(period.signedDate?.isLater(thanApple: transaction.signedDate) ?? false)
        else { return nil }
        let stated = transaction.asLocal(key: period.key)
        let fields = TransactionField.fillable.filter { field in
            period.value(of: field) == .null && stated.value(of: field) != .null
                && policy.writesInPeriods(field)
                && Self.partner(of: field).map { period.agrees(with: stated, in: $0) } ?? true
        }
        guard !fields.isEmpty else { return nil }
        self.period = period
        self.transaction = transaction
        // A row that differs elsewhere was not written from this statement, so its date stays
        // empty.
        let agrees = TransactionField.fillable.allSatisfy {
            period.agrees(with: stated, in: $0)
        }
        self.fields = fields + (period.signedDate == nil && agrees ? [.signedDate] : [])
    }

    /// The column that a value depends on: a price in another currency is another price.
    private static func partner(of field: TransactionField) -> TransactionField? {
        switch field {
        case .price: .currency
        case .currency: .price
        case .revocationReason: .revocationDate
        default: nil
        }
    }

    /// The correction that fills the columns in.
    func correction(of subscription: SubscriptionKey) -> PlannedCorrection {
        let stated = transaction.asLocal(key: period.key)
        var changes: [TransactionField: FieldChange] = [:]
        for field in fields {
            changes[field] = FieldChange(
                before: period.storedValue(of: field), after: stated.value(of: field))
        }
        let named = fields.filter { $0 != .signedDate }.map(\.rawValue)
        return PlannedCorrection(
            target: .updatePeriod(period.key, of: subscription), changes: .period(changes),
            kinds: [], evidence: transaction.evidence.digest, evidenceRenewal: nil,
            appleSignedDate: transaction.signedDate,
            reason: "Fills in what was not known yet of a period: "
                + named.joined(separator: ", ") + ".",
            rules: [.columnFill])
    }
}

extension LocalTransaction {
    /// Whether a column is empty or equal to the transaction's value.
    fileprivate func agrees(with stated: LocalTransaction, in field: TransactionField) -> Bool {
        switch (value(of: field), stated.value(of: field)) {
        case (.null, _): true
        case (.time(let ours), .time(let theirs)): ours.agrees(withApple: theirs)
        case (let ours, let theirs): ours == theirs
        }
    }
}

extension Policy {
    /// Whether a column of a stored period may be filled in.
    ///
    /// Price and currency always are, as in the insert of a period; only differences in them are
    /// report-only.
    func writesInPeriods(_ field: TransactionField) -> Bool {
        [.price, .currency].contains(field) || !reportOnlyFields.contains(field.rawValue)
    }
}

/// One paid period as Apple states it: all transactions of one web order line item, and the
/// purchases of seats that were added to it.
struct StatedPeriod: Hashable, Sendable {
    /// The transaction that represents the period: its first purchase.
    let transaction: SignedTransaction
    /// The purchases of the period, oldest first: several where seats were added.
    let purchases: [SignedTransaction]
    private let transactionIDs: Set<String>
    private let lineItems: Set<String>

    private init(members: [SignedTransaction], first: SignedTransaction) {
        transaction = first
        let added = members.filter(\.sharesPeriod).sorted { $0.comesBefore($1) }
        purchases = added.isEmpty ? [first] : added
        transactionIDs = Set(members.map(\.transactionID))
        lineItems = Set(members.compactMap(\.webOrderLineItemID))
    }

    /// Whether a stored period is this one: by line item first, then by transaction id.
    func includes(_ local: LocalTransaction) -> Bool {
        local.webOrderLineItemID.map(lineItems.contains) ?? false
            || transactionIDs.contains(local.key.transactionID)
    }

    /// Whether a transaction of Apple's belongs to it.
    func contains(_ other: SignedTransaction) -> Bool {
        other.originalTransactionID == transaction.originalTransactionID
            && (other.webOrderLineItemID.map(lineItems.contains) ?? false
                || transactionIDs.contains(other.transactionID))
    }

    /// Whether it gives access at a time: by any of its purchases.
    func entitles(at time: Timestamp) -> Bool {
        purchases.contains { purchase in
            !purchase.isWhollyRevoked && !purchase.isUpgraded
                && (purchase.expiresDate.map { $0 > time } ?? false)
        }
    }

    /// The price of all purchases together, as far as they state it in one currency.
    var price: Int64? {
        purchases.reduce(0) { (sum: Int64?, purchase) in
            guard let sum, let price = purchase.price, purchase.currency == transaction.currency
            else { return nil }
            let (next, overflow) = sum.addingReportingOverflow(price)
            return overflow ? nil : next
        }
    }

    /// Groups transactions into periods, oldest purchase first.
    ///
    /// A transaction that changes while its history is read appears twice: the later signed one
    /// counts.
    static func periods(of transactions: [SignedTransaction]) -> [StatedPeriod] {
        let each = transactions.latestByID.values
        // The ends of periods to which seats were added, by line item.
        var ends: [String: Timestamp] = [:]
        for transaction in each where transaction.sharesPeriod {
            guard let item = transaction.webOrderLineItemID, let end = transaction.expiresDate
            else { continue }
            ends[item] = end
        }
        return Dictionary(grouping: each) { name(of: $0, endsByItem: ends) }
            .values.compactMap { members in
                members.min { $0.comesBefore($1) }.map {
                    StatedPeriod(members: members, first: $0)
                }
            }
            .sorted { $0.transaction.comesBefore($1.transaction) }
    }

    /// Names the period of a transaction: by its line item, or where seats were added by the end
    /// that all its purchases have.
    private static func name(
        of transaction: SignedTransaction, endsByItem ends: [String: Timestamp]
    ) -> String {
        let item = transaction.webOrderLineItemID
        let end = transaction.sharesPeriod ? transaction.expiresDate : item.flatMap { ends[$0] }
        if let end { return "e\(end.unixMilliseconds)" }
        return item ?? "t\(transaction.transactionID)"
    }
}

extension [SignedTransaction] {
    /// Each transaction once, by its id: the later signed one counts.
    var latestByID: [String: SignedTransaction] {
        Dictionary(
            map { ($0.transactionID, $0) },
            uniquingKeysWith: { $0.isSignedAfter($1) ? $0 : $1 })
    }
}

extension SignedTransaction {
    fileprivate func isSignedAfter(_ other: SignedTransaction) -> Bool {
        (signedDate, evidence.jws) > (other.signedDate, other.evidence.jws)
    }

    /// Whether a date is earlier than another one's; of equal ones, whether it was purchased before.
    fileprivate func comesBefore(
        _ other: SignedTransaction, by date: KeyPath<SignedTransaction, Timestamp?>
    ) -> Bool {
        if let mine = self[keyPath: date], let theirs = other[keyPath: date], mine != theirs {
            return mine < theirs
        }
        return comesBefore(other)
    }

    /// Whether it was purchased before another one.
    func comesBefore(_ other: SignedTransaction) -> Bool {
        if let mine = purchaseDate, let theirs = other.purchaseDate, mine != theirs {
            return mine < theirs
        }
        return (transactionID.utf8.count, transactionID)
            < (other.transactionID.utf8.count, other.transactionID)
    }
}

extension StatedPeriod {
    /// The inserts of this period for a subscription: one for each of its purchases.
    ///
    /// Price and currency are written as well; only differences in them are report-only.
    func inserts(into subscription: SubscriptionKey, kinds: [FindingKind]) -> [PlannedCorrection] {
        purchases.map { Self.insert(of: $0, into: subscription, kinds: kinds) }
    }

    private static func insert(
        of transaction: SignedTransaction, into subscription: SubscriptionKey, kinds: [FindingKind]
    ) -> PlannedCorrection {
        let key = TransactionKey(
            bundleID: subscription.bundleID, environment: subscription.environment,
            transactionID: transaction.transactionID)
        let local = transaction.asLocal(key: key)
        var changes: [TransactionField: FieldChange] = [:]
        for field in TransactionField.allCases where local.value(of: field) != .null {
            changes[field] = FieldChange(before: .null, after: local.value(of: field))
        }
        return PlannedCorrection(
            target: .insertPeriod(key, of: subscription), changes: .period(changes), kinds: kinds,
            evidence: transaction.evidence.digest, evidenceRenewal: nil,
            appleSignedDate: transaction.signedDate,
            reason: kinds.isEmpty
                ? "First fill of the subscription's periods."
                : "Adds a period from Apple's history: transaction_missing.",
            rules: kinds.isEmpty
                ? [.firstFill]
                : kinds.map { AppliedRule(kind: $0, rule: AllRules.transactionMissing.identity) })
    }
}

/// The transactions that together represent one period of a subscription for a group.
///
/// A purchaser who adds seats within a period gets a further transaction for the same period.
/// Neither replaces the other, an answer may show any of them, and each is refunded on its own.
/// Apple marks all of them with `SEAT_ADDITION`. Whether they have one line item is not documented,
/// so the same end counts as well. Source: App Store Server API 1.23, `additionalTransactionReason`
/// and `revokedSeatQuantity`.
struct SharedPeriod: Sendable {
    /// The known transactions, each once, the first purchase first.
    let transactions: [SignedTransaction]
    /// Whether these are all of them, by Apple's complete history.
    let isWhole: Bool
    /// The transaction that represents the period.
    ///
    /// One that is not revoked, if any is known: the first that the answer itself shows. Otherwise
    /// one of which only a part was refunded, because that need not end the access. Where all are
    /// wholly revoked, the last of them, with which access ended.
    let representative: SignedTransaction

    /// `nil` where the newest period that the answer shows is represented by one transaction.
    ///
    /// - Parameters:
    ///   - shown: The transactions of the answer's entries about one subscription.
    ///   - history: The customer's history, where it was read.
    init?(shown: [SignedTransaction], history: HistoryReading?) {
        guard let id = shown.first?.originalTransactionID,
            shown.contains(where: \.sharesPeriod)
        else { return nil }
        let read = (history?.transactions ?? []).filter { $0.originalTransactionID == id }
        let known = Array((shown + read).latestByID.values)
        let shownIDs = Set(shown.map(\.transactionID))
        guard
            let newest = known.filter({ shownIDs.contains($0.transactionID) })
                .max(by: { $0.comesBefore($1, by: \.expiresDate) }),
            newest.sharesPeriod
        else { return nil }
        let members = known.filter { $0.isAddedSeats(of: newest) }
            .sorted { $0.comesBefore($1) }
        transactions = members
        let isComplete = if case .complete = history { !read.isEmpty } else { false }
        // Apple's mark says that there are at least two.
        isWhole = isComplete && members.count > 1
        let valid = members.filter { $0.revocationDate == nil }
        let shownAndValid = valid.first { shownIDs.contains($0.transactionID) }
        let partlyRevoked = members.filter { !$0.isWhollyRevoked }
        let lastRevoked = (partlyRevoked.isEmpty ? members : partlyRevoked)
            .max { $0.comesBefore($1, by: \.revocationDate) }
        representative = shownAndValid ?? valid.first ?? lastRevoked ?? newest
    }

    /// Whether every transaction of the period is revoked; `nil` where that depends on transactions
    /// that are not shown.
    ///
    /// Only that ends access. A revoked quantity of seats never does, nor does one revoked
    /// transaction of several.
    var isRevoked: Bool? {
        if transactions.contains(where: { $0.revocationDate == nil }) { return false }
        return isWhole ? true : nil
    }

    /// Whether a stored transaction id is one of this period's; `nil` where it may be one that is
    /// not shown.
    func contains(transactionID: String) -> Bool? {
        if transactions.contains(where: { $0.transactionID == transactionID }) { return true }
        return isWhole ? false : nil
    }

    /// Returns whether a line item is among them; `nil` where that is not known.
    func contains(lineItem: String) -> Bool? {
        if transactions.contains(where: { $0.webOrderLineItemID == lineItem }) { return true }
        return isWhole ? false : nil
    }
}

extension SignedTransaction {
    /// Whether both represent one period of one subscription.
    fileprivate func isAddedSeats(of other: SignedTransaction) -> Bool {
        guard sharesPeriod, other.sharesPeriod,
            originalTransactionID == other.originalTransactionID
        else { return false }
        if let mine = webOrderLineItemID, mine == other.webOrderLineItemID { return true }
        return expiresDate != nil && expiresDate == other.expiresDate
    }
}
