import Reconciliation
import Subscriptions

/// Plans as the guards see them.
enum GuardedPlan {
    static func plan(
        inScope: Int = 10_000, changes: Int = 0, notFound: Int = 0, failures: Int = 0,
        tableRows: Int = 10_000, before: Int? = nil, coverage: Int? = nil,
        routine: RoutineRows? = nil, askedBecause: QuestionReason? = nil,
        purchases: Int = 0, purchaseChanges: Int = 0, _ corrections: [PlannedCorrection] = []
    ) -> SurveyedPlan {
        var totals = RunTotals()
        totals.matched = inScope
        var survey = PlanSurvey()
        for correction in corrections { survey.add(correction, askedBecause: askedBecause) }
        var plan = PlanTotals(
            totals: totals, changes: changes, notFound: notFound,
            verificationFailures: failures, tableRows: tableRows, tableRowsBefore: before)
        plan.tableCoverage = coverage
        plan.routine = routine
        (plan.purchases, plan.purchaseChanges) = (purchases, purchaseChanges)
        return SurveyedPlan(totals: plan, survey: survey)
    }

    static func limits(_ change: (inout GuardLimits) -> Void) -> GuardLimits {
        var limits = GuardLimits()
        change(&limits)
        return limits
    }

    static func update(
        _ id: Int, _ changes: [SubscriptionField: FieldChange],
        in environment: String = "Production"
    ) -> PlannedCorrection {
        correction(
            .update(key(id, environment), expectedRowVersion: 1),
            changes)
    }

    static func insert(
        _ id: Int, _ changes: [SubscriptionField: FieldChange]
    ) -> PlannedCorrection {
        correction(.insert(key(id, "Production")), changes)
    }

    static func refund(_ id: Int, isRefund: Bool) -> PlannedCorrection {
        let change = FieldChange(before: .null, after: .time(Sample.now))
        let subscription = key(id, "Production")
        let purchase = TransactionKey(
            bundleID: subscription.bundleID, environment: subscription.environment,
            transactionID: subscription.originalTransactionID)
        return PlannedCorrection(
            target: .updatePeriod(purchase, of: subscription),
            changes: .purchase([.revocationDate: isRefund ? change : change.inverse]),
            kinds: [.purchaseRefundMissed], evidence: Sample.payload("\(id)").digest,
            evidenceRenewal: nil, appleSignedDate: Sample.now, reason: "Because.")
    }

    static func status(_ ours: Int?, _ apple: Int) -> FieldChange {
        FieldChange(before: FieldValue(ours), after: FieldValue(apple))
    }

    /// A date of ours against Apple's, which is different for each id.
    static func date(_ id: Int, ours: (Int64) -> Int64) -> FieldChange {
        let apple = 1_795_000_000_437 + Int64(id) * 86_400_000
        return FieldChange(
            before: .time(Timestamp(unixMilliseconds: ours(apple))),
            after: .time(Timestamp(unixMilliseconds: apple)))
    }

    private static func key(_ id: Int, _ environment: String) -> SubscriptionKey {
        SubscriptionKey(
            bundleID: "com.example.app", environment: environment,
            originalTransactionID: "\(420_001_000_000_000 + id)")
    }

    private static func correction(
        _ target: PlannedCorrection.Target, _ changes: [SubscriptionField: FieldChange]
    ) -> PlannedCorrection {
        PlannedCorrection(
            target: target, changes: .subscription(changes), kinds: [.status],
            evidence: EvidenceDigest(hexadecimal: String(repeating: "ab", count: 32)),
            evidenceRenewal: nil, appleSignedDate: Timestamp(unixMilliseconds: 1_795_000_000_000),
            reason: "Apple says otherwise.")
    }
}

extension GuardLimits {
    /// Only what this guard says.
    func sentence(of name: GuardName, about plan: SurveyedPlan) -> String? {
        breaches(by: plan).first { $0.name == name }?.sentence
    }
}
