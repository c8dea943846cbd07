import Subscriptions

/// Every rule, by what it reads; a new rule is a file, a test file and its line here.
///
/// The order matters in `standing`, `doubts` and `status`, where the first rule that fits decides.
enum AllRules {
    /// The row's id, app and environment, before anything is compared.
    static let standing: [any StandingRule] = [
        UnreadableValueRule(), WrongAppRule(), WrongEnvironmentRule(), VerificationFailedRule(),
        MigratedRule(), InvalidIDRule(), AccountNotFoundRule(), NotFoundRule(),
    ]

    /// Whether Apple's statement can be compared with the row at all.
    static let doubts: [any DoubtRule] = [
        NewerLocallyRule(), UnknownStatusRule(), PeriodNotShownRule(), ContradictionRule(),
    ]

    /// The status kinds as docs/findings.md has them, from `refund_reversal_missed` to `status`.
    static let status: [any StatusRule] = [
        RefundReversalMissedRule(), GraceMissedRule(), RevocationMissedRule(), AccessMissingRule(),
        AccessUnpaidRule(), OtherStatusRule(),
    ]

    /// One row compared with Apple's statement.
    static let row: [any RowRule] = [
        GraceMissedRule(), ExpiryRule(), ProductRule(), RenewalPreferenceRule(),
        RevocationDateRule(), LatestTransactionRule(), OwnershipRule(), SeatsRule(),
    ]

    /// Rules that also apply to rows without a status; their findings forbid every write to the
    /// row.
    static let blocking: [any RowRule] = [IdentityRule()]

    /// Rules that also apply to rows without a status: what only the company knows, a
    /// `signed_date` that is impossible, and a product that the catalogue lacks.
    static let beside: [any RowRule] = [
        PaidElsewhereRule(), UnreadableValueRule(), UnknownProductRule(),
    ]

    /// The stored periods of one row.
    static let period: [any PeriodRule] = [
        PriceRule(), TransactionMissingRule(), TransactionUnknownRule(),
    ]

    /// One one-time purchase of a customer's history.
    static let purchase: [any PurchaseRule] = [PurchaseMissingRule(), PurchaseRefundMissedRule()]

    /// A stored one-time purchase that Apple does not find.
    static let unknownPurchase = PurchaseUnknownRule()

    /// All subscriptions of one customer together.
    static let customer: [any CustomerRule] = [
        MissingLocallyRule(), OverlappingSubscriptionsRule(), ResurrectedRule(),
    ]

    /// Our rows compared with each other, without Apple.
    static let local = DuplicateLocalRule()

    /// Rows about which Apple is not asked.
    static let excluded = SeatMemberRule()

    /// Fields and values that this version does not know.
    static let unknown = UnknownValueRule()

    /// One notification of Apple's history.
    static let notification: [any NotificationRule] = [
        NotificationMissedRule(), NotificationLostRule(),
    ]

    /// Kinds of findings that forbid every write to the row.
    static let forbidWriting: Set<FindingKind> = [
        .identity, .wrongApp, .wrongEnvironment, .migrated, .verificationFailed, .contradiction,
        .duplicateLocal, .invalidID, .notFound, .accountNotFound,
    ]
}

/// The common part of all rules: a name and a version, which plans state.
///
/// The version is 1 where a rule declares none. If you change what a rule finds, declare the next
/// one, so that a plan which is applied a week later still says by which rule it was made. What a
/// rule reads decides which protocol below it conforms to.
protocol Rule: Sendable {
    static var version: Int { get }
}

extension Rule {
    static var version: Int { 1 }

    /// The rule as plans name it: by its type, which is also its file.
    static var identity: RuleVersion {
        RuleVersion(name: String(describing: Self.self), version: version)
    }

    var identity: RuleVersion { Self.identity }
}

/// Decides about a row from its id, app and environment, before any column is compared.
///
/// The first rule with a conclusion ends the check of the row, and nothing is written to it.
protocol StandingRule: Rule {
    func conclusion(about scoped: ScopedRow, in context: CaseContext) -> Conclusion?
}

/// A verdict that needs no comparison of columns.
struct Conclusion: Hashable, Sendable {
    var verdict: Verdict
    var differences: [Difference] = []
    var absence = AbsenceObservation.nothing

    static func undecided(_ reason: UndecidedReason) -> Conclusion {
        Conclusion(verdict: .undecided(reason))
    }

    static func discrepancy(
        _ difference: Difference, absence: AbsenceObservation = .nothing
    ) -> Conclusion {
        Conclusion(verdict: .discrepancy, differences: [difference], absence: absence)
    }
}

/// Decides whether Apple's statement can be compared with a row at all.
///
/// The first rule that cannot decide ends the check of the row: it is undecided, and nothing is
/// written to it.
protocol DoubtRule: Rule {
    func doubt(in comparison: Comparison, policy: Policy) -> Doubt?
}

/// The reason why a statement decides nothing, and the findings about that.
struct Doubt: Hashable, Sendable {
    var reason: UndecidedReason
    var differences: [Difference]
}

/// Compares our status with Apple's; the first rule in `AllRules.status` that fits is the only one
/// that counts.
protocol StatusRule: Rule {
    func difference(in comparison: Comparison) -> Difference?
}

/// Compares other columns of one row with Apple's statement.
protocol RowRule: Rule {
    func differences(in comparison: Comparison) -> [Difference]
}

/// Compares the stored periods of one subscription with Apple's history.
protocol PeriodRule: Rule {
    func differences(in comparison: PeriodComparison) -> [Difference]
}

/// Compares a one-time purchase of Apple's history with the stored row of it.
protocol PurchaseRule: Rule {
    func difference(in comparison: PurchaseComparison) -> Difference?
}

/// Compares all subscriptions of one customer with each other.
///
/// It runs only over an answer that contains the asked id. Each finding names the row it concerns.
protocol CustomerRule: Rule {
    func differences(in reading: CustomerReading) -> [Difference]
}

/// Compares one notification of Apple's history with the company's inbox.
protocol NotificationRule: Rule {
    func finding(about item: NotificationCase) -> Finding?
}

/// Named in plans as the rule of a first fill of a row or of its periods, which has no finding.
enum FirstFill: Rule {
    static var applied: AppliedRule { AppliedRule(kind: nil, rule: identity) }
}

/// Named in plans as the rule of filling in single empty columns of a known row or period, which
/// has no finding.
enum ColumnFill: Rule {
    static var applied: AppliedRule { AppliedRule(kind: nil, rule: identity) }
}

extension Sequence<Difference> {
    /// Returns these differences, each with the rule that found it.
    func found(by rule: any Rule) -> [Difference] {
        map { difference in
            var named = difference
            named.rule = rule.identity
            return named
        }
    }
}
