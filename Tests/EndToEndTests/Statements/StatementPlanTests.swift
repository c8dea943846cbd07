import Foundation
import GRDB
import TestSupport
import Testing

/// How the statements of the store are run: on a database of today, which has no statistics, on one
/// with rows, and on one that somebody has analyzed.
@Suite struct `The statements that the commands run` {
    /// Statements that may read more than a few rows, by how they begin, and why.
    private static let exceptions = [
        "DELETE FROM trueup_pass_": "the last rows of a pass, fewer than a chunk",
        "SELECT EXISTS (SELECT 1 FROM trueup_absences)": "stops at the first row",
        "SELECT EXISTS (SELECT 1 FROM trueup_pass_continuations WHERE pass_id = ?)":
            "stops at the first row, which an index finds",
        "SELECT EXISTS (SELECT 1 FROM trueup_stand_ins)": "stops at the first row",
        "SELECT entry, hash FROM trueup_ledger ORDER BY entry DESC LIMIT 1": "reads the last row",
        "SELECT o.ledger_entry, o.idempotency_key":
            "goes through the events that wait, in the order in which they are delivered, up to a limit",
        "SELECT c.bundle_id, c.environment, c.original_transaction_id, c.target, c.transaction_id, "
            + "c.expected_row_version":
            "goes through the planned corrections in the order of their keys, up to a limit",
        "UPDATE trueup_pass_findings AS f SET superseded_by = ? WHERE f.pass_id = ? AND f.kind IN "
            + "('notification_missed', 'notification_lost')":
            "findings of notifications, which an index lists, once a run",
        "UPDATE trueup_pass_findings INDEXED BY trueup_pass_findings_":
            "findings that were taken over, which an index lists, once a run",
        "UPDATE trueup_agenda SET not_before = NULL WHERE":
            "a chunk of the questions that have rested, which an index lists",
    ]

    /// A statement that reads a whole table, or all of a pass or run, runs at most so often in a process.
    private static let runsOfScan = 10

    private static let lift = [
        "--lift-guard", "max_changes", "--lift-guard", "max_change_share", "--lift-guard",
        "max_same_direction_share", "--reason", "test",
    ]

