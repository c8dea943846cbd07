import Subscriptions

/// Every rule, by what it looks at; a new rule is a file, a test file and its line here.
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
        NewerLocallyRule(), UnknownStatusRule(), ContradictionRule(),
    ]

    /// The status kinds as docs/findings.md has them, from `refund_reversal_missed` to `status`.
    static let status: [any StatusRule] = [
        RefundReversalMissedRule(), GraceMissedRule(), RevocationMissedRule(), AccessMissingRule(),
        AccessUnpaidRule(), OtherStatusRule(),
    ]

    /// One row compared with Apple's statement.
    static let row: [any RowRule] = [
        ExpiryRule(), ProductRule(), RenewalPreferenceRule(), RevocationDateRule(),
        LatestTransactionRule(), OwnershipRule(),
    ]

    /// The same, also for rows without a status; these findings forbid every write to the row.
    static let blocking: [any RowRule] = [IdentityRule()]

    /// The same, also for rows without a status: what the company alone knows beside Apple's word.
    static let beside: [any RowRule] = [PaidElsewhereRule()]

    /// The stored periods of one row.
    static let period: [any PeriodRule] = [
        PriceRule(), TransactionMissingRule(), TransactionUnknownRule(),
    ]

    /// All subscriptions of one customer together.
    static let customer: [any CustomerRule] = [
        MissingLocallyRule(), OverlappingSubscriptionsRule(), ResurrectedRule(),
    ]

    /// What prevents the insert of a missing subscription.
    static let writeVetoes: [any WriteVeto] = [
        ForeignTokenVeto(), DisputedCustomerVeto(), StandInVeto(),
        DisplacementVeto(), InsertVeto(),
    ]

    /// Our rows compared with each other, without Apple.
    static let local = DuplicateLocalRule()

    /// Fields and values that this version does not know.
    static let unknown = UnknownValueRule()

    /// One notification of Apple's history.
    static let notification: [any NotificationRule] = [
        NotificationMissedRule(), NotificationLostRule(),
    ]

    /// Kinds of findings that forbid every write to the row.
    static let forbidWriting: Set<FindingKind> = [
        .identity, .wrongApp, .wrongEnvironment, .migrated, .verificationFailed, .contradiction,
        .duplicateLocal, .invalidID, .notFound, .accountNotFound, .unreadableValue,
    ]
}
