import Subscriptions

/// What a rule found: the finding, its evidence, and the columns whose correction would resolve it.
struct Difference: Hashable, Sendable {
    var finding: Finding
    /// The signed payload whose digest the finding names.
    var payload: SignedPayload?
    /// The column that a correction would set; `nil` when the finding is never corrected.
    var column: SubscriptionField?
    /// Columns that are only set together with `column`.
    var companions: Set<SubscriptionField>
    /// The rule that found it, where a correction may follow from it.
    var rule: RuleVersion?

    init(
        _ finding: Finding, payload: SignedPayload?, column: SubscriptionField? = nil,
        companions: Set<SubscriptionField> = []
    ) {
        self.finding = finding
        self.finding.evidence = payload?.digest
        self.payload = payload
        self.column = column
        self.companions = companions
    }

    var kind: FindingKind { finding.kind }

    /// The rule and the kind that it found; `nil` where no correction follows.
    var appliedRule: AppliedRule? { rule.map { AppliedRule(kind: kind, rule: $0) } }

    /// Every column that a correction of this finding touches.
    var columns: Set<SubscriptionField> { companions.union(column.map { [$0] } ?? []) }

    /// Whether it makes a match a discrepancy: all do but unknown values and findings about no
    /// subscription.
    var contradictsMatch: Bool { kind != .unknownValue && finding.key != nil }
}

extension Comparison {
    /// A finding about a column, with both values, both times and the payload of Apple's value.
    func difference(
        _ kind: FindingKind, _ severity: Severity, in field: SubscriptionField,
        direction: Direction = .neutral, cause: String, companions: Set<SubscriptionField> = []
    ) -> Difference {
        var finding = finding(kind, severity, cause: cause)
        finding.field = field.rawValue
        finding.localValue = row.value(of: field)
        finding.appleValue = stated.value(of: field)
        finding.direction = direction
        return Difference(
            finding, payload: stated.payload(of: field), column: field, companions: companions)
    }

    /// A finding about the whole row, based on Apple's statement.
    func finding(_ kind: FindingKind, _ severity: Severity, cause: String) -> Finding {
        var finding = Finding(kind: kind, severity: severity, row: row)
        finding.transactionID = stated.transaction.transactionID
        finding.productID = row.productID ?? stated.transaction.productID
        finding.appleAsOf = stated.signedDate
        finding.cause = cause
        finding.changedAt = changeDate(of: kind)
        return finding
    }
}

extension Comparison {
    /// A finding about the status; the two dates that depend on the status are set with it.
    func statusDifference(
        _ kind: FindingKind, _ severity: Severity, direction: Direction, cause: String
    ) -> Difference {
        difference(
            kind, severity, in: .status, direction: direction, cause: cause,
            companions: [.revocationDate, .gracePeriodExpiresDate]
        ).stating(priceOf: stated.transaction)
    }
}

extension Difference {
    /// The same with the price of the signed transaction, as the amount that is at stake.
    func stating(priceOf transaction: SignedTransaction) -> Difference {
        var copy = self
        copy.finding.amount = transaction.price
        copy.finding.currency = transaction.price == nil ? nil : transaction.currency
        return copy
    }
}

extension Comparison {
    /// When the change that our row lacks, by a finding of this kind, happened at Apple.
    ///
    /// Taken from signed dates. `nil` where none is certain: renewal info does not date its
    /// changes, and a charge that succeeds within the grace period keeps the old billing dates.
    func changeDate(of kind: FindingKind) -> Timestamp? {
        let transaction = stated.transaction
        switch kind {
        case .missingLocally: return transaction.originalPurchaseDate ?? transaction.purchaseDate
        case .revocationMissed: return transaction.revocationDate
        case .graceMissed where ourStatus == .active: return transaction.expiresDate
        case .accessUnpaid where ourStatus == .active: return transaction.expiresDate
        case .status where stated.status == .revoked: return transaction.revocationDate
        case .accessMissing, .expiry, .product, .latestTransaction: return periodBegan
        default: return nil
        }
    }

    /// When the stated period began, where our row does not know that period.
    private var periodBegan: Timestamp? {
        guard let began = stated.transaction.purchaseDate, !isSamePeriod else { return nil }
        if let ours = row.signedDate, began > ours { return began }
        let mayBeRecovery = ourStatus == .billingGracePeriod || ourStatus == .billingRetry
        return mayBeRecovery ? nil : began
    }
}
