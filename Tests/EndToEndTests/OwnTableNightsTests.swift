import Foundation
import GRDB
import TestSupport
import Testing

/// Nights over a table of the company's own that keeps times to the second.
@Suite(.timeLimit(.minutes(30))) struct `A table with whole seconds` {
    private func place(at now: String? = nil) throws -> Workplace {
        let simulator = try RunningSimulator(
            ["--customers", "60", "--drift", "0.4", "--seed", "11"]
                + (now.map { ["--now", $0] } ?? []))
        let ours = try Workplace(on: simulator)
        try #require(ours.run("init").status == 0)
        try #require(ours.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let theirs = try Workplace(on: simulator)
        try theirs.writeJob("nightly", "settle: 0s")
        let path = ours.folder.url.appendingPathComponent("trueup.sqlite").path
        try shop(theirs).writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH ? AS ours", arguments: [path])
            try db.execute(
                sql: """
                    CREATE TABLE subs AS SELECT original_transaction_id AS otid,
                        bundle_id AS app, environment AS env, customer_id AS customer,
                        product_id AS product, expires_date / 1000 AS ends, status AS state
                    FROM ours.subscriptions WHERE status IS NOT NULL
                    """)
            try db.execute(sql: "CREATE UNIQUE INDEX by_key ON subs (app, env, otid)")
            try db.execute(sql: "DETACH ours")
        }
        try theirs.folder.write(
            "apps:\n" + simulator.appYAML() + """
                store:
                  url: sqlite:shop.sqlite
                  books: sqlite:trueup.sqlite
                  subscriptions:
                    table: subs
                    columns: {original_transaction_id: otid, bundle_id: app, environment: env, customer_id: customer, product_id: product, status: state, expires_date: {column: ends, form: seconds}}
                report:
                  directory: reports

                """, to: "trueup.yaml")
        try #require(theirs.run("init").status == 0)
        return theirs
    }

    private func shop(_ place: Workplace) throws -> DatabaseQueue {
        try DatabaseQueue(path: place.folder.url.appendingPathComponent("shop.sqlite").path)
    }

    private func table(_ place: Workplace) throws -> [[String]] {
        try shop(place).read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM subs ORDER BY app, env, otid").map { row in
                row.databaseValues.map { "\($0.storage.value ?? "NULL")" }
            }
        }
    }

    private func night(_ place: Workplace, _ arguments: String...) throws {
        let run = try place.run(["run", "nightly"] + arguments)
        try #require([0, 2, 3].contains(run.status), "\(run.output)\(run.errors)")
        let verify = try place.run("verify")
        #expect(verify.status == 0, "\(verify.output)")
    }

    @Test func `verifies, is right after one night, and can be taken back`() throws {
        let place = try place()
        let before = try table(place)
        try night(place)
        let times = try place.reportLines("corrections.jsonl").compactMap {
            ($0["after"] as? [String: Any])?["expires_date"] as? String
        }
        #expect(times.contains { !$0.hasSuffix(".000Z") }, "\(times)")
        let first = try #require(try place.summary()["run_id"] as? String)
        let corrected = try table(place)
        try night(place)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        #expect(try table(place) == corrected)
        let undo = try place.run("undo", first, "--execute")
        #expect([0, 2].contains(undo.status), "\(undo.output)\(undo.errors)")
        #expect(try table(place) == before)
        #expect(try place.run("verify").status == 0)
    }

    @Test func `books that are put back report no correction twice`() throws {
        let place = try place()
        try night(place, "--limit", "20")
        let books = place.folder.url.appendingPathComponent("trueup.sqlite")
        let backup = place.folder.url.appendingPathComponent("backup.sqlite")
        try DatabaseQueue(path: books.path).backup(to: DatabaseQueue(path: backup.path))
        try night(place)
        let lost = try place.reportLines("corrections.jsonl")
        try #require(!lost.isEmpty)
        let lostRun = try #require(try place.summary()["run_id"] as? String)
        let corrected = try table(place)

        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: books.path + suffix)
        }
        try FileManager.default.moveItem(at: backup, to: books)
        let doctor = try place.run("doctor")
        #expect(
            doctor.output.contains("trueup's database lacks the ledger there from entry"),
            "\(doctor.output)")
        #expect(try place.run("estimate", "nightly").status == 0)
        try night(place)
        #expect(try !place.run("doctor").output.contains("trueup's database lacks"))
        let said = try #require(try place.summary()["messages"] as? [String])
        #expect(
            said.contains {
                $0.contains("was restored to an earlier state") && $0.contains("run \(lostRun)")
            },
            "\(said)")
        #expect(said.contains { $0.contains("\(lost.count) correction") }, "\(said)")
        #expect(said.contains { $0.contains("inbox: imported") }, "\(said)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        #expect(try table(place) == corrected)
        #expect(try place.run("verify", "--database").status == 0)
        try night(place)
        let next = try #require(try place.summary()["messages"] as? [String])
        #expect(!next.contains { $0.contains("was restored to an earlier state") }, "\(next)")
        let undo = try place.run("undo", lostRun, "--execute")
        #expect([0, 2].contains(undo.status), "\(undo.output)\(undo.errors)")
        #expect(try place.reportLines("corrections.jsonl").count == lost.count)
        #expect(try place.run("verify", "--database").status == 0)
    }

    /// Rehearsals have a clock of their own, here one that is behind the machine's.
    @Test func `payloads that are lost with the books are lost by the run's clock`() throws {
        let day = "2026-01-15T"
        let place = try place(at: day + "02:00:00Z")
        try night(place, "--limit", "20", "--now", day + "02:00:00Z")
        let books = place.folder.url.appendingPathComponent("trueup.sqlite")
        let backup = place.folder.url.appendingPathComponent("backup.sqlite")
        try DatabaseQueue(path: books.path).backup(to: DatabaseQueue(path: backup.path))
        try night(place, "--now", day + "03:00:00Z")
        try #require(!place.reportLines("corrections.jsonl").isEmpty)

        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: books.path + suffix)
        }
        try FileManager.default.moveItem(at: backup, to: books)
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(
            settings.replacing("directory: reports", with: "directory: elsewhere"),
            to: "trueup.yaml")
        // It verifies its own report, with the tombstones of what is in no report at hand.
        try night(place, "--now", day + "04:00:00Z")
        let evidence = try place.folder.text("elsewhere/latest/evidence.jsonl")
        #expect(evidence.contains("\"lost\""))
    }

    @Test func `a table that is locked as the run begins leaves a report that says so`() throws {
        let place = try place()
        let before = try table(place)
        var configuration = Configuration()
        // It stays open while the run tries.
        configuration.allowsUnsafeTransactions = true
        let service = try DatabaseQueue(
            path: place.folder.url.appendingPathComponent("shop.sqlite").path,
            configuration: configuration)
        try service.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let run = try place.run("run", "nightly")
        try service.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(run.status == 75, "\(run.output)\(run.errors)")
        let text = try place.report("summary.txt").split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        #expect(
            text.hasPrefix(
                "Busy (exit status 75): another program kept the database locked while"), "\(text)")
        #expect(!text.contains("quota would pass"))
        #expect(try table(place) == before)
        let id = try #require(try place.summary()["run_id"] as? String)
        #expect(try place.run("status").output.contains(id))
        #expect(try place.run("verify").status == 0)
        try night(place)
    }
}
