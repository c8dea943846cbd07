import Reconciliation
import Subscriptions
import Testing

@testable import ReconciliationRun

@Suite struct `What is said of guards and canaries` {
    private func decision(
        _ plan: PlanOutcome, mode: RunMode = .apply, end: RunEnd = .completed, filled: Int = 0
    ) -> ExitDecision {
        var totals = RunTotals()
        totals.matched = 10
        totals.filled = filled
        return ExitDecision(
            end: end, appleAnswered: true, totals: totals, walks: true, unresolved: [:],
            failOn: .high, plan: plan, mode: mode, job: "nightly", runID: "run-7",
            incompleteReadings: [])
    }

    private let breaches = [
        GuardBreach(name: .maxChanges, sentence: "The plan changes 501 rows; it may 500."),
        GuardBreach(name: .maxOwnFault, sentence: "8 h later."),
    ]

    @Test func `a guard names itself, what was not changed, and the way through`() throws {
        let messages = decision(PlanOutcome(breaches: breaches)).messages
        #expect(messages[0].contains("guard max_changes: The plan changes 501 rows"))
        #expect(messages[1].contains("guard max_own_fault: 8 h later."))
        #expect(messages[2].contains("No subscription row was changed"))
        #expect(
            messages[2].contains(
                "trueup run nightly --lift-guard max_changes --lift-guard max_own_fault --reason "
                    + "'the plan of run run-7 was read and is right'` (with --canary"))
        #expect(messages[2].contains("`trueup show plan run-7` lists it"))
    }

    @Test func `a check is only warned`() {
        let decision = decision(PlanOutcome(breaches: breaches), mode: .check)
        #expect(decision.statuses.isEmpty)
        #expect(decision.messages.count == 2)
        #expect(decision.messages[0].contains("would stop this job: guard max_changes"))
        #expect(decision.messages[1].contains("would stop this job: guard max_own_fault"))
    }

    @Test func `a first fill is pointed to the job for it, and not to lifting a guard`() {
        for mode in [RunMode.apply, .check] {
            let messages = decision(
                PlanOutcome(breaches: [breaches[0]]), mode: mode, filled: 6
            ).messages
            let all = messages.joined(separator: " ")
            #expect(all.contains("6 of 10 rows only gain values"))
            #expect(all.contains("trueup run backfill"))
            #expect(!all.contains("--lift-guard"))
        }
        var half = decision(PlanOutcome(breaches: breaches), filled: 5)
        half.changes = 10
        #expect(half.messages.contains { $0.contains("--lift-guard") })
    }

    @Test func `a plan that mostly fills is a first fill, too, and so is one that is applied`() {
        var beside = decision(PlanOutcome(breaches: [breaches[0]]), filled: 4)
        beside.totals.discrepant = 3
        beside.changes = 7
        #expect(beside.messages.contains { $0.contains("trueup run backfill") })
        #expect(beside.messages.contains { $0.contains("also corrects what differs") })
        beside.planned = PlannedEnding(
            source: .plan("p"), unwritten: UnwrittenCorrections(), undo: nil)
        #expect(beside.messages.contains { $0.contains("trueup run backfill") })
        beside.plan = PlanOutcome(breaches: [breaches[1]])
        #expect(!beside.messages.contains { $0.contains("backfill") })
    }

    @Test func `a first fill that another guard objects to as well is told how to lift that one`() {
        for mode in [RunMode.apply, .check] {
            let messages = decision(PlanOutcome(breaches: breaches), mode: mode, filled: 6).messages
            let all = messages.joined(separator: " ")
            #expect(all.contains("`trueup run backfill`."))
            #expect(all.contains("max_own_fault stops the plan for another reason than its size"))
            #expect(
                all.contains("trueup run backfill --lift-guard max_own_fault --reason 'the plan"))
            #expect(!all.contains("--lift-guard max_changes"))
        }
    }

    @Test func `every command is whole: with its options, its settings and the plan's path`() throws
    {
        let head = PlanHead(database: "d", plannedBy: "run-7", job: "nightly", scope: [])
        let seal = PlanSeal(sha256: String(repeating: "a", count: 64), head: head, changes: 3)
        var outcome = PlanOutcome(breaches: breaches)
        outcome.seal = seal
        var guarded = decision(outcome)
        guarded.commands = RunCommands(
            own: ["trueup", "run", "nightly", "--ids-file", "my ids.txt"],
            check: ["trueup", "check", "nightly"], settings: ["--config", "/etc/trueup.yaml"])
        let told = guarded.messages.joined(separator: " ")
        #expect(
            told.contains("trueup run nightly --ids-file 'my ids.txt' --lift-guard max_changes"))
        #expect(told.contains("is right' --config /etc/trueup.yaml` (with --canary"))
        #expect(told.contains("trueup show plan run-7 --config /etc/trueup.yaml` lists it"))

        outcome.breaches = []
        var check = decision(outcome, mode: .check)
        #expect(check.messages.isEmpty)
        check.commands.report = "reports/2026-11-20/run-7"
        #expect(
            check.messages == [
                "Nothing is written yet. To see the plan: `trueup show plan run-7`. To apply exactly "
                    + "this plan: `trueup apply reports/2026-11-20/run-7/plan.json --approve "
                    + "\(seal.sha256)`"
            ])

        outcome.breaches = breaches
        var warned = decision(outcome, mode: .check)
        warned.commands.report = "reports/2026-11-20/run-7"
        let last = try #require(warned.messages.last)
        #expect(
            last.contains(
                "`trueup apply reports/2026-11-20/run-7/plan.json --approve \(seal.sha256) "
                    + "--lift-guard max_changes --lift-guard max_own_fault --reason 'the plan of run "
                    + "run-7 was read and is right'`"))
        #expect(last.contains("check again"))
    }

    private func lift(by run: String, breach: String?) -> GuardLift {
        GuardLift(
            name: .maxChanges, reason: "a price change", actor: "ops@host",
            liftedAt: Timestamp(unixMilliseconds: 0), liftedBy: run, breach: breach)
    }

    @Test func `a lift is told with its reason, and when it was not necessary`() throws {
        let used = decision(PlanOutcome(lifts: [lift(by: "run-7", breach: "501 rows.")]))
        #expect(used.statuses.isEmpty)
        #expect(
            used.messages == [
                "Guard max_changes was lifted once by ops@host (a price change): 501 rows."
            ])
        let idle = decision(PlanOutcome(lifts: [lift(by: "run-7", breach: nil)]))
        #expect(try #require(idle.messages.first).contains("not necessary"))
        let carried = decision(PlanOutcome(lifts: [lift(by: "run-6", breach: "501 rows.")]))
        #expect(try #require(carried.messages.first).contains("for the killed run run-6"))
    }

    @Test func `a canary that differs stops with 4, names the rows and the way back`() {
        let rows = Dictionary(uniqueKeysWithValues: (1...7).map { ("10\($0)", "status") })
        let decision = decision(PlanOutcome(canary: .differs(rows, of: 20)))
        #expect(decision.statuses == [.guarded])
        let text = decision.messages.joined(separator: " ")
        #expect(text.contains("guard canary: the run corrected 20 subscriptions"))
        #expect(text.contains("101 (status), 102 (status)"))
        #expect(text.contains("105 (status) and 2 more"))
        #expect(text.contains("Nothing more was written"))
        #expect(text.contains("trueup undo run-7"))
    }

    @Test func `a canary without a verdict is incomplete and never a success`() {
        let undecided = decision(PlanOutcome(canary: .undecided([.unavailable: 2], of: 20)))
        #expect(undecided.statuses == [.incomplete])
        #expect(undecided.messages.joined().contains("no verdict for 2 of them (unavailable)"))
        let notBegun = decision(PlanOutcome(canary: .notBegun), end: .deadline)
        #expect(notBegun.statuses == [.incomplete])
        #expect(notBegun.messages.joined().contains("No subscription row was changed"))
    }

    @Test func `an end in the middle of a canary does not claim that nothing was written`() {
        let end = RunEnd.unreadable("Five answers in a row could not be read.")
        let text = decision(PlanOutcome(canary: .interrupted(end, subscriptions: 20)), end: end)
            .messages.joined(separator: " ")
        #expect(text.contains("Nothing more was changed"))
        #expect(text.contains("had corrected 20 subscriptions as a canary"))
    }

    @Test func `a canary that agrees is told and ends well`() {
        let decision = decision(PlanOutcome(canary: .agrees(subscriptions: 20)))
        #expect(decision.statuses.isEmpty)
        let told = decision.messages.joined()
        #expect(told.contains("asked Apple again about 20 corrected subscriptions"))
    }
}
