import Logging
import Reconciliation
import SubscriptionStore
package import Subscriptions

/// The only stage that writes to subscription rows: guards check the whole plan, then it is
/// applied.
///
/// Every plan passes through here, whether it was made in this run or last week.
struct ApplyStep {
    let context: RunContext
    /// Whether Apple may still be asked, as a canary needs it: not after a deadline or an outage.
    var mayAsk = true

    /// Applies the checkpoint's plan, unless the job only checks, a guard objects, or the canary
    /// does.
    func run() async throws -> PlanOutcome {
        var outcome = try await inspect()
        guard outcome.breaches.isEmpty, context.job.mode == .apply else { return outcome }
        let canarySize = try await canarySize()
        if canarySize > 0 {
            guard mayAsk, !context.appStores.isEmpty else {
                outcome.canary = .notBegun
                return outcome
            }
            let canary = try await context.checkCanary(of: canarySize)
            outcome.canary = canary
            guard canary.allowsRest else { return outcome }
        }
        try await context.apply { limit, now in
            try await context.store.applyPlanned(
                limit: limit, in: context.pass, run: context.header, at: now)
        }
        return outcome
    }

    /// Lets the guards see the whole plan, and records what is lifted before anything is written.
    private func inspect() async throws -> PlanOutcome {
        let (store, pass, header) = (context.store, context.pass, context.header)
        let progress = context.progress
        // The plan is read twice: for its identity, and for the guards.
        let seal = try await store.sealPlan(of: pass, run: header) { done, total in
            progress(RunProgress(stage: .plan, done: done / 2, total: total))
        }
        if let signal = context.stop.signal { throw RunEnd.signal(signal) }
        var plan = SurveyedPlan(
            totals: try await guardedTotals(),
            survey: try await store.reducePlan(of: pass, into: (survey: PlanSurvey(), read: 0)) {
                $0.survey.add($1, askedBecause: $2)
                $0.read += 1
                guard $0.read.isMultiple(of: RunLimits.findingsPerPage) else { return }
                let done = (seal.changes + $0.read) / 2
                progress(RunProgress(stage: .plan, done: done, total: seal.changes))
            }.survey)
        plan.isOfMappedTable = context.job.policy.kept.isMapped
        var breaches = isGuarded ? context.job.guards.breaches(by: plan) : []
        if isGuarded, seal.changes > 0, let refusal = try await refusal(of: seal) {
            breaches.append(GuardBreach(name: .afterPlan, sentence: refusal))
        }
        var outcome = PlanOutcome(breaches: breaches, lifts: try await lifts(of: breaches))
        outcome.seal = seal
        if context.job.mode == .apply, !outcome.lifts.isEmpty {
            let lifts = outcome.lifts
            try await store.recordLifts(lifts, in: pass, run: header)
        }
        outcome.breaches.removeAll { breach in outcome.lifts.contains { $0.name == breach.name } }
        // An undo looks at no guard, so it accepts no size either.
        if isGuarded, !outcome.breaches.contains(where: { $0.name == .maxShrinkShare }) {
            outcome.acceptedTableRows = plan.totals.tableRows
        }
        log(plan, seal, outcome)
        return outcome
    }

    /// Returns the objection of the job's own command to the plan; `nil` where it accepts it, or
    /// there is none.
    private func refusal(of seal: PlanSeal) async throws -> String? {
        guard let review = context.reviewPlan else { return nil }
        let refusal = try await review(seal)
        if let signal = context.stop.signal { throw RunEnd.signal(signal) }
        return refusal
    }

    /// Reverting a run is not guarded: it was requested for exactly these corrections, and Apple's
    /// answers have no part in it.
    private var isGuarded: Bool {
        if case .undo = context.job.planSource { false } else { true }
    }

    /// The plan against what was checked when it was made.
    private func guardedTotals() async throws(StoreError) -> PlanTotals {
        var plan = try await context.store.planTotals(of: context.pass)
        guard case .plan(let digest) = context.job.planSource else { return plan }
        let origin = try await context.store.planTotals(ofPlan: digest)
        plan.totals = origin.totals
        plan.notFound = origin.notFound
        plan.verificationFailures = origin.verificationFailures
        // Which of the rows in flight rested on our own corrections is known to that run alone.
        plan.inFlightByOurselves = origin.totals.excluded[.inFlight] ?? 0
        plan.lastRun = nil
        plan.tableCoverage = origin.tableCoverage
        plan.routine = origin.routine
        return plan
    }

