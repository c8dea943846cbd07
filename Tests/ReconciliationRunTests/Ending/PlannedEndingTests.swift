import Reconciliation
import Subscriptions
import Testing

@testable import ReconciliationRun

/// How runs end that work off a plan or take a run back.
@Suite struct `The end of a planned run` {
    private func decision(
        _ source: PlanSource, _ fates: [CorrectionFate: Int] = [:], undo: UndoCounts? = nil,
        end: RunEnd = .completed, breaches: [GuardBreach] = [], asPlanned: Int = 0
    ) -> ExitDecision {
        var unwritten = UnwrittenCorrections()
        unwritten.asPlanned = asPlanned
        for (fate, count) in fates {
            for number in 1...count { unwritten.add(fate, of: "\(fate.rawValue)-\(number)") }
        }
        // Rows that moved are undecided in the report; that alone must not decide the status.
        var totals = RunTotals()
        totals.undecided = [.changedDuringRun: fates[.stale] ?? 0]
        var decision = ExitDecision(
            end: end, appleAnswered: nil, totals: totals, walks: false, unresolved: [:],
            failOn: nil, plan: PlanOutcome(breaches: breaches), mode: .apply, job: "apply nightly",
            runID: "run-7", incompleteReadings: [])
        decision.commands = RunCommands(
            own: ["trueup", "apply", "reports/latest"], check: ["trueup", "check", "nightly"],
            settings: ["--config", "/etc/my app.yaml"])
        decision.planned = PlannedEnding(source: source, unwritten: unwritten, undo: undo)
        return decision
    }

    @Test func `all written is ok, and so is an empty plan`() {
        #expect(decision(.plan("p")).statuses.isEmpty)
        #expect(decision(.plan("p")).messages.isEmpty)
    }

    /// A plan keeps the limits that it was made under; those of an undo are of now.
    @Test func `a plan that a guard stops says whose limits hold, an undo does not`() {
        let breach = GuardBreach(name: .maxChanges, sentence: "The plan changes 501 rows.")
        let plan = decision(.plan("p"), breaches: [breach]).messages.joined(separator: " ")
        #expect(plan.contains("These are the limits under which the plan was made."))
        #expect(plan.contains("`trueup check nightly --config '/etc/my app.yaml'`"))
        let undo = decision(.undo(ofRun: "run-6"), breaches: [breach]).messages
        #expect(undo.joined().contains("Stopped by guard max_changes"))
        #expect(!undo.joined().contains("These are the limits"))
    }

    @Test func `rows that moved are stale and named, the first ten of many`() {
        let stale = decision(.plan("p"), [.stale: 12])
        #expect(stale.statuses == [.stale])
        let text = stale.messages.joined()
        #expect(text.contains("12 changes (stale-1, "))
        #expect(text.contains("stale-10, …)"))
        #expect(!text.contains("stale-11"))
    }

    @Test func `a newer statement is named with both dates, apart from rows that changed`() {
        var ending = decision(.plan("p"), [.stale: 3])
        ending.planned?.unwritten.add(
            OutdatedStatement(
                originalTransactionID: "stale-2", signed: Timestamp(unixMilliseconds: 0),
                newest: Timestamp(unixMilliseconds: 1000)))
        let text = ending.messages.joined(separator: " ")
        #expect(
            text.contains(
                "the plan rests on: 1 change (stale-2: of 1970-01-01T00:00:00.000Z, the newest is of "
                    + "1970-01-01T00:00:01.000Z)."), "\(text)")
        #expect(
            text.contains(
                "the row changed since the plan was made: 2 changes (stale-1, stale-3)."), "\(text)"
        )
    }

    @Test func `a new plan is asked for only where something is left to be written`() {
        let some = decision(.plan("p"), [.stale: 3], asPlanned: 2)
        #expect(some.statuses == [.stale])
        #expect(some.messages.joined().contains("2 of them already"))
        #expect(some.messages.joined().contains("Make a new plan"))
        let all = decision(.plan("p"), [.stale: 3], asPlanned: 3)
        #expect(all.statuses == [.stale])
        #expect(all.messages.joined().contains("nothing is left to do"))
        #expect(!all.messages.joined().contains("Make a new plan"))
    }

    @Test func `what the database or missing evidence forbids is incomplete`() {
        #expect(decision(.plan("p"), [.rejected: 1]).statuses == [.incomplete])
        #expect(decision(.plan("p"), [.unproven: 1]).statuses == [.incomplete])
        #expect(decision(.plan("p"), [.heldBack: 1]).statuses == [.stale])
        #expect(decision(.plan("p"), [.unproven: 1, .stale: 1]).statuses.first == .stale)
    }

    @Test func `a guard and a signal keep their own statuses`() {
        let tooMany = GuardBreach(name: .maxChanges, sentence: "Too many.")
        #expect(decision(.plan("p"), breaches: [tooMany]).statuses == [.guarded])
        let text = decision(.plan("p"), breaches: [tooMany]).messages.joined(separator: "\n")
        #expect(
            text.contains(
                "trueup apply reports/latest --lift-guard max_changes --reason 'the plan of run "
                    + "run-7 was read and is right' --config '/etc/my app.yaml'"), "\(text)")
        #expect(decision(.plan("p"), end: .signal(2)).statuses == [.interrupted])
    }

    @Test func `an undo says what comes back the next night`() {
        var counts = UndoCounts()
        counts.done = 3
        counts.conflicts = 1
        counts.named = ["7: the row is gone"]
        let undo = decision(.undo(ofRun: "r"), [.stale: 1], undo: counts)
        #expect(undo.statuses == [.stale])
        let text = undo.messages.joined(separator: " ")
        #expect(text.contains("Reverted before: 3."))
        #expect(text.contains("7: the row is gone"))
        #expect(text.contains("mode: check"))
    }

    @Test func `an undo that reverted nothing says nothing of reverted values`() {
        var counts = UndoCounts()
        counts.ready = 2
        let end = RunEnd.store(.schema("The table lacks a column."))
        var refused = decision(.undo(ofRun: "r"), undo: counts, end: end)
        #expect(!refused.messages.joined().contains("reverted values"))
        refused.planned?.unwritten.othersWereWritten = true
        #expect(refused.messages.joined().contains("reverted values"))
    }
}
