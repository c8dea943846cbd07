package import Subscriptions

/// The customer by whose stored row a history was read.
package struct PurchaseOwner: Hashable, Sendable {
    let customerID: String?
    let appAccountToken: String?

    init(_ row: LocalSubscription) {
        (customerID, appAccountToken) = (row.customerID, row.appAccountToken)
    }

    /// `nil` where no customer is stored with the purchase, or Apple signed another account token for it than
    /// the stored one.
    package init?(_ purchase: LocalTransaction, signed: SignedTransaction?) {
        guard let customer = purchase.customerID, !customer.isEmpty else { return nil }
        if let stored = purchase.appAccountToken?.lowercased(),
            let token = signed?.appAccountToken?.lowercased(), stored != token
        {
            return nil
        }
        (customerID, appAccountToken) = (customer, purchase.appAccountToken)
    }
}

/// A one-time purchase as Apple signed it, in a customer's history or a notification, and the stored row
/// of it.
///
/// A class, so that the drafts of the many rows without purchases are small.
final class PurchaseComparison: Sendable {
    let signed: SignedTransaction
    /// `nil` where no row is stored.
    let stored: LocalTransaction?
    /// The customer whose history was read; `nil` where the statement does not come from a history, so that
    /// only the stored row says whose the purchase is.
    let owner: PurchaseOwner?
    let key: TransactionKey
    /// When Apple notified the company of this; `nil` where it is not known.
    private let notified: Timestamp?
    private let settled: Timestamp
    private let kept: KeptColumns

    init(
        signed: SignedTransaction, stored: LocalTransaction?, owner: PurchaseOwner?,
        app: AppIdentity, notified: Timestamp? = nil, policy: Policy
    ) {
        self.signed = signed
        self.stored = stored
        self.owner = owner
        self.notified = notified
        key = TransactionKey(
            bundleID: app.bundleID, environment: app.environment.rawValue,
            transactionID: signed.transactionID)
        settled = policy.now.adding(milliseconds: -policy.settleMilliseconds)
        kept = policy.kept
    }

    /// By which outcomes, findings and ledger entries name the purchase.
    var purchase: SubscriptionKey {
        SubscriptionKey(
            bundleID: key.bundleID, environment: key.environment,
            originalTransactionID: signed.originalTransactionID)
    }

    /// Whether the stored row can be compared with Apple's statement.
    ///
    /// Not where it rests on a later one, where a value of it cannot be read, or where Apple's notification
    /// of the purchase or its refund may still be on its way to the company.
    var isComparable: Bool {
        if let stored {
            guard stored.unreadable.isEmpty,
                stored.signedDate?.isLater(thanApple: signed.signedDate) != true
            else { return false }
        }
        return [signed.purchaseDate, signed.revocationDate, stored?.signedDate, notified]
            .compactMap(\.self).allSatisfy { $0 <= settled }
    }

    /// The columns of a refund that differ.
    ///
    /// Where both sides state a refund, an empty column says that it is not known: no difference.
    var refundDifferences: [TransactionField] {
        guard let stored else { return [] }
        let isRefundedOnBoth = stored.revocationDate != nil && signed.revocationDate != nil
        return TransactionField.ofRefund.filter { field in
            guard !kept.leftOutOfPurchases.contains(field) else { return false }
            let (ours, theirs) = (stored.value(of: field), signed.value(of: field))
            if case .time(let our) = ours, case .time(let their) = theirs {
                return !our.agrees(withApple: their)
                    && kept.precision.cut(theirs, in: .purchase(field)) != ours
            }
            if isRefundedOnBoth, ours == .null || theirs == .null { return false }
            return ours != theirs
        }
    }

    /// The reason why nothing is written of the purchase; `nil` where nothing forbids it.
    ///
    /// A token of another customer's says that the row, or the insert, would be the wrong customer's.
    var veto: String? {
        if stored == nil {
            guard owner != nil else { return "no stored row says whose purchase it is" }
            guard kept.takesPurchases else {
                return "store.purchases.insert does not allow rows to be inserted"
            }
        }
        guard let token = signed.appAccountToken?.lowercased() else { return nil }
        let ours = stored == nil ? owner?.appAccountToken : stored?.appAccountToken
        guard let ours, ours.lowercased() != token else { return nil }
        return "the signed account token names another customer"
    }

    /// The correction that resolves the finding; `nil` where nothing may be written.
    ///
    /// Report-only columns are written only in an insert, where there is no value of the company's.
    func correction(
        of kind: FindingKind, by rule: RuleVersion?, policy: Policy
    ) -> PlannedCorrection? {
        guard policy.writesPurchases else { return nil }
        let rules = rule.map { [AppliedRule(kind: kind, rule: $0)] } ?? []
        switch kind {
        case .purchaseMissing where stored == nil:
            var local = signed.asLocal(key: key, in: .purchases)
            local.customerID = owner?.customerID
            var changes: [TransactionField: FieldChange] = [:]
            for field in TransactionField.ofPurchases where local.value(of: field) != .null {
                changes[field] = FieldChange(before: .null, after: local.value(of: field))
            }
            return planned(
                .insertPeriod(key, of: purchase), changes, kind, rules,
                "Adds a one-time purchase that Apple signed: purchase_missing.")
        case .purchaseRefundMissed:
            guard let stored else { return nil }
            var changes: [TransactionField: FieldChange] = [:]
            for field in refundDifferences
            where policy.writesInPeriods(field) && !kept.purchasesReadOnly.contains(field) {
                changes[field] = FieldChange(
                    before: stored.storedValue(of: field), after: signed.value(of: field))
            }
            guard !changes.isEmpty else { return nil }
            if stored.signedDate != signed.signedDate {
                changes[.signedDate] = FieldChange(
                    before: stored.storedValue(of: .signedDate), after: .time(signed.signedDate))
            }
            return planned(
                .updatePeriod(key, of: purchase), changes, kind, rules,
                "Stores what Apple signed about a refund: purchase_refund_missed.")
        default: return nil
        }
    }

    private func planned(
        _ target: PlannedCorrection.Target, _ changes: [TransactionField: FieldChange],
        _ kind: FindingKind, _ rules: [AppliedRule], _ reason: String
    ) -> PlannedCorrection {
        PlannedCorrection(
            target: target, changes: .purchase(changes), kinds: [kind],
            evidence: signed.evidence.digest, evidenceRenewal: nil,
            appleSignedDate: signed.signedDate, reason: reason, rules: rules)
    }

    /// A finding about the purchase.
    func finding(_ kind: FindingKind, _ severity: Severity, cause: String) -> Finding {
        var finding = Finding(
            kind: kind, severity: severity, bundleID: key.bundleID, environment: key.environment)
        finding.key = purchase
        finding.transactionID = signed.transactionID
        finding.customerID = stored == nil ? owner?.customerID : stored?.customerID
        finding.productID = signed.productID
        finding.localAsOf = stored?.signedDate
        finding.appleAsOf = signed.signedDate
        finding.cause = cause
        return finding
    }
}