    /// Returns the guards that are lifted for this run: by its own arguments, or by those of a
    /// killed run whose plan was let through and is continued.
    private func lifts(of breaches: [GuardBreach]) async throws -> [GuardLift] {
        let sentences = Dictionary(keepingFirst: breaches.map { ($0.name, $0.sentence) })
        var lifts: [GuardName: GuardLift] = [:]
        if context.pass.resumedFrom != nil {
            let earlier = try await context.store.liftsOfKilledRuns(in: context.pass)
            for lift in earlier { lifts[lift.name] = lift }
        }
        for (name, reason) in context.job.liftedGuards {
            lifts[name] = GuardLift(
                name: name, reason: reason, actor: context.header.actor,
                liftedAt: context.clock.now(), liftedBy: context.header.runID)
        }
        return GuardName.allCases.compactMap { name in
            guard var lift = lifts[name] else { return nil }
            lift.breach = sentences[name]
            return lift
        }
    }

    /// A run that continues a killed run checks its canary before it writes the rest.
    private func canarySize() async throws -> Int {
        let begun = try await context.store.canarySize(of: context.pass)
        return max(context.job.canary ?? 0, begun)
    }

    private func log(_ plan: SurveyedPlan, _ seal: PlanSeal, _ outcome: PlanOutcome) {
        context.log(
            "plan",
            [
                "changes": "\(plan.totals.changes)", "breaches": "\(outcome.breaches.count)",
                "plan": "\(seal.sha256)",
            ])
        for breach in outcome.breaches {
            context.log(
                "guard.breach",
                ["guard": "\(breach.name.rawValue)", "sentence": "\(breach.sentence)"], at: .warning
            )
        }
        for lift in outcome.lifts {
            context.log(
                "guard.lifted",
                [
                    "guard": "\(lift.name.rawValue)", "reason": "\(lift.reason)",
                    "actor": "\(lift.actor)", "lifted_by": "\(lift.liftedBy)",
                    "sentence": "\(lift.breach ?? "")",
                ], at: .warning)
        }
    }
}

extension RunContext {
    /// Writes corrections batch by batch, until none is left or the run is asked to stop.
    func apply(
        _ batch: (Int, Timestamp) async throws -> Int
    ) async throws {
        var applied = 0
        let total = try await store.correctionsLeft(of: pass)
        while true {
            let isReleased = try await store.waitForCompanyDatabase()
            if let signal = stop.signal { throw RunEnd.signal(signal) }
            guard isReleased else { throw RunEnd.deadline }
            let now = clock.now()
            let count = try await batch(RunLimits.correctionsPerTransaction, now)
            guard count > 0 else { return }
            applied += count
            progress(RunProgress(stage: .apply, done: applied, total: max(applied, total)))
        }
    }
}

/// Has a plan reviewed outside of the run before its first write.
///
/// It returns whole sentences that say why the plan is refused, or `nil` where it is accepted.
/// Where the run was asked to stop meanwhile, what it returns does not count.
package typealias PlanReview = @Sendable (PlanSeal) async throws -> String?

/// The result of the stage that guards and writes the plan.
struct PlanOutcome: Hashable, Sendable {
    /// The objections of the guards; if there are any, nothing was written.
    var breaches: [GuardBreach] = []
    /// Guards that were lifted, whether they objected or not.
    var lifts: [GuardLift] = []
    /// `nil` when no canary was requested.
    var canary: CanaryOutcome?
    /// Which plan it is; `nil` where the run ended before it was complete.
    var seal: PlanSeal?
    /// The table's size, unless a guard objects to it or none has looked at it.
    var acceptedTableRows: Int?
}

