import Subscriptions

/// Every rule, by what it looks at; a new rule is a file, a test file and its line here.
///
/// The order matters in `standing`, `doubts` and `status`, where the first that fits decides.
enum AllRules {
    /// Where a row stands with Apple before anything can be compared.
    static let standing: [any StandingRule] = [
        UnreadableValueRule(), WrongAppRule(), WrongEnvironmentRule(), VerificationFailedRule(),
        MigratedRule(), InvalidIDRule(), AccountNotFoundRule(), NotFoundRule(),
    ]

    /// Whether Apple's statement may be held against the row.
    static let doubts: [any DoubtRule] = [
        NewerLocallyRule(), UnknownStatusRule(), ContradictionRule(),
    ]

    /// The status kinds as docs/findings.md has them, from `refund_reversal_missed` to `status`.
    static let status: [any StatusRule] = [
        RefundReversalMissedRule(), GraceMissedRule(), RevocationMissedRule(), AccessMissingRule(),
        AccessUnpaidRule(), OtherStatusRule(),
    ]

    /// One row beside Apple's statement.
    static let row: [any RowRule] = [
        ExpiryRule(), ProductRule(), RenewalPreferenceRule(), RevocationDateRule(),
        LatestTransactionRule(), OwnershipRule(),
    ]

    /// Rules whose findings forbid every write to the row, a first fill included.
    static let blocking: [any RowRule] = [IdentityRule()]

    /// The stored periods of one row.
    static let period: [any PeriodRule] = [
        PriceRule(), TransactionMissingRule(), TransactionUnknownRule(),
    ]

    /// All subscriptions of one customer together.
    static let customer: [any CustomerRule] = [
        MissingLocallyRule(), OverlappingSubscriptionsRule(), ResurrectedRule(),
    ]

    /// What holds back an insert.
    static let restraints: [any Restraint] = [
        ForeignTokenRestraint(), DisputedCustomerRestraint(), StandInRestraint(),
        DisplacementRestraint(),
    ]

    /// What needs no answer of Apple's.
    static let local = DuplicateLocalRule()

    /// What this version does not know.
    static let unknown = UnknownValueRule()

    /// One notification of Apple's history.
    static let notification: [any NotificationRule] = [
        NotificationMissedRule(), NotificationLostRule(),
    ]

    /// Kinds with which nothing at all is written to the row.
    static let forbidWriting: Set<FindingKind> = [
        .identity, .wrongApp, .wrongEnvironment, .migrated, .verificationFailed, .contradiction,
        .duplicateLocal, .invalidID, .notFound, .accountNotFound, .unreadableValue,
    ]
}
