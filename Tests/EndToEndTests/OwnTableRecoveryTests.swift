import Foundation
import GRDB
import TestSupport
import Testing

/// A table of the company's own after something failed: a plan is continued, and books that were put
/// back find their ledger again.
@Suite(.timeLimit(.minutes(30))) struct `A table of the company's own, after a failure` {
    private func place() throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "40", "--drift", "0.3", "--seed", "11",
        ])
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

    private func rows(_ place: Workplace) throws -> [[String]] {
        try shop(place).read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM subs ORDER BY app, env, otid").map { row in
                row.databaseValues.map { "\($0.storage.value ?? "NULL")" }
            }
        }
    }

    private func fates(_ place: Workplace) throws -> [String: Int] {
        try #require(try place.summary()["corrections"] as? [String: Int])
    }

    @Test func `a plan whose application failed is continued, also from the failed report`() throws
    {
        let place = try place()
        try #require(place.run("check", "nightly").status == 2)
        let planned = try #require(
            try JSONSerialization.jsonObject(with: Data(place.report("plan.json").utf8))
                as? [String: Any])
        let count = try #require(planned["corrections"] as? [[String: Any]]).count
        let identity = try #require(planned["plan_sha256"] as? String)
        try #require(count > 0)
        let before = try rows(place)
        let latest = place.folder.url.path + "/reports/latest"

        // The schema changes overnight: twice, so that a failed report is applied as well.
        try shop(place).writeWithoutTransaction { db in
            try db.execute(sql: "ALTER TABLE subs RENAME COLUMN state TO status")
        }
        for _ in 1...2 {
            let failed = try place.run("apply", latest)
            #expect(failed.status == 78, "\(failed.output)\(failed.errors)")
            #expect(try place.report("plan.json").contains(identity))
            #expect(try place.run("verify").status == 0)
        }
        try shop(place).writeWithoutTransaction { db in
            try db.execute(sql: "ALTER TABLE subs RENAME COLUMN status TO state")
        }
        #expect(try rows(place) == before)

        // A service holds the table.
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let service = try DatabaseQueue(
            path: place.folder.url.appendingPathComponent("shop.sqlite").path,
            configuration: configuration)
        try service.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let busy = try place.run("apply", latest)
        try service.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(busy.status == 75, "\(busy.output)\(busy.errors)")
        #expect(try rows(place) == before)

        let applied = try place.run("apply", latest)
        #expect(applied.status == 0, "\(applied.output)\(applied.errors)")
        #expect(try place.reportLines("corrections.jsonl").count == count)
        #expect(try rows(place) != before)
        #expect(try place.run("verify", "--database").status == 0)
        let again = try place.run("apply", latest)
        #expect(again.status == 0)
        #expect(again.output.contains("Applied before"), "\(again.output)")
        let night = try place.run("run", "nightly")
        #expect([0, 2].contains(night.status), "\(night.output)\(night.errors)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
    }

    // MARK: Books that were put back

    private func correct(_ place: Workplace) throws {
        try shop(place).writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    UPDATE subs SET state = 2 WHERE otid IN (
                        SELECT otid FROM subs WHERE state = 1 ORDER BY otid LIMIT 3)
                    """)
        }
        let night = try place.run("run", "nightly")
        try #require([0, 2].contains(night.status), "\(night.output)\(night.errors)")
        try #require(!place.reportLines("corrections.jsonl").isEmpty)
    }

    private func backUp(_ name: String, _ place: Workplace) throws {
        func path(_ name: String) -> String { place.folder.url.appendingPathComponent(name).path }
        try DatabaseQueue(path: path(name)).backup(to: DatabaseQueue(path: path(name + ".backup")))
    }

    private func putBack(_ name: String, _ place: Workplace) throws {
        let file = place.folder.url.appendingPathComponent(name)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: file.path + suffix)
        }
        try FileManager.default.copyItem(
            atPath: file.path + ".backup", toPath: file.path)
    }

    /// Which databases were restored, and declared, before the books are put back once more.
    enum Restored: CaseIterable { case both, table, tableBehindBooks }

    @Test(arguments: Restored.allCases, [true, false])
    func `books put back to before a declared restore find the ledger again`(
        what: Restored, isDeclared: Bool
    ) throws {
        let place = try place()
        try correct(place)
        if what != .tableBehindBooks { try backUp("trueup.sqlite", place) }
        try backUp("shop.sqlite", place)
        try correct(place)
        if what == .tableBehindBooks { try backUp("trueup.sqlite", place) }
        try correct(place)

        try putBack("shop.sqlite", place)
        if what == .both { try putBack("trueup.sqlite", place) }
        let declared = try place.run("restored", "--reason", "the disk of host-1 died")
        #expect(declared.status == 0, "\(declared.output)\(declared.errors)")
        try correct(place)
        let newest = try place.reportLines("corrections.jsonl").compactMap {
            $0["ledger_entry"] as? Int
        }

        // The books alone are put back, to a state before that.
        try putBack("trueup.sqlite", place)
        if isDeclared {
            let again = try place.run("restored", "--reason", "the books were put back")
            #expect(again.status == 0, "\(again.output)\(again.errors)")
            #expect(again.output.contains("to \(try #require(newest.max())) were imported"))
        } else {
            let doctor = try place.run("doctor")
            #expect(doctor.status == 0, "\(doctor.output)")
            #expect(doctor.output.contains("trueup's database lacks the ledger there from entry"))
        }
        try correct(place)
        let entries = try place.reportLines("corrections.jsonl").compactMap {
            $0["ledger_entry"] as? Int
        }
        #expect(entries.min() == (newest.max() ?? 0) + 1, "\(entries)")
        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.output)")
        #expect(try place.run("doctor").status == 0)
        try correct(place)
        #expect(try place.run("verify").status == 0)
    }
}
