import Reconciliation
import Subscriptions
import Testing

@testable import ReconciliationRun

@Suite struct `How a run ends` {
    private func decision(_ change: (inout ExitDecision) -> Void = { _ in }) -> ExitDecision {
        var totals = RunTotals()
        totals.matched = 10
        var decision = ExitDecision(
            end: .completed, appleAnswered: true, totals: totals, walks: true, unresolved: [:],
            failOn: .high, plan: PlanOutcome(), mode: .apply, job: "nightly", runID: "run-7",
            incompleteReadings: [])
        change(&decision)
        return decision
    }

    private func code(_ change: (inout ExitDecision) -> Void) -> Int32 {
        ExitStatus.decisive(of: decision(change).statuses).code
    }

    @Test func `a complete run with nothing unresolved is ok`() {
        #expect(decision().statuses.isEmpty)
        #expect(code { _ in } == 0)
    }

    @Test func `findings count from fail_on upwards`() {
        #expect(code { $0.unresolved = [.medium: 3] } == 0)
        #expect(code { $0.unresolved = [.high: 1] } == 2)
        #expect(code { $0.unresolved = [.critical: 1] } == 2)
        #expect(
            code {
                $0.unresolved = [.critical: 1]
                $0.failOn = nil
            } == 0)
    }

    @Test func `undecided rows make it incomplete even when findings remain`() {
        #expect(code { $0.totals.undecided = [.unavailable: 1] } == 3)
        #expect(
            code {
                $0.totals.undecided = [.unavailable: 1]
                $0.unresolved = [.critical: 1]
            } == 3)
    }

    @Test func `no answer at all is unavailable and not merely incomplete`() {
        #expect(
            code {
                $0.appleAnswered = false
                $0.totals.undecided = [.unavailable: 10]
            } == 69)
    }

    @Test func `a row that was inserted was in scope`() {
        for walks in [false, true] {
            let codes = [0, 1].map { changes in
                code {
                    $0.walks = walks
                    $0.totals = RunTotals()
                    $0.changes = changes
                }
            }
            #expect(codes == [5, 0])
        }
        // Rows that stand there and that nobody judged are another matter.
        let unasked = decision {
            $0.totals = RunTotals()
            $0.coveredRows = 7
            $0.changes = 1
        }
        #expect(unasked.statuses == [.incomplete])
        #expect(unasked.messages.contains { $0.contains("none was due, and no sample was drawn") })
    }

    @Test func `nothing to ask is not an outage`() {
        #expect(code { $0.appleAnswered = nil } == 0)
    }

    @Test func `a refused app counts beside all that the other apps came to`() throws {
        let app = AppIdentity(bundleID: "com.example.app", environment: .production)
        let denied = [app: try #require(AppRefusal(.denied("Revoked.")))]
        let unknown = [app: try #require(AppRefusal(.misconfigured("Unknown.")))]
        #expect(code { $0.refusedApps = denied } == 77)
        #expect(code { $0.refusedApps = unknown } == 78)
        #expect(
            code {
                $0.refusedApps = denied
                $0.end = .unavailable("503")
                $0.appleAnswered = false
            } == 77)
    }

    @Test(arguments: [0, 3])
    func `only rows that were to be asked about are said to be undecided`(unreached: Int) throws {
        let decision = decision {
            $0.end = .stop(.denied("Revoked."))
            $0.appleAnswered = false
            $0.totals = RunTotals()
            $0.unreached = unreached
        }
        let says = decision.messages.joined().contains("every row counts as undecided")
        #expect(says == (unreached > 0))
    }

    @Test func `an empty table is not a green report`() {
        #expect(code { $0.totals = RunTotals() } == 5)
        #expect(
            code {
                $0.totals = RunTotals()
                $0.walks = false
            } == 5)
    }

    @Test func `notifications that led to no row are said, and other ends decide before that`() {
        let read = decision {
            $0.totals = RunTotals()
            $0.walks = false
            $0.notifications = 412
        }
        #expect(read.statuses == [.empty])
        #expect(read.messages.contains { $0.hasPrefix("The run read 412 notifications") })
        for mode in [RunMode.check, .apply] {
            #expect(
                code {
                    $0.totals = RunTotals()
                    $0.walks = false
                    $0.mode = mode
                    $0.unresolved = [.high: 1]
                } == 2)
        }
        let unread = decision {
            $0.totals = RunTotals()
            $0.walks = false
            $0.incompleteReadings = ["The history was not read to its end."]
        }
        #expect(unread.statuses == [.incomplete])
    }

    @Test func `a run that checked nothing, or left out rows without an option, is incomplete`() {
        #expect(
            code {
                $0.totals.matched = 0
                $0.totals.excluded = [.inFlight: 10]
            } == 3)
        #expect(code { $0.totals.excluded = [.appNotConfigured: 1] } == 3)
        #expect(code { $0.totals.excluded = [.inFlight: 1] } == 0)
    }

    @Test func `each way to end has its status`() {
        let expected: [(RunEnd, Int32)] = [
            (.deadline, 3), (.signal(2), 130), (.signal(15), 143), (.stop(.denied("x")), 77),
            (.stop(.misconfigured("x")), 78), (.stop(.store(.unavailable("x"))), 69),
            (.stop(.quotaWaitPastDeadline(until: Timestamp(unixMilliseconds: 0))), 75),
            (.unavailable("x"), 3), (.unreadable("x"), 76), (.store(.unavailable("x")), 69),
            (.store(.notWritten("x")), 74), (.store(.busy("x")), 75), (.store(.schema("x")), 78),
            (.store(.inconsistent("x")), 70),
        ]
        for (end, status) in expected {
            #expect(code { $0.end = end } == status, "\(end)")
        }
    }

    @Test func `a refused key outranks everything that follows from it`() {
        #expect(
            code {
                $0.end = .stop(.denied("x"))
                $0.appleAnswered = false
                $0.totals.undecided = [.deadline: 10]
            } == 77)
    }

    @Test func `a guard stops an apply and only warns a check`() {
        let breach = GuardBreach(name: .maxChanges, sentence: "501 changes")
        #expect(code { $0.plan.breaches = [breach] } == 4)
        #expect(
            code {
                $0.plan.breaches = [breach]
                $0.mode = .check
                $0.unresolved = [.high: 1]
            } == 2)
    }

    @Test func `a notification history that was not read to its end is incomplete`() {
        #expect(code { $0.incompleteReadings = ["lost"] } == 3)
    }

    @Test func `only evidence without doubt is applied`() {
        #expect(RunEnd.deadline.allowsApplying)
        #expect(RunEnd.unavailable("x").allowsApplying)
        #expect(!RunEnd.signal(15).allowsApplying)
        #expect(!RunEnd.stop(.denied("x")).allowsApplying)
        #expect(!RunEnd.unreadable("x").allowsApplying)
    }

    @Test func `the messages say what happened and what was not changed`() {
        let stopped = decision { $0.end = .signal(15) }.messages
        #expect(stopped.first?.contains("Signal 15") == true)
    }
}