extension RunContext {
    /// Writes the corrections of a few subscriptions, asks Apple about exactly these again, and judges
    /// what now is in the database.
    ///
    /// The rest of a plan is only written when they all agree. The choice is stored before anything is
    /// written, so a run that continues a killed one looks at the same rows.
    func checkCanary(of size: Int) async throws -> CanaryOutcome {
        let rows = try await writeCanary(of: size)
        var differing: [String: String] = [:]
        var undecided: [UndecidedReason: Int] = [:]
        for start in stride(from: 0, to: rows.count, by: RunLimits.rowsPerPage) {
            let some = Array(rows[start..<min(rows.count, start + RunLimits.rowsPerPage)])
            let look = try await lookAgain(at: some)
            if let end = look.end { return .interrupted(end, subscriptions: rows.count) }
            for (row, judgement) in look.judgements {
                switch judgement {
                case .agrees: break
                case .differs(let what): differing[row.key.originalTransactionID] = what
                case .undecided(let reason): undecided[reason, default: 0] += 1
                }
            }
        }
        log(
            "canary",
            [
                "subscriptions": "\(rows.count)", "differing": "\(differing.count)",
                "undecided": "\(undecided.values.reduce(0, +))",
            ], at: .notice)
        if !differing.isEmpty { return .differs(differing, of: rows.count) }
        if !undecided.isEmpty { return .undecided(undecided, of: rows.count) }
        return .agrees(subscriptions: rows.count)
    }

    /// Writes until so many subscriptions are corrected, or the plan has no more: a row that
    /// changed or that the database refuses proves nothing, and another takes its place.
    private func writeCanary(of size: Int) async throws -> [CanaryRow] {
        while true {
            try await apply { limit, now in
                try await store.applyPlanned(
                    isCanary: true, limit: limit, in: pass, run: header, at: now)
            }
            let written = try await store.writtenCanary(of: pass)
            let wanted = size - written.count
            guard wanted > 0 else { return written }
            let chosen = try await store.extendCanary(by: wanted, in: pass, run: header)
            guard chosen > 0 else { return written }
        }
    }

    /// Asks about the rows as they are now.
    ///
    /// They were signed a moment ago, so what keeps a walk away from rows in flight must not keep
    /// this look away from them.
    ///
    /// - Returns: The judgements, or the reason to end the run.
    private func lookAgain(
        at rows: [CanaryRow]
    ) async throws -> (judgements: [(CanaryRow, CanaryJudgement)], end: RunEnd?) {
        var context = self
        context.job.policy.settleMilliseconds = 0
        let keys = Set(rows.map(\.key))
        let held = try await context.rows.rows(holding: rows.map(\.key.originalTransactionID))
            .filter { keys.contains($0.row.key) }
        let subjects = held.compactMap { row in
            appToAsk(about: row.row, policy: context.job.policy).map {
                AskedPage.Subject(id: row.row.key.originalTransactionID, row: row, app: $0)
            }
        }
        let page = await context.answers(to: subjects)
        // An outage leaves rows undecided; anything else ends the run in its own words.
        switch page.end {
        case nil, .unavailable: break
        case .some(let end): return ([], end)
        }
        let outcomes = Dictionary(keepingFirst: page.batch.outcomes.map { ($0.key, $0) })
        let heldKeys = Set(held.map(\.row.key))
        let judgements = rows.map { row in
            let judgement = CanaryJudgement(
                of: row, isHeld: heldKeys.contains(row.key), outcome: outcomes[row.key])
            return (row, judgement)
        }
        return (judgements, nil)
    }
}

/// The result of asking about the first corrections again.
enum CanaryOutcome: Hashable, Sendable {
    /// Apple could not have been asked again, so nothing was written.
    case notBegun
    /// All of so many corrected subscriptions agree with Apple now.
    case agrees(subscriptions: Int)
    /// Some do not agree: by original transaction id, what differs. The rest was not written.
    case differs([String: String], of: Int)
    /// Some could not be checked, for these reasons. The rest was not written.
    case undecided([UndecidedReason: Int], of: Int)
    /// The run had to end while so many written subscriptions were checked again.
    case interrupted(RunEnd, subscriptions: Int)

    /// Whether the rest may be written.
    var allowsRest: Bool {
        if case .agrees = self { true } else { false }
    }

    /// Whether the next run of the job continues the checkpoint and checks the canary again.
    var leavesPassOpen: Bool {
        switch self {
        case .notBegun, .undecided: true
        case .agrees, .differs, .interrupted: false
        }
    }

    /// The reason to end the run now, apart from the canary.
    var end: RunEnd? {
        if case .interrupted(let end, _) = self { end } else { nil }
    }
}
