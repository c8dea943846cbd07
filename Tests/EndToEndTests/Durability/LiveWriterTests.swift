import Foundation
import GRDB
import TestSupport
import Testing

/// The company's own services go on writing to the table while a job corrects it.
@Suite struct `A live writer` {
    @Test(.timeLimit(.minutes(30)))
    func `keeps every newer value that it wrote during a run, and each conflict is counted`()
        throws
    {
        let simulator = try RunningSimulator([
            "--customers", "300", "--drift", "0.6", "--seed", "23",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        // The asking lasts ten seconds, so that also on a busy machine rows are written to between
        // their answer and their correction.
        let paced = simulator.appYAML()
            .replacingOccurrences(of: "requests_per_second: 5000", with: "requests_per_second: 30")
        try place.writeSettings(apps: [paced])
        let planted = try Planted(of: simulator).kinds.keys.sorted()
        let path = place.folder.url.appendingPathComponent("trueup.sqlite").path

        let running = try place.start("run", "nightly")
        let written = try Self.write(to: planted, of: path, while: running)
        let finished = running.wait()
        #expect([2, 3].contains(finished.status), "\(finished.errors)\n\(finished.output)")
        #expect(written.count > 50)

        let rows = try place.rows()
        for (id, product) in written {
            let row = rows.values.first { $0["original_transaction_id"] == id }
            #expect(row?["product_id"] == product, "\(id) was overwritten")
        }
        // What was planned and found moved is stale, and its row is undecided; nothing else is.
        let summary = try place.summary()
        let corrections = try #require(summary["corrections"] as? [String: Any])
        let reasons = try #require(summary["undecided_reasons"] as? [String: Any])
        #expect((corrections["stale"] as? Int ?? 0) > 0)
        #expect(reasons["changed_during_run"] as? Int == corrections["stale"] as? Int)
        #expect(try place.run("verify").status == 0)
    }

    /// Writes to the rows over and over, each time a value that nobody has written before, for as
    /// long as the run goes on; the last value of each row.
    ///
    /// It blocks its thread: a writer that others can keep waiting would write nothing.
    private static func write(
        to ids: [String], of path: String, while running: BuiltExecutable.Running
    ) throws -> [String: String] {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let service = try DatabaseQueue(path: path, configuration: configuration)
        // A row that is written to before the run has read it is newer, and no conflict.
        while running.process.isRunning {
            let judged = try service.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM trueup_pass_rows") ?? 0
            }
            guard judged == 0 else { break }
            usleep(8000)
        }
        var written: [String: String] = [:]
        var count = 0
        while running.process.isRunning {
            let id = ids[count % ids.count]
            count += 1
            let product = "live.\(count)"
            // Apple's statement that a service got a moment ago is newer than the run's answer.
            let now = Int64(Date().timeIntervalSince1970 * 1000) + 60_000
            let didWrite = try service.write { db in
                try db.execute(
                    sql: """
                        UPDATE subscriptions SET product_id = ?, signed_date = ?
                        WHERE original_transaction_id = ? AND bundle_id = 'com.example.app'
                        """,
                    arguments: [product, now, id])
                return db.changesCount == 1
            }
            if didWrite { written[id] = product }
            usleep(8000)
        }
        try service.close()
        return written
    }
}
