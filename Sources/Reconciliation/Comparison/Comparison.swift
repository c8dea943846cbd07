import Subscriptions

/// One held row, and Apple's statement about the same original transaction id.
///
/// A class, because both are large and every rule is given them.
final class Comparison: Sendable {
    let scoped: ScopedRow
    let stated: StatedSubscription
    /// The stated period, where several transactions represent it.
    let period: SharedPeriod?
    /// The columns that the table keeps; by default all of them.
    let kept: KeptColumns
    /// The customer's history, where it was read.
    let history: HistoryReading?
    /// The time of the check; `nil` where no time is compared with it.
    let now: Timestamp?
    /// The products that the company lists; `nil` where it lists none.
    let catalogue: ProductCatalogue?

    init(
        scoped: ScopedRow, stated: StatedSubscription, period: SharedPeriod? = nil,
        kept: KeptColumns = KeptColumns(), history: HistoryReading? = nil, now: Timestamp? = nil,
        catalogue: ProductCatalogue? = nil
    ) {
        self.scoped = scoped
        self.stated = stated
        self.period = period
        self.kept = kept
        self.history = history
        self.now = now
        self.catalogue = catalogue
    }

    var row: LocalSubscription { scoped.row }

    /// Our status; `nil` when the row is not known yet.
    var ourStatus: SubscriptionStatus? { row.status.map(SubscriptionStatus.init(rawValue:)) }

    /// Whether the row has no values yet and is filled in for the first time.
    var isFirstFill: Bool { row.status == nil }

    /// Whether the column is empty, and that means unknown, in a row with a status.
    ///
    /// An empty date of revocation or grace means that there is none (docs/columns.md).
    /// `signed_date` says nothing about the subscription and is only written together with another
    /// column. Otherwise every row of a table that does not keep it would be written, and later
    /// imports without it would be skipped as older.
    func isNotKnownYet(_ field: SubscriptionField) -> Bool {
        switch field {
        case .signedDate: false
        case _ where field.emptyMeansNone: false
        case _ where kept.leavesOut(field): false
        default: !isFirstFill && row.value(of: field) == .null
        }
    }

    /// Whether both sides state a value, and the values differ.
    func disagrees(in field: SubscriptionField) -> Bool {
        row.value(of: field) != .null && stated.value(of: field) != .null && differs(in: field)
    }

    /// Whether writing Apple's statement would change the column.
    ///
    /// The company's own columns never change, and an account token only where none is stored. A
    /// value that Apple does not state clears a column only where `clearedIn` says so.
    func differs(in field: SubscriptionField) -> Bool {
        let ours = row.value(of: field)
        let theirs = stated.value(of: field)
        switch field {
        case .originalTransactionID, .environment, .bundleID, .customerID: return false
        case _ where kept.leavesOut(field): return false
        case .status where statusReadsAlike: return false
        case .appAccountToken: return ours == .null && theirs != .null
        case .latestTransactionID:
            return theirs != .null && ours != theirs
                && (ours == .null || currentTransaction == .another)
        case .webOrderLineItemID where period != nil:
            return theirs != .null && ours != theirs
                && (ours == .null ? isOfStatedTransaction : currentLineItem == .another)
        case .expiresDate where isWithinExtension: return false
        case .quantity, .renewalQuantity, .revokedSeats:
            return theirs == .null ? mayClear(field) : ours != theirs
        default:
            guard theirs != .null else {
                return ours != .null && field.clearedIn.contains(stated.status)
            }
            if case .time(let our) = ours, case .time(let their) = theirs {
                return !agrees(our, their, in: field)
            }
            return ours != theirs
        }
    }

    /// Whether a stored number of seats is cleared, because Apple's subscription is no longer a
    /// group's.
    ///
    /// Where seats were added, Apple states nothing until all transactions of the period are known.
    /// A company may store one seat for every subscription.
    private func mayClear(_ field: SubscriptionField) -> Bool {
        guard stated.transaction.seats == nil, stated.renewalSeats == nil,
            case .integer(let seats) = row.value(of: field)
        else { return false }
        return seats > (field == .revokedSeats ? 0 : 1)
    }

    /// Whether the table keeps numbers of seats that only all transactions of the period give.
    var lacksSeats: Bool {
        period != nil && stated.sharedSeats == nil
            && !(kept.leavesOut(.quantity) && kept.leavesOut(.revokedSeats))
    }

    /// Whether a stored time is Apple's, as far as the column keeps it.
    func agrees(_ ours: Timestamp, _ theirs: Timestamp, in field: SubscriptionField) -> Bool {
        ours.agrees(withApple: theirs)
            || kept.precision.cut(.time(theirs), in: .subscription(field)) == .time(ours)
    }

