import Subscriptions

/// One paid period as Apple states it: all transactions of one web order line item.
struct StatedPeriod: Hashable, Sendable {
    /// The transaction that represents the period: its first purchase.
    let transaction: SignedTransaction
    private let transactionIDs: Set<String>

    /// Whether a stored period is this one: by line item first, then by transaction id.
    func includes(_ local: LocalTransaction) -> Bool {
        if let ours = local.webOrderLineItemID, let theirs = transaction.webOrderLineItemID,
            ours == theirs
        {
            return true
        }
        return transactionIDs.contains(local.key.transactionID)
    }

    /// Whether a transaction of Apple's belongs to it.
    func contains(_ other: SignedTransaction) -> Bool {
        other.originalTransactionID == transaction.originalTransactionID
            && (other.webOrderLineItemID.map { $0 == transaction.webOrderLineItemID } ?? false
                || transactionIDs.contains(other.transactionID))
    }

    /// Whether it gives access at a time.
    func entitles(at time: Timestamp) -> Bool {
        !transaction.isWhollyRevoked && !transaction.isUpgraded
            && (transaction.expiresDate.map { $0 > time } ?? false)
    }

    /// Groups transactions into periods, oldest purchase first.
    ///
    /// A transaction that changes while its history is read appears twice: the later signed one
    /// counts.
    static func periods(of transactions: [SignedTransaction]) -> [StatedPeriod] {
        Dictionary(grouping: transactions.latestByID.values) {
            $0.webOrderLineItemID ?? "t\($0.transactionID)"
        }
        .values.compactMap { members in
            members.min { $0.comesBefore($1) }.map {
                StatedPeriod(
                    transaction: $0, transactionIDs: Set(members.map(\.transactionID)))
            }
        }
        .sorted { $0.transaction.comesBefore($1.transaction) }
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

    fileprivate func comesBefore(_ other: SignedTransaction) -> Bool {
        if let mine = purchaseDate, let theirs = other.purchaseDate, mine != theirs {
            return mine < theirs
        }
        return (transactionID.utf8.count, transactionID)
            < (other.transactionID.utf8.count, other.transactionID)
    }
}

extension StatedPeriod {
    /// The insert of this period for a subscription.
    ///
    /// Price and currency are written, too; only differences in them are report-only.
    func insert(into subscription: SubscriptionKey, kinds: [FindingKind]) -> PlannedCorrection {
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
                : "Takes in a period of Apple's history: transaction_missing.",
            rules: kinds.isEmpty
                ? [FirstFill.applied]
                : kinds.map { AppliedRule(kind: $0, rule: TransactionMissingRule.identity) })
    }
}
