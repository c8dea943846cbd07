import SubscriptionStore
import Subscriptions
import Testing

@testable import trueup

@Suite struct `trueup status` {
    static let app = AppIdentity(bundleID: "com.example.app", environment: .production)
    static let now = Timestamp(unixMilliseconds: 1_795_000_000_000)

    private func report(
        running: StatusReport.Running? = nil, others: [WorkerRun] = [], gap: String? = nil,
        _ change: (inout StoreOverview) -> Void = { _ in }
    ) -> StatusReport {
        var overview = StoreOverview(
            subscriptions: 0, notYetKnown: 0, runs: [], lastCompletePass: nil, watermarks: [:],
            openFindings: [])
        change(&overview)
        return StatusReport(
            overview: overview, running: running, apps: [Self.app], now: Self.now, others: others,
            gap: gap)
    }

    @Test func `makes sense of an empty database`() {
        let text = report { _ in }.text
        #expect(text.contains("none; load them with \"trueup import FILE\""))
        #expect(text.contains("Running    nothing"))
        #expect(text.contains("no run has been complete yet"))
        #expect(text.contains("com.example.app Production  never read"))
        #expect(text.contains("Open findings: none"))
        #expect(text.contains("Runs: none yet"))
    }

    @Test func `names what reads a table of the company's own that was not read yet`() {
        let overview = StoreOverview(
            subscriptions: 0, notYetKnown: 0, runs: [], lastCompletePass: nil, watermarks: [:],
            openFindings: [])
        func rows(_ read: Timestamp?) -> String {
            StatusReport(
                overview: overview, running: nil, apps: [Self.app], now: Self.now,
                copy: CopyState(table: "subs", refreshedAt: read, rows: 0)
            ).text.split(separator: "\n").first.map(String.init) ?? ""
        }
        #expect(
            rows(nil).contains(
                "none; \"trueup check JOB\" reads them; imported from your table subs"))
        #expect(!rows(nil).contains("trueup import"))
        #expect(rows(Self.now).contains("none; imported from your table subs, read"))
    }

    @Test func `lists what other workers did last, or says why that is not known`() {
        let begun = WorkerRun(
            books: "two", worker: "ops@two", apps: ["com.example.two/production"],
            listing: RunListing(
                runID: "20261118T000000Z-7f3c9a", job: "nightly", mode: .apply, started: Self.now,
                ended: nil, exitStatus: nil, totals: RunTotals()))
        var ended = begun
        ended.apps.append("com.example.three/production")
        ended.listing.ended = Self.now
        ended.listing.exitStatus = .incomplete
        ended.headline = "Incomplete."
        ended.figures = RunSums(corrected: 41, open: 7, new: 1, money: [])
        let report = report(others: [begun, ended])
        #expect(report.text.contains("Last runs of other workers"), "\(report.text)")
        #expect(report.text.contains("com.example.two/production"))
        #expect(report.text.contains("2 apps"))
        #expect(report.text.contains("3 incomplete"))
        let json = report.json.rendered
        #expect(json.contains("\"other_workers\":[{\"apps\":[\"com.example.two/production\"]"))
        #expect(json.contains("\"corrections_applied\":41"))
        let gap = self.report(gap: "No server.")
        #expect(gap.text.hasSuffix("No server."))
        #expect(gap.json.rendered.contains("\"other_workers_gap\":\"No server.\""))
        #expect(!self.report { _ in }.json.rendered.contains("other_workers"))
    }

    @Test func `tells how far a running job is, and what it waits for`() {
        var live = LiveRun(
            holder: "me@host, process 17, run nightly", since: Self.now, process: 17,
            runID: "20261118T000000Z-7f3c9a", job: "nightly", writtenAt: Self.now)
        live.sentence = "walk: 120 of 400 rows asked, 25/s, 11 s left"
        live.done = 120
        live.wait = LiveRun.Wait(
            reason: "subscription_statuses (quota)", until: Self.now.adding(milliseconds: 1000))
        let report = report(
            running: StatusReport.Running(holder: live.holder, since: live.since, live: live))
        #expect(
            report.text.contains(
                """
                Running    me@host, process 17, run nightly, since \(Self.now.rfc3339) (0 s ago)
                           20261118T000000Z-7f3c9a
                           walk: 120 of 400 rows asked, 25/s, 11 s left
                           waiting until \(live.wait?.until.rfc3339 ?? "") for \
                subscription_statuses (quota)
                """), "\(report.text)")
        let json = report.json.rendered
        #expect(json.contains("\"running\":{\"done\":120,"), "\(json)")
        #expect(json.contains("\"holder\":\"me@host, process 17, run nightly\""))
    }

    @Test func `tells ages, findings by weight, and the last runs`() {
        let text = report { overview in
            overview.subscriptions = 2000
            overview.notYetKnown = 12
            overview.lastCompletePass = Self.now.adding(milliseconds: -90_000_000)
            overview.watermarks = [Self.app: Self.now.adding(milliseconds: -600_000)]
            overview.openFindings = [
                FindingCount(kind: .price, severity: .medium, state: .open, findings: 3),
                FindingCount(kind: .accessMissing, severity: .critical, state: .new, findings: 1),
            ]
            var totals = RunTotals()
            totals.matched = 1990
            totals.undecided = [.inFlight: 10]
            totals.excluded = [.inFlight: 4]
            overview.runs = [
                RunListing(
                    runID: "20261118T000000Z-7f3c9a", job: "nightly", mode: .apply,
                    started: Self.now, ended: Self.now.adding(milliseconds: 65_000),
                    exitStatus: .incomplete, totals: totals),
                RunListing(
                    runID: "20261117T000000Z-000000", job: "nightly", mode: .check,
                    started: Self.now, ended: nil, exitStatus: nil, totals: RunTotals()),
            ]
        }.text
        #expect(text.contains("2000, of which 12 are not known yet"))
        #expect(text.contains("(1 d 1 h ago)"))
        #expect(text.contains("(10 min ago)"))
        #expect(text.contains("3 incomplete"))
        // So that the line adds up.
        let line = text.split(separator: "\n").first { $0.contains("20261118T000000Z-7f3c9a") }
        #expect(
            line?.split(separator: " ").suffix(5) == ["2004", "1990", "0", "10", "4"], "\(text)")
        #expect(text.contains("not ended"))
        let critical = text.firstRange(of: "access_missing")?.lowerBound
        let medium = text.firstRange(of: "price")?.lowerBound
        #expect(
            critical != nil && medium != nil
                && critical ?? text.endIndex < medium ?? text.startIndex)
    }

    @Test func `says of a run that it left no report`() {
        let status = report { overview in
            overview.runs = [
                RunListing(
                    runID: "20261118T000000Z-7f3c9a", job: "nightly", mode: .apply,
                    started: Self.now, ended: Self.now, exitStatus: .output, totals: RunTotals())
            ]
        }
        #expect(status.text.contains("74 report not written"))
        #expect(status.json.rendered.contains(#""exit_status":74"#))
    }

    @Test func `tells of complete passes by app, where runs are for some alone`() {
        let other = AppIdentity(bundleID: "com.example.other", environment: .production)
        let began = Self.now.adding(milliseconds: -90_000)
        let single = report { $0.completePasses = [Self.app: began] }
        #expect(
            single.text.contains(
                """
                Coverage   by app, the last complete run began
                           com.example.app/production  \(began.rfc3339) (1 min ago)

                """), "\(single.text)")
        #expect(single.json.rendered.contains("\"coverage_age_seconds\":90"))
        let elsewhere = report { $0.completePasses = [other: began] }
        #expect(elsewhere.text.contains("none yet by this worker for 1 other app\n"))
        #expect(elsewhere.json.rendered.contains("\"last_complete_pass\":null"))
        #expect(
            elsewhere.json.rendered.contains(
                "\"complete_passes\":[{\"began\":null,\"bundle_id\":\"com.example.app\""))
        let whole = report {
            $0.lastCompletePass = began
            $0.completePasses = [Self.app: began]
        }
        #expect(whole.text.contains("Coverage   the last complete run began \(began.rfc3339)"))
    }

    @Test func `tells what was told, what waits and what was given up, where there is any`() {
        #expect(!report { _ in }.text.contains("Events "))
        let status = report { overview in
            overview.outbox.delivered = 59
            overview.outbox.waiting = 3
            overview.outbox.givenUp = 1
            overview.outbox.erased = 2
            overview.outbox.nextAttempt = Self.now.adding(milliseconds: 300_000)
            overview.outbox.lastError = "the receiver answered 500"
        }
        let line =
            "\nEvents     59 delivered; 3 waiting, next attempt 2026-11-18T11:11:40.000Z; 1 given up "
            + "(\"trueup tell --retry-given-up\"); 2 erased before delivery; "
            + "last failure: the receiver answered 500\n"
        #expect(status.text.contains(line), "\(status.text)")
        #expect(
            status.json.rendered.contains(
                #""outbox":{"erased":2,"given_up":1,"last_error":"the receiver answered 500","#
                    + #""next_attempt":"2026-11-18T11:11:40.000Z","told":59,"waiting":3}"#))
    }

    @Test func `says the same to machines`() {
        let json = report { overview in
            overview.lastCompletePass = Self.now.adding(milliseconds: -90_000)
            overview.subscriptions = 5
        }.json.rendered
        #expect(json.contains("\"coverage_age_seconds\":90"))
        #expect(json.contains("\"subscriptions\":5"))
        #expect(json.contains("\"running\":null"))
        #expect(json.contains("\"watermark\":null"))
    }
}

extension StatusReport {
    fileprivate var text: String { lines.joined(separator: "\n") }
}
