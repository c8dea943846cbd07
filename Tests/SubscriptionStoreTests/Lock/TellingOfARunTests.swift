import Foundation
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `What a running job tells beside the database` {
    private let now = Timestamp(unixMilliseconds: 1_790_000_000_000)

    private func run(holder: String = "me@host, process 17, run nightly") -> LiveRun {
        var run = LiveRun(
            holder: holder, since: now, process: 17, runID: "20261120T031704Z-7f3c9a",
            job: "nightly", writtenAt: now.adding(milliseconds: 1000))
        run.sentence = "walk: 120 of 400 rows asked, 25/s, 11 s left"
        run.stage = "walk"
        run.done = 120
        run.total = 400
        run.donePerMinute = 1500
        run.secondsLeft = 11
        run.wait = LiveRun.Wait(
            reason: "subscription_statuses (quota)", until: now.adding(milliseconds: 60_000))
        run.quota = [
            LiveRun.QuotaUse(
                app: AppIdentity(bundleID: "com.example.app", environment: .sandbox),
                endpoint: "subscription_statuses", calls: 90, limit: 9000)
        ]
        return run
    }

    @Test func `is read as it was told`() throws {
        let database = try TemporaryDatabase()
        let file = LiveRunFile(besideDatabaseAt: database.path)
        #expect(file.read(heldBy: (run().holder, now)) == nil)
        file.tell(run())
        #expect(file.read(heldBy: (run().holder, now)) == run())
        file.remove()
        #expect(file.read(heldBy: (run().holder, now)) == nil)
    }

    @Test func `does not count for another holder of the lock`() throws {
        let database = try TemporaryDatabase()
        let file = LiveRunFile(besideDatabaseAt: database.path)
        file.tell(run())
        #expect(file.read(heldBy: ("me@host, process 18, run nightly", now)) == nil)
        // The kernel gave the same number again.
        #expect(file.read(heldBy: (run().holder, now.adding(milliseconds: 1))) == nil)
        #expect(file.read(heldBy: (run().holder, nil)) == nil)
    }

    @Test func `is for the job's user alone, and leaves nothing else behind`() throws {
        let database = try TemporaryDatabase()
        let file = LiveRunFile(besideDatabaseAt: database.path)
        file.tell(run())
        file.tell(run())
        let path = database.path + "-progress"
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let names = try FileManager.default.contentsOfDirectory(
            atPath: database.folder.path)
        #expect(names.filter { $0.contains("-progress") }.count == 1, "\(names)")
        // What others can write is nobody's word.
        try FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: path)
        #expect(file.read(heldBy: (run().holder, now)) == nil)
    }

    @Test(arguments: ["", "{}", "[1]", "{\"holder\":\"me\"", "\u{0}"])
    func `is nothing where the file holds something else`(text: String) throws {
        let database = try TemporaryDatabase()
        let path = database.path + "-progress"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(LiveRunFile(besideDatabaseAt: database.path).read(heldBy: ("me", now)) == nil)
    }
}
