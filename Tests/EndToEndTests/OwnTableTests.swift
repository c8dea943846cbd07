import Foundation
import GRDB
import TestSupport
import Testing

/// The rows in a table of the company's own, under its names, with its words and its times as text.
@Suite struct `A table of the company's own, for a night` {
    private static let columns = [
        "original_transaction_id", "bundle_id", "environment", "customer_id", "app_account_token",
        "product_id", "grace_period_expires_date", "auto_renew_status", "auto_renew_product_id",
        "revocation_date", "in_app_ownership_type", "latest_transaction_id",
        "web_order_line_item_id", "signed_date",
    ]

    /// The same rows twice: in our table, and in one of the company's.
    private func places() throws -> (ours: Workplace, theirs: Workplace) {
        let simulator = try RunningSimulator([
            "--customers", "75", "--drift", "0.2", "--seed", "5",
        ])
        let ours = try Workplace(on: simulator)
        try #require(ours.run("init").status == 0)
        try #require(ours.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let theirs = try Workplace(on: simulator)
        try fill(theirs, from: ours)
        let times: Set = ["grace_period_expires_date", "revocation_date", "signed_date"]
        let mapped = Self.columns.map { name in
            times.contains(name)
                ? "\(name): {column: c_\(name), form: milliseconds}" : "\(name): c_\(name)"
        }
        try theirs.folder.write(
            "apps:\n" + simulator.appYAML() + """
                store:
                  url: sqlite:shop.sqlite
                  books: sqlite:trueup.sqlite
                  subscriptions:
                    table: subs
                    columns: {\(mapped.joined(separator: ", ")), expires_date: {column: "ends at", form: timestamptz}}
                    status: {column: state, words: {on: 1, off: 2, retry: 3, grace: 4, gone: 5}}
                    insert: {note: inserted}
                report:
                  directory: reports

                """, to: "trueup.yaml")
        try #require(theirs.run("init").status == 0)
        return (ours, theirs)
    }

    private func shop(_ place: Workplace) throws -> DatabaseQueue {
        try DatabaseQueue(path: place.folder.url.appendingPathComponent("shop.sqlite").path)
    }