    /// Whether Apple's status differs from the stored value, but the table has one word for both.
    var statusReadsAlike: Bool {
        guard let kept = kept.statuses[stated.status.rawValue] else { return false }
        return row.status == kept
    }

    /// Whether both sides have the same status, as far as the table can tell.
    var statusAgrees: Bool { ourStatus == stated.status || statusReadsAlike }

    /// Whether the row's `signed_date` lies in the future, where nothing can have been signed.
    var isDatedAhead: Bool {
        guard let now, let signed = row.signedDate else { return false }
        return signed.isAhead(of: now)
    }

    /// Whether our end is later than the signed transaction's, but not than the signed renewal
    /// date.
    ///
    /// Apple does not document whether an extension moves the transaction's end or only the renewal
    /// date. Where it moved the renewal date alone, our later end agrees with Apple and stays.
    var isWithinExtension: Bool {
        guard let ours = row.expiresDate, let extended = extendedEnd,
            let theirs = stated.transaction.expiresDate
        else { return false }
        return ours.isLater(thanApple: theirs) && !ours.isLater(thanApple: extended)
    }

    /// The signed renewal date of an active subscription, where it is later than the transaction's
    /// end.
    var extendedEnd: Timestamp? {
        guard stated.status == .active, let end = stated.transaction.expiresDate,
            let renewal = stated.renewal.renewalDate, renewal > end
        else { return nil }
        return renewal
    }

    /// The column's value before and after it is set to Apple's.
    func change(of field: SubscriptionField) -> FieldChange {
        FieldChange(before: row.storedValue(of: field), after: stated.value(of: field))
    }

    /// How the row's transaction id or line item relates to the one that Apple states.
    enum CurrentTransaction {
        /// The stated one, or another one of the same line item: a restore, or a further device.
        case ofThePeriod
        /// Another period's, or none of the subscription's.
        case another
        /// The line item is the same: only Apple's history tells.
        case open
    }

    /// Another id of the same line item is right where Apple's history shows it, and wrong where
    /// the complete history does not.
    ///
    /// The history need not be read again where it was agreed with: the row has the values that the
    /// last check left, and its line item is still the current one.
    var currentTransaction: CurrentTransaction {
        let transaction = stated.transaction
        guard let ours = row.latestTransactionID, ours != transaction.transactionID else {
            return .ofThePeriod
        }
        if let period { return place(in: period.contains(transactionID: ours)) }
        guard let item = transaction.webOrderLineItemID, row.webOrderLineItemID ?? item == item
        else {
            return .another
        }
        let isStored = scoped.periods.contains {
            $0.key.transactionID == ours && $0.webOrderLineItemID == item
        }
        let isShown = history?.transactions.contains {
            $0.transactionID == ours && $0.webOrderLineItemID == item
                && $0.originalTransactionID == transaction.originalTransactionID
        }
        if isStored || isShown == true { return .ofThePeriod }
        if case .complete = history { return .another }
        guard row.webOrderLineItemID != nil else { return .another }
        return wasAgreed ? .ofThePeriod : .open
    }

    /// How the row's line item relates to Apple's, where several transactions represent the period:
    /// it is not known whether they have one line item.
    private var currentLineItem: CurrentTransaction {
        guard let ours = row.webOrderLineItemID, let period,
            ours != stated.transaction.webOrderLineItemID
        else { return .ofThePeriod }
        return place(in: period.contains(lineItem: ours))
    }

    /// Where a stored id belongs, by whether the known transactions of the period have it.
    ///
    /// Another stored end says that it is another period's. The history need not be read again
    /// where it was agreed with.
    private func place(in isKnown: Bool?) -> CurrentTransaction {
        if let isKnown { return isKnown ? .ofThePeriod : .another }
        let isOtherPeriod = disagrees(in: .expiresDate) || disagrees(in: .productID)
        guard !isFirstFill, !isOtherPeriod else { return .another }
        return wasAgreed ? .ofThePeriod : .open
    }

    /// Whether the row has the values that the last check left.
    private var wasAgreed: Bool { scoped.check?.check.values == ValuesDigest(of: row) }

    /// Whether an empty stored line item belongs to the transaction that Apple states: the row may
    /// name another one of the same period.
    private var isOfStatedTransaction: Bool {
        row.latestTransactionID.map { $0 == stated.transaction.transactionID }
            ?? true || currentTransaction == .another
    }

    /// The transaction whose price is compared with the row's period: its own, where it is known.
    var pricedTransaction: SignedTransaction {
        period?.transactions.first { $0.transactionID == row.latestTransactionID }
            ?? stated.transaction
    }