    /// Runs of every kind, and every command that reads or writes the database.
    private func nights() async throws -> (place: Workplace, statements: FinishedStatements) {
        let export = try TemporaryFolder().url
        let simulator = try RunningSimulator([
            "--customers", "110", "--drift", "0.2", "--seed", "7", "--revenuecat-export",
            export.path, "--sales-reports", export.path,
        ])
        let place = try Workplace(on: simulator)
        try place.folder.write(
            place.folder.text("trueup.yaml")
                + String(contentsOfFile: export.path + "/products.yaml", encoding: .utf8)
                + "tell:\n  command: [/bin/true]\n", to: "trueup.yaml")
        try place.run("init")
        for job in ["nightly", "backfill"] {
            try FileManager.default.removeItem(
                at: place.folder.url.appendingPathComponent("jobs/\(job).yaml"))
        }
        try #require(place.run("init").status == 0)
        var statements = try FinishedStatements()
        func run(_ arguments: String..., lifting: Bool = false) throws {
            let result = try statements.run(
                arguments + (lifting ? Self.lift : []), in: place.folder.url,
                database: "trueup.sqlite")
            try #require([0, 2, 3].contains(result.status), "\(arguments): \(result.errors)")
        }
        try run("import", try #require(simulator.ready.tableFile))
        try run("doctor")
        try run("estimate", "nightly")
        try run("check", "nightly")
        try run("apply", "reports/latest", lifting: true)
        let applied = try #require(try place.summary()["run_id"] as? String)
        try run("run", "nightly", "--canary", "2", lifting: true)
        try run("run", "backfill", lifting: true)
        try run("run", "nightly")
        let id = try #require(
            try place.stored("SELECT min(original_transaction_id) FROM subscriptions").first?.first)
        try run("explain", id)
        try run("status")
        try run("entitlements", "--changed-since", applied, "--active")
        try run("verify", "--database")
        try run("export")
        try run("export", "--changed-since", applied)
        for table in ["--transactions", "--purchases"] {
            try run("export", "--cursor=cursor" + table, table)
            try run("export", "--cursor=cursor" + table, table)
        }
        try run("export", "--cursor", "cursor")
        try run("export", "--cursor", "cursor")
        try run("compare", "revenuecat", "\(export.path)/transactions.csv")
        let reports = try FileManager.default.contentsOfDirectory(atPath: export.path)
            .filter { $0.hasPrefix("Subs") }.map { export.path + "/" + $0 }
        let compared = try statements.run(
            ["compare", "app-store-connect"] + reports, in: place.folder.url,
            database: "trueup.sqlite")
        try #require([0, 2, 3].contains(compared.status), "\(compared.errors)")
        try run("tell")
        let finding = try place.stored(
            "SELECT min(finding_id) FROM trueup_findings WHERE state IN ('new', 'open')")
        try run("acknowledge", try #require(finding.first?.first), "--reason", "known")
        let customer = try place.stored("SELECT min(customer_id) FROM subscriptions")
        try run("erase", try #require(customer.first?.first), "--execute")
        try run("run", "audit")
        try run("run", "nightly", "--limit", "3")
        try run("report", applied)
        try run("report", "diff", applied, "latest")
        try run("undo", applied)
        try run("undo", applied, "--execute")

        // Runs that their deadline ends, and runs after a kill to which Apple never answers.
        for coverage in ["delta", "full"] {
            let late = try Workplace(on: simulator)
            try late.folder.write(
                "steps: [walk]\nmode: apply\ncoverage: \(coverage)\nmax_outage: 2s\n",
                to: "jobs/nightly.yaml")
            try late.writeSettings(apps: [
                simulator.appYAML().replacingOccurrences(
                    of: "requests_per_second: 5000", with: "requests_per_second: 2")
            ])
            try #require(late.run("init").status == 0)
            try #require(late.run("import", try #require(simulator.ready.tableFile)).status == 0)
            let result = try statements.run(
                ["run", "nightly", "--max-duration", "5s"], in: late.folder.url,
                database: "trueup.sqlite")
            try #require(result.status == 3, "\(result.errors)")
            let killed = try late.start("run", "nightly")
            try late.untilRowsAreDone(killed)
            killed.send(signal: SIGKILL)
            _ = killed.wait()
            try await simulator.control(
                "/_simulator/faults", method: "POST",
                body: #"{"faults": [{"fault": "status", "status": 500, "body": ""}]}"#)
            let outage = try statements.run(
                ["run", "nightly"], in: late.folder.url, database: "trueup.sqlite")
            try #require(outage.status == 69, "\(outage.errors)")
            try await simulator.control(
                "/_simulator/faults", method: "POST", body: #"{"faults": []}"#)
        }
        return (place, statements)
    }

    private func violations(
        of statements: FinishedStatements, on path: String, isAnalyzed: Bool = false
    ) throws -> (seen: Int, violations: [String]) {
        var seen = 0
        var violations: [String] = []
        try DatabaseQueue(path: path).writeWithoutTransaction { db in
            if isAnalyzed { try db.execute(sql: "ANALYZE") }
            for (statement, runs) in statements.runs.sorted(by: { $0.key < $1.key }) {
                let words = statement.replacing(/--[^\n]*/, with: " ")
                    .split(whereSeparator: \.isWhitespace).joined(separator: " ")
                let verb = words.prefix { $0.isLetter }.uppercased()
                // What is loaded from a file stands in tables that one command makes for itself.
                guard ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(verb),
                    !words.contains("temp."), !words.contains("sqlite_"),
                    !words.contains("compare_")
                else { continue }
                seen += 1
                guard !Self.exceptions.keys.contains(where: words.hasPrefix) else { continue }
                let isReading = verb == "SELECT" || verb == "WITH"
                for loop in try QueryPlan(of: statement, db).scans
                where loop.isRepeated || !isReading || runs > Self.runsOfScan {
                    violations.append(
                        "\(loop.text)\(loop.isRepeated ? " for each row" : ""), \(runs) times: "
                            + words.prefix(300))
                }
            }
        }
        return (seen, violations)
    }

    @Test(.timeLimit(.minutes(30)))
    func `read no table that grows for each row, and none while they hold others up`()
        async throws
    {
        let (place, statements) = try await nights()
        let filled = place.folder.url.appendingPathComponent("trueup.sqlite").path
        let empty = try Workplace(on: place.simulator)
        try #require(empty.run("init").status == 0)
        let fresh = try violations(
            of: statements,
            on: empty.folder.url.appendingPathComponent("trueup.sqlite").path)
        #expect(fresh.seen > 300)
        #expect(fresh.violations.isEmpty, "\(fresh.violations.joined(separator: "\n"))")
        let used = try violations(of: statements, on: filled)
        #expect(used.violations.isEmpty, "\(used.violations.joined(separator: "\n"))")
        let analyzed = try violations(of: statements, on: filled, isAnalyzed: true)
        #expect(analyzed.violations.isEmpty, "\(analyzed.violations.joined(separator: "\n"))")
    }

    /// The query that made the end of a backfill quadratic: SQLite takes the primary key for it.
    @Test func `would be noticed without an index that is named`() throws {
        let place = try Workplace(on: RunningSimulator(["--customers", "1"]))
        try #require(place.run("init").status == 0)
        let path = place.folder.url.appendingPathComponent("trueup.sqlite").path
        let scans = try DatabaseQueue(path: path).read { db in
            try ["", "INDEXED BY transactions_by_original_transaction"].map { index in
                try QueryPlan(
                    of: """
                        SELECT t.price, t.currency FROM transactions AS t \(index)
                        WHERE t.bundle_id = ? AND t.environment = ?
                            AND t.original_transaction_id = ? ORDER BY t.transaction_id
                        """, db
                ).scans.count
            }
        }
        #expect(scans == [1, 0])
    }
}
