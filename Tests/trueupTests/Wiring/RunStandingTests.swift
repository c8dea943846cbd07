import ReconciliationRun
import SubscriptionStore
import Subscriptions
import Testing
import trueup

@Suite struct `The standing of a run` {
    private let now = Timestamp(unixMilliseconds: 1_795_144_624_000)

    @Test func `says rate and time left once they are known`() {
        var standing = RunStanding(progress: RunProgress(stage: .walk, done: 120, total: 400))
        #expect(standing.sentence == "walk: 120 of 400 rows asked")
        #expect(standing.millisecondsLeft == nil)
        standing.perSecond = 4
        #expect(standing.sentence == "walk: 120 of 400 rows asked, 4.0/s, 1 min left")
        #expect(standing.millisecondsLeft == 70_000)
        standing.progress = RunProgress(stage: .recover, done: 7)
        #expect(standing.sentence == "recover: 7 notifications read, 4.0/s")
        standing.progress = RunProgress(stage: .load, done: 300, total: 500)
        #expect(
            standing.sentence == "load: 300 of 500 lines compared with the table, 4.0/s, 50 s left")
        #expect(RunStanding().sentence == nil)
    }

    @Test(arguments: [
        (0, "under 1 %"), (1, "under 1 %"), (10_800, "12 %"), (90_001, "100 %"),
    ])
    func `says what is used of the hour, of the endpoint that has used most`(
        calls: Int, words: String
    ) {
        let app = AppIdentity(bundleID: "com.example.app", environment: .production)
        let standing = RunStanding(
            progress: RunProgress(stage: .recover, done: 7),
            quota: [
                LiveRun.QuotaUse(app: app, endpoint: "a", calls: calls, limit: 90_000),
                LiveRun.QuotaUse(app: app, endpoint: "b", calls: 1, limit: 90_000),
            ])
        #expect(standing.sentence == "recover: 7 notifications read, \(words) of quota")
    }

    @Test(arguments: [20, 40, 60, 80, 120, 200])
    func `fits into every line, and leaves the least important out`(room: Int) {
        let app = AppIdentity(bundleID: "com.example.app", environment: .production)
        var standing = RunStanding(
            progress: RunProgress(stage: .walk, done: 120_000, total: 412_883), perSecond: 25,
            quota: [LiveRun.QuotaUse(app: app, endpoint: "a", calls: 10_800, limit: 90_000)])
        #expect(standing.line(within: room).count <= room)
        #expect(standing.line(within: room).contains("of quota") == (room >= 80))
        standing.wait = RunStanding.Wait(reason: "the quota", until: now)
        #expect(standing.line(within: room).count <= room)
    }

    @Test func `is told to others with every part`() {
        let run = LiveRun(
            holder: "me", since: now, process: 17, runID: "20261120T031704Z-7f3c9a",
            job: "nightly", writtenAt: now)
        let later = now.adding(milliseconds: 5000)
        let told = run.standing(
            RunStanding(
                progress: RunProgress(stage: .walk, done: 120, total: 400), perSecond: 4,
                wait: RunStanding.Wait(reason: "the quota", until: later)),
            at: later)
        #expect(told.writtenAt == later)
        #expect(told.sentence == "walk: 120 of 400 rows asked, 4.0/s, 1 min left")
        #expect(told.stage == "walk")
        #expect(told.done == 120)
        #expect(told.total == 400)
        #expect(told.donePerMinute == 240)
        #expect(told.secondsLeft == 70)
        #expect(told.wait == LiveRun.Wait(reason: "the quota", until: later))
    }

    @Test func `is heard of a line that nobody sees, too`() {
        let line = ProgressLine(
            isTerminal: false, isQuiet: true, now: { now }, write: { _ in })
        let progress = RunProgress(stage: .walk, done: 120, total: 400)
        line.show(progress)
        line.wait("Apple said no.", for: "a 429", until: now.adding(milliseconds: 1))
        #expect(line.standing.progress == progress)
        #expect(line.standing.wait?.reason == "a 429")
    }
}