    /// Whether only the whole history tells what the row's transaction id is.
    var needsHistoryOfTransaction: Bool {
        guard !isFirstFill else { return false }
        return (!kept.leavesOut(.latestTransactionID) && currentTransaction == .open)
            || (!kept.leavesOut(.webOrderLineItemID) && currentLineItem == .open)
    }

    /// Whether the row's current transaction belongs to the period that Apple states.
    ///
    /// The web order line item identifies the period, because restores and further devices have
    /// other transaction ids for it. The transaction id counts only where no line item is known.
    var isSamePeriod: Bool {
        if period != nil {
            return currentTransaction == .ofThePeriod && currentLineItem == .ofThePeriod
                && (row.latestTransactionID ?? row.webOrderLineItemID) != nil
        }
        guard let theirItem = stated.transaction.webOrderLineItemID else {
            return row.latestTransactionID == stated.transaction.transactionID
        }
        if let ourItem = row.webOrderLineItemID { return ourItem == theirItem }
        guard let ours = row.latestTransactionID else { return false }
        return ours == stated.transaction.transactionID
            || scoped.periods.contains {
                $0.key.transactionID == ours && $0.webOrderLineItemID == theirItem
            }
    }
}

extension Timestamp {
    /// Whether this local time is equal to Apple's.
    ///
    /// Many tables store whole seconds, so a local time without milliseconds is compared to the
    /// second (docs/columns.md): it is Apple's time truncated, never rounded up.
    func agrees(withApple time: Timestamp) -> Bool {
        if self == time { return true }
        return unixMilliseconds % 1000 == 0 && time.wholeSeconds == wholeSeconds
    }

    /// Whether this local time is later than Apple's; equal to the second is not later.
    func isLater(thanApple time: Timestamp) -> Bool {
        self > time && !agrees(withApple: time)
    }

    /// Seconds since 1970, rounded down before 1970 too.
    private var wholeSeconds: Int64 {
        unixMilliseconds.floorDivided(by: Milliseconds.perSecond).quotient
    }
}

/// The result of a rule: the finding, its evidence, and the columns whose correction would resolve
/// it.
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

    /// A finding about a column of a row that is compared with no statement.
    init(
        _ kind: FindingKind, _ severity: Severity, of row: LocalSubscription,
        in field: SubscriptionField, apple: FieldValue = .null, direction: Direction = .neutral,
        cause: String, payload: SignedPayload? = nil
    ) {
        var finding = Finding(kind: kind, severity: severity, row: row)
        finding.field = field.rawValue
        finding.localValue = row.value(of: field)
        finding.appleValue = apple
        finding.direction = direction
        finding.cause = cause
        self.init(finding, payload: payload)
    }

    var kind: FindingKind { finding.kind }

    /// The rule and the kind that it found; `nil` where no correction follows.
    var appliedRule: AppliedRule? { rule.map { AppliedRule(kind: kind, rule: $0) } }

    /// Returns the difference with the rule that found it.
    func found(by rule: RuleVersion) -> Difference {
        var named = self
        named.rule = rule
        return named
    }

    /// Every column that a correction of this finding touches.
    var columns: Set<SubscriptionField> { companions.union(column.map { [$0] } ?? []) }

    /// Whether it makes a match a discrepancy: all do but unknown values and products, and findings
    /// about no subscription.
    var contradictsMatch: Bool {
        kind != .unknownValue && kind != .unknownProduct && finding.key != nil
    }
}

