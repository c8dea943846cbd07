import Subscriptions

/// Every rule, by what it reads; a new rule is a file, a test file and its place here.
///
/// `duplicateLocal`, `seatMember`, `purchaseUnknown` and `unknownValues` each stand alone.
/// The order matters in `standing`, `doubts` and `status`, where the first rule that fits decides.
enum AllRules {
    /// The row's id, app and environment, before anything is compared.
    static let standing: [StandingRule] = [
        unreadableValue, wrongApp, wrongEnvironment, verificationFailed, migrated, invalidID,
        accountNotFound, notFound,
    ]

    /// Whether Apple's statement can be compared with the row at all.
    static let doubts: [DoubtRule] = [newerLocally, unknownStatus, periodNotShown, contradiction]

    /// The status kinds as docs/findings.md has them, from `refund_reversal_missed` to `status`.
    static let status: [StatusRule] = [
        refundReversalMissed, graceMissed, revocationMissed, accessMissing, accessUnpaid,
        otherStatus,
    ]

    /// One row compared with Apple's statement.
    static let row: [RowRule] = [
        graceDate, expiry, product, renewalPreference, revocationDate, latestTransaction,
        ownership, seats,
    ]

    /// Rules that also apply to rows without a status; their findings forbid every write to the
    /// row.
    static let blocking: [RowRule] = [identity]

    /// Rules that also apply to rows without a status: what only the company knows, a
    /// `signed_date` that is impossible, and a product that the catalogue lacks.
    static let beside: [RowRule] = [paidElsewhere, datedAhead, unknownProduct]

    /// The stored periods of one row.
    static let period: [PeriodRule] = [price, transactionMissing, transactionUnknown]

    /// One one-time purchase of a customer's history.
    static let purchase: [PurchaseRule] = [purchaseMissing, purchaseRefundMissed]

    /// All subscriptions of one customer together.
    static let customer: [CustomerRule] = [missingLocally, overlappingSubscriptions, resurrected]

    /// One notification of Apple's history.
    static let notification: [NotificationRule] = [notificationMissed, notificationLost]

    /// Kinds of findings that forbid every write to the row.
    static let forbidWriting: Set<FindingKind> = [
        .identity, .wrongApp, .wrongEnvironment, .migrated, .verificationFailed, .contradiction,
        .duplicateLocal, .invalidID, .notFound, .accountNotFound,
    ]
}

/// A rule: what it finds in the subject that it reads, with the name and version that plans state.
///
/// The name is that of the rule's file. The version is 1 where a rule states none. If you change what
/// a rule finds, state the next one, so that a plan which is applied a week later still says by which
/// rule it was made.
struct Rule<Subject, Result>: Sendable {
    let identity: RuleVersion
    let find: @Sendable (Subject) -> Result

    init(
        _ name: String, version: Int = 1, _ find: @escaping @Sendable (Subject) -> Result
    ) {
        identity = RuleVersion(name: name, version: version)
        self.find = find
    }
}

extension Rule where Result == [Difference] {
    /// The differences in a subject, each with the rule that found it.
    func differences(in subject: Subject) -> [Difference] {
        find(subject).map { $0.found(by: identity) }
    }
}

extension Rule where Result == Difference? {
    /// The difference in a subject, with the rule that found it.
    func difference(in subject: Subject) -> Difference? {
        find(subject)?.found(by: identity)
    }
}

/// Decides about a row from its id, app and environment, before any column is compared.
///
/// The first rule with a conclusion ends the check of the row, and nothing is written to it.
typealias StandingRule = Rule<(scoped: ScopedRow, context: CaseContext), Conclusion?>

/// Decides whether Apple's statement can be compared with a row at all.
///
/// The first rule with a conclusion ends the check of the row: it is undecided, and nothing is
/// written to it.
typealias DoubtRule = Rule<(comparison: Comparison, policy: Policy), Conclusion?>

/// A verdict that needs no comparison of columns, and the findings about that.
struct Conclusion: Hashable, Sendable {
    var verdict: Verdict
    var differences: [Difference] = []
    var absence = AbsenceObservation.nothing

    static func undecided(
        _ reason: UndecidedReason, _ differences: [Difference] = []
    ) -> Conclusion {
        Conclusion(verdict: .undecided(reason), differences: differences)
    }

    static func discrepancy(
        _ difference: Difference, absence: AbsenceObservation = .nothing
    ) -> Conclusion {
        Conclusion(verdict: .discrepancy, differences: [difference], absence: absence)
    }
}

/// Compares our status with Apple's; the first rule in `AllRules.status` that fits is the only one
/// that counts.
typealias StatusRule = Rule<Comparison, Difference?>

/// Compares other columns of one row with Apple's statement.
typealias RowRule = Rule<Comparison, [Difference]>

/// Compares the stored periods of one subscription with Apple's history.
typealias PeriodRule = Rule<PeriodComparison, [Difference]>

/// Compares a one-time purchase of Apple's history with the stored row of it.
typealias PurchaseRule = Rule<PurchaseComparison, Difference?>

/// Compares all subscriptions of one customer with each other.
///
/// It runs only over an answer that contains the asked id. Each finding names the row it concerns.
typealias CustomerRule = Rule<CustomerReading, [Difference]>

/// Compares one notification of Apple's history with the company's inbox.
typealias NotificationRule = Rule<NotificationCase, Finding?>

extension AppliedRule {
    /// Named in plans as the rule of a first fill of a row or of its periods, which has no finding.
    static let firstFill = AppliedRule(
        kind: nil, rule: RuleVersion(name: "FirstFill", version: 1))

    /// Named in plans as the rule of filling in single empty columns of a known row or period,
    /// which has no finding.
    static let columnFill = AppliedRule(
        kind: nil, rule: RuleVersion(name: "ColumnFill", version: 1))
}