    private func fill(_ theirs: Workplace, from ours: Workplace) throws {
        let path = ours.folder.url.appendingPathComponent("trueup.sqlite").path
        let copied = Self.columns.map { "\($0) AS c_\($0)" }.joined(separator: ", ")
        try shop(theirs).writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH ? AS ours", arguments: [path])
            try db.execute(
                sql: """
                    CREATE TABLE subs AS SELECT \(copied),
                        CASE WHEN expires_date IS NOT NULL THEN
                            strftime('%Y-%m-%dT%H:%M:%S', expires_date / 1000, 'unixepoch')
                                || printf('.%03dZ', expires_date % 1000) END AS "ends at",
                        CASE status WHEN 1 THEN 'on' WHEN 2 THEN 'off' WHEN 3 THEN 'retry'
                            WHEN 4 THEN 'grace' WHEN 5 THEN 'gone' END AS state,
                        'theirs' AS note
                    FROM ours.subscriptions
                    """)
            try db.execute(
                sql: """
                    CREATE UNIQUE INDEX by_key ON subs (
                        c_bundle_id, c_environment, c_original_transaction_id)
                    """)
            try db.execute(sql: "DETACH ours")
        }
    }

    private func table(_ place: Workplace) throws -> [[String]] {
        try shop(place).read { db in
            try Row.fetchAll(
                db,
                sql:
                    "SELECT * FROM subs ORDER BY c_bundle_id, c_environment, c_original_transaction_id"
            ).map { row in row.databaseValues.map { "\($0.storage.value ?? "NULL")" } }
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `has its one-time purchases compared and reported, and none corrected`() throws {
        let (_, theirs) = try places()
        let file = try #require(theirs.simulator.ready.purchasesFile)
        let imported = try theirs.run("import", file, "--purchases")
        try #require(imported.status == 0, "\(imported.errors)")
        let copy = try theirs.run("export", "--purchases").output
        try theirs.writeJob(
            "nightly", "settle: 0s\npurchases: {sweep_days: 1}", steps: "[walk]")
        let run = try theirs.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        let found = try theirs.reportLines("discrepancies.jsonl").filter {
            ($0["kind"] as? String ?? "").hasPrefix("purchase_")
        }
        #expect(!found.isEmpty)
        for line in found { #expect(line["action"] as? String == "none", "\(line)") }
        let counts = try #require(try theirs.summary()["purchases"] as? [String: Int])
        #expect(counts["corrected"] == 0 && counts["matched"] ?? 0 > 0, "\(counts)")
        #expect(try theirs.run("export", "--purchases").output == copy)
        let verified = try theirs.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `gets the corrections that ours gets, and gives them back`() throws {
        let (ours, theirs) = try places()
        let before = try table(theirs)
        let check = try theirs.run("check", "nightly")
        try #require(check.status == 2, "\(check.errors)")
        #expect(try table(theirs) == before)

        let own = try ours.run("run", "nightly")
        let other = try theirs.run("run", "nightly")
        #expect(own.status == other.status, "\(other.errors)\n\(other.output)")
        let corrections = try ours.writtenCorrections()
        #expect(!corrections.isEmpty)
        #expect(try theirs.writtenCorrections() == corrections)
        let entries = try shop(theirs).read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM trueup_corrections")
        }
        #expect(entries == corrections.count)
        #expect(
            try shop(theirs).read { try String.fetchSet($0, sql: "SELECT note FROM subs") }
                .isSubset(of: ["theirs", "inserted"]))
        #expect(try theirs.run("verify").status == 0)

        let run = try #require(try theirs.summary()["run_id"] as? String)
        let undo = try theirs.run("undo", run, "--execute")
        #expect([0, 2].contains(undo.status), "\(undo.errors)\n\(undo.output)")
        #expect(try table(theirs) == before)

        // Restored to a state before the night: whoever looks says what a run would say.
        #expect(try theirs.run("verify", "--database").output.contains("has the newest entry"))
        try shop(theirs).writeWithoutTransaction { db in
            try db.execute(sql: "DELETE FROM trueup_corrections")
        }
        for command in [
            ["doctor"], ["verify", "--database"], ["estimate", "nightly"], ["run", "nightly"],
        ] {
            let ended = try theirs.run(command)
            #expect(ended.status == 78, "\(command): \(ended.errors)\n\(ended.output)")
            #expect((ended.output + ended.errors).contains("trueup restored"))
        }
    }

    /// The line item is right, so only the history tells that the transaction is none of its.
    @Test(.timeLimit(.minutes(30)))
    func `has a wrong transaction of the right line item corrected`() throws {
        let (_, theirs) = try places()
        // No periods and no purchases are stored, so "always" reads no more than "when-needed".
        try theirs.writeJob("nightly", "settle: 0s\nhistory: always", steps: "[walk]")
        try #require([0, 2].contains(theirs.run("run", "nightly").status))
        let right = try table(theirs)
        try shop(theirs).writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    UPDATE subs SET c_latest_transaction_id = '420001099999999'
                    WHERE rowid = (
                        SELECT min(rowid) FROM subs
                        WHERE state = 'on' AND c_web_order_line_item_id IS NOT NULL)
                    """)
            #expect(db.changesCount == 1)
        }
        let run = try theirs.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        let written = try theirs.reportLines("corrections.jsonl")
        #expect(written.count == 1)
        let signed = try #require(Self.columns.firstIndex(of: "signed_date"))
        func unsigned(_ rows: [[String]]) -> [[String]] {
            rows.map { row in
                var row = row
                row.remove(at: signed)
                return row
            }
        }
        #expect(try unsigned(table(theirs)) == unsigned(right))
        #expect(try theirs.run("verify", "--database").status == 0)

        // With what was found the table agrees: no further history is read.
        try #require([0, 2].contains(theirs.run("run", "nightly").status))
        let calls = try #require(try theirs.summary()["calls"] as? [String: [String: Int]])
        #expect(calls["transaction_history"]?.values.reduce(0, +) ?? 0 == 0, "\(calls)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `that was changed overnight is not touched`() throws {
        let (_, theirs) = try places()
        try shop(theirs).writeWithoutTransaction { db in
            try db.execute(sql: "ALTER TABLE subs RENAME COLUMN state TO status")
        }
        let before = try table(theirs)
        let run = try theirs.run("run", "nightly")
        #expect(run.status == 78)
        #expect(run.errors.contains("`state`"), "\(run.errors)")
        #expect(try table(theirs) == before)
        let doctor = try theirs.run("doctor")
        #expect(doctor.output.contains("`state`"), "\(doctor.output)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `is not read into a database that has rows of its own, and doctor says so first`() throws {
        let (ours, theirs) = try places()
        let copy = theirs.folder.url.appendingPathComponent("trueup.sqlite")
        try FileManager.default.removeItem(at: copy)
        try FileManager.default.copyItem(
            at: ours.folder.url.appendingPathComponent("trueup.sqlite"), to: copy)
        for command in [["doctor"], ["run", "nightly"]] {
            let ended = try theirs.run(command)
            #expect(ended.status == 78, "\(command): \(ended.errors)\n\(ended.output)")
            let said = (ended.output + ended.errors).split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
            #expect(said.contains("has rows of its own"), "\(command): \(said)")
        }
    }
}