extension Comparison {
    /// A finding about a column, with both values, both times and the payload of Apple's value.
    func difference(
        _ kind: FindingKind, _ severity: Severity, in field: SubscriptionField,
        direction: Direction = .neutral, cause: String, isCorrected: Bool = true,
        companions: Set<SubscriptionField> = []
    ) -> Difference {
        var finding = finding(kind, severity, cause: cause)
        finding.field = field.rawValue
        finding.localValue = row.value(of: field)
        finding.appleValue = stated.value(of: field)
        finding.direction = direction
        return Difference(
            finding, payload: stated.payload(of: field), column: isCorrected ? field : nil,
            companions: companions)
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
    /// Returns the difference with the price of the signed transaction, as the amount that is at
    /// stake.
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

extension StatedSubscription {
    /// How far in the past the end of a subscription may be that Apple calls active or in grace.
    ///
    /// Apple may record a renewal, or the end of a grace period, late: delays of minutes are
    /// documented, and common in the sandbox.
    static let lateBookingToleranceMilliseconds: Int64 = 60 * 60 * 1000

    /// How far in the future the end may be of a subscription that is signed as in billing retry:
    /// Apple first charges within the 24 hours before the end.
    static let earlyChargeToleranceMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// How far in the future the end of an ended subscription may be: Apple's clocks differ a
    /// little.
    static let clockToleranceMilliseconds: Int64 = 60 * 1000

    /// The longest Billing Grace Period is 28 days; one day is added for time zones.
    static let longestGraceMilliseconds: Int64 = 29 * 24 * 60 * 60 * 1000

    /// The reason why the unsigned status contradicts the signed fields; `nil` when it does not.
    ///
    /// Only TLS protects the status, so it never ends access that the signed fields state, nor
    /// gives access that they deny (docs/promises.md). Where the fields allow both, the status
    /// decides: a prorated refund need not end the access, an upgraded transaction is superseded by
    /// another one, and Apple is known to state a grace period without its date or without the
    /// retry flag.
    ///
    /// Times are compared with the signing date and not with our clock, because that is the moment
    /// that status and fields describe. So neither a wrong clock nor a slow run makes a
    /// contradiction, and archived evidence is checked as on its day. Source: App Store Server API,
    /// `status`, and the signed fields that belong to each of its values.
    var contradiction: String? {
        switch status {
        case .active: activeContradiction
        case .expired: expiredContradiction
        case .billingRetry: retryContradiction
        case .billingGracePeriod: graceContradiction
        case .revoked:
            transaction.revocationDate == nil ? "revoked, but not signed as revoked" : nil
        default: nil
        }
    }

    private var activeContradiction: String? {
        if transaction.isWhollyRevoked { return "active, but signed as revoked" }
        guard !isSignedAsInGrace, !(end.map { isAhead($0, by: 0) } ?? false) else { return nil }
        if isSignedAsInRetry { return "active, but signed as in billing retry" }
        guard let end else { return nil }
        // A subscription with a reason for its expiration is not renewed late.
        if renewal.expirationIntent.map((1...5).contains) ?? false {
            return "active, but signed as expired"
        }
        return isPast(end, by: Self.lateBookingToleranceMilliseconds)
            ? "active, but signed as ended" : nil
    }

    /// Expired means that Apple no longer tries to charge, so a signed retry flag contradicts it as
    /// well.
    private var expiredContradiction: String? {
        if isSignedAsInRetry { return "expired, but signed as in billing retry" }
        if isSignedAsInGrace { return "expired, but signed as in its grace period" }
        return isSignedAsPaid(end, by: Self.clockToleranceMilliseconds)
            ? "expired, but signed as running" : nil
    }

    private var retryContradiction: String? {
        if isSignedAsInGrace { return "in billing retry, but signed as in its grace period" }
        let isRunning =
            isSignedAsInRetry
            ? isSignedAsPaid(transaction.expiresDate, by: Self.earlyChargeToleranceMilliseconds)
            : isSignedAsPaid(end, by: Self.clockToleranceMilliseconds)
        return isRunning ? "in billing retry, but signed as running" : nil
    }

    private var graceContradiction: String? {
        if transaction.isWhollyRevoked { return "in grace period, but signed as revoked" }
        if let graceEnd = renewal.gracePeriodExpiresDate {
            return isPast(graceEnd, by: Self.lateBookingToleranceMilliseconds)
                ? "in grace period, but signed as past it" : nil
        }
        guard isSignedAsInRetry else {
            return "in grace period, but signed neither with its end nor as in billing retry"
        }
        return (end.map { isPast($0, by: Self.longestGraceMilliseconds) } ?? false)
            ? "in grace period, but the signed end is longer ago than any grace period lasts" : nil
    }

    private var isSignedAsInRetry: Bool { renewal.isInBillingRetryPeriod == true }

    /// Apple is known to sign a false retry flag next to a grace date in the future; it does not
    /// count.
    private var isSignedAsInGrace: Bool {
        guard !transaction.isWhollyRevoked, let end = renewal.gracePeriodExpiresDate else {
            return false
        }
        return isAhead(end, by: 0)
    }

    /// Whether the signed transaction gives access until an end in the future.
    private func isSignedAsPaid(_ end: Timestamp?, by milliseconds: Int64) -> Bool {
        guard transaction.revocationDate == nil, !transaction.isUpgraded, let end else {
            return false
        }
        return isAhead(end, by: milliseconds)
    }

    /// The end of the paid period; an extension may move `renewalDate` and not `expiresDate`.
    private var end: Timestamp? {
        [transaction.expiresDate, renewal.renewalDate].compactMap(\.self).max()
    }

    private func isPast(_ end: Timestamp, by milliseconds: Int64) -> Bool {
        end.adding(milliseconds: milliseconds) < signedDate
    }

    private func isAhead(_ end: Timestamp, by milliseconds: Int64) -> Bool {
        end > max(transaction.signedDate, renewal.signedDate).adding(milliseconds: milliseconds)
    }
}
