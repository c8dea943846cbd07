import Foundation
import TestSupport
import Testing

/// Look, decide, touch: `check`, then `apply` of exactly what was looked at, then `undo`.
@Suite struct `A plan` {
    private func checked(
        customers: Int = 150, guards: String? = nil
    ) throws -> (place: Workplace, plan: String) {
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--drift", "0.1", "--seed", "5",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(
            place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        if let guards { try place.writeJob("nightly", guards: guards) }
        let check = try place.run("check", "nightly")
        try #require(check.status == 2, "\(check.errors)")
        let plan = try place.folder.write(place.report("plan.json"), to: "plan.json")
        return (place, plan)
    }

    private func head(_ plan: String) throws -> [String: Any] {
        let text = try String(contentsOfFile: plan, encoding: .utf8)
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(object as? [String: Any])
    }

    /// The run in the newest report.
    private func newestRun(_ place: Workplace) throws -> String {
        try #require(try place.summary()["run_id"] as? String)
    }

    private func reports(_ place: Workplace) throws -> Int {
        try place.folder.text("reports/index.csv").split(whereSeparator: \.isNewline).count
    }

    /// No row leads to the question, because the row that was inserted is gone.
    @Test(.timeLimit(.minutes(30)))
    func `has its inserts taken back, and the next run checks these subscriptions`() throws {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", "0.2", "--drift-kinds", "missing_locally", "--seed",
            "5",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        try place.folder.write(
            """
            sample: 0
            settle: 0s
            guards: {max_changes: 100000, max_change_share: 1}
            fail_on: none

            """, to: "jobs/nightly.yaml")
        func ids() throws -> String {
            try place.stored("SELECT group_concat(original_transaction_id) FROM subscriptions")
                .description
        }
        let before = try ids()
        let first = try place.run("run", "nightly")
        try #require(first.status == 0, "\(first.output)\(first.errors)")
        let after = try ids()
        #expect(after != before)
        let undo = try place.run("undo", "latest", "--execute")
        #expect(undo.status == 0, "\(undo.output)\(undo.errors)")
        #expect(try ids() == before)
        let second = try place.run("run", "nightly")
        #expect(second.status == 0, "\(second.output)\(second.errors)")
        #expect(try ids() == after)
        let third = try place.run("run", "nightly")
        #expect(third.status == 0, "\(third.output)\(third.errors)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
    }

    @Test(.timeLimit(.minutes(30)))
    func `is applied as it was read, once, and leaves nothing to plan`() throws {
        let (place, plan) = try checked()
        let planned = try head(plan)
        let identity = try #require(planned["plan_sha256"] as? String)
        let changes = try #require(planned["corrections"] as? [[String: Any]])
        #expect(!changes.isEmpty)
        for change in changes {
            let rules = try #require(change["rules"] as? [[String: Any]])
            #expect(
                Set(rules.compactMap { $0["kind"] as? String })
                    == Set(try #require(change["kinds"] as? [String])))
            #expect(rules.allSatisfy { ($0["version"] as? Int ?? 0) >= 1 })
        }
        #expect(try place.report("summary.txt").contains(identity))

        // No key is needed, and nobody is asked.
        try place.simulatorKeyIsHidden {
            let applied = try place.run("apply", plan, "--approve", identity)
            #expect(applied.status == 0, "\(applied.errors)\n\(applied.output)")
        }
        let entries = try place.reportLines("corrections.jsonl")
        #expect(entries.count == changes.count)
        #expect(entries.allSatisfy { $0["plan"] as? String == identity })
        #expect(entries.allSatisfy { ($0["host"] as? String)?.isEmpty == false })
        #expect(try place.report("plan.json").contains("\"plan_sha256\":\"\(identity)\""))
        #expect(!(try place.report("plan.json").contains("\"fate\":\"planned\"")))
        #expect(try place.summary()["calls"] as? [String: [String: Int]] == [:])

        let before = try place.rows()
        let count = try reports(place)
        for file in [plan, place.folder.url.path + "/reports/latest"] {
            let again = try place.run("apply", file)
            #expect(again.status == 0)
            #expect(again.output.contains("Applied before"))
        }
        #expect(try reports(place) == count)
        #expect(try place.rows() == before)

        try place.writeJob("again", "settle: 0s")
        #expect(try place.run("run", "again").status == 2)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        let status = try place.run("status")
        #expect(status.output.contains("apply nightly"))
    }

    @Test(.timeLimit(.minutes(30)))
    func `is refused when it was edited, is another or another database's`() throws {
        let (place, plan) = try checked()
        let before = try place.rows()
        let count = try reports(place)
        let text = try String(contentsOfFile: plan, encoding: .utf8)
        let edits = [
            text.replacing("\"status\":2", with: "\"status\":1"),
            text.replacing("\"reason\":\"Stores", with: "\"reason\":\"stores"),
            text.split(separator: "\n").dropLast().joined(separator: "\n"),
            text.replacing("\n", with: ""),
        ]
        for edit in edits {
            try #require(edit != text)
            let file = try place.folder.write(edit, to: "edited.json")
            let refused = try place.run("apply", file)
            #expect(refused.status == 6, "\(refused.errors)")
            #expect(refused.errors.contains("Nothing was changed"))
        }
        let other = try place.run(
            "apply", plan, "--approve", String(repeating: "0", count: 64))
        #expect(other.status == 6)
        #expect(try place.run("apply", plan, "--approve", "abc").status == 64)
        let noPlan = try place.folder.write("{}\n", to: "none.json")
        #expect(try place.run("apply", noPlan).status == 65)
        #expect(try place.run("apply", "absent.json").status == 65)
        #expect(
            try place.run("apply", place.folder.url.path + "/reports/latest/undo.json").status
                == 65)

        let stranger = try Workplace(on: place.simulator)
        try #require(stranger.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(stranger.run("import", table).status == 0)
        let foreign = try stranger.run("apply", plan)
        #expect(foreign.status == 6)
        #expect(foreign.errors.contains("another database"))
        #expect(try place.rows() == before)
        #expect(try reports(place) == count)
        // And as it is, it goes through: the file's own digest approves it too.
        let digest = try place.sha256(ofFileAt: plan)
        #expect(try place.run("apply", plan, "--approve", digest).status == 0)
    }

    @Test(.timeLimit(.minutes(30)))
    func `is refused when it rests on a root that is no longer trusted`() throws {
        let (place, plan) = try checked()
        let before = try place.rows()
        let count = try reports(place)
        let settings = try place.folder.text("trueup.yaml")
        let kept = settings.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.contains("trusted_roots:") }
        try place.folder.write(kept.joined(separator: "\n"), to: "trueup.yaml")
        for arguments in [["apply", plan], ["apply", plan, "--dry-run"]] {
            let refused = try place.run(arguments)
            #expect(refused.status == 6, "\(refused.errors)\n\(refused.output)")
            #expect(refused.errors.contains("`trusted_roots`"), "\(refused.errors)")
            #expect(refused.errors.contains("Nothing was changed"), "\(refused.errors)")
        }
        #expect(try place.rows() == before)
        #expect(try reports(place) == count)
        try place.folder.write(settings, to: "trueup.yaml")
        let applied = try place.run("apply", plan)
        #expect(applied.status == 0, "\(applied.errors)\n\(applied.output)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `whose evidence was erased ends a dry run as it ends apply`() throws {
        let (place, plan) = try checked()
        try place.sql(
            """
            DELETE FROM trueup_evidence WHERE digest = (
                SELECT evidence FROM trueup_pass_corrections ORDER BY correction_id LIMIT 1)
            """)
        let dry = try place.run("apply", plan, "--dry-run")
        #expect(dry.status == 3, "\(dry.errors)\n\(dry.output)")
        let applied = try place.run("apply", plan)
        #expect(applied.status == 3, "\(applied.errors)\n\(applied.output)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `is refused when its app is no longer configured, and names it`() throws {
        let (place, plan) = try checked()
        let before = try place.rows()
        let bundle = place.simulator.ready.bundleID
        try place.folder.write(
            place.folder.text("trueup.yaml").replacing(
                "bundle_id: \(bundle)", with: "bundle_id: com.example.renamed"),
            to: "trueup.yaml")
        for arguments in [["apply", plan, "--dry-run"], ["apply", plan, "--canary", "3"]] {
            let refused = try place.run(arguments)
            #expect(refused.status == 6, "\(refused.errors)\n\(refused.output)")
            #expect(refused.errors.contains("\(bundle)/production"), "\(refused.errors)")
        }
        #expect(try place.rows() == before)
    }

    @Test(.timeLimit(.minutes(30)))
    func `leaves rows that moved, and says which`() throws {
        let (place, plan) = try checked()
        let changes = try #require(try head(plan)["corrections"] as? [[String: Any]])
        let updated = changes.filter { $0["action"] as? String == "update" }
            .compactMap { $0["original_transaction_id"] as? String }
        try #require(updated.count > 3)
        try place.sql(
            "UPDATE subscriptions SET customer_id = 'moved' WHERE original_transaction_id = "
                + "'\(updated[0])'")
        try place.sql(
            "DELETE FROM subscriptions WHERE original_transaction_id = '\(updated[1])'")
        let applied = try place.run("apply", plan)
        #expect(applied.status == 6, "\(applied.errors)\n\(applied.output)")
        #expect(applied.output.contains(updated[0]) && applied.output.contains(updated[1]))
        let counts = try #require(try place.summary()["corrections"] as? [String: Int])
        #expect(counts["stale"] == 2)
        #expect(counts["applied"] == changes.count - 2)
        #expect(try place.report("undecided.csv").contains(updated[0]))
        #expect(try place.run("apply", plan).status == 0)
    }

    @Test(.timeLimit(.minutes(30)))
    func `is stopped by the guards of the job that it was made by`() throws {
        let (place, plan) = try checked(
            guards: "max_changes: 5, max_change_share: 1, max_not_found_share: 1")
        let before = try place.rows()
        // What stands under the same name today is another job: the plan carries its own limits.
        try place.writeJob("nightly")
        let stopped = try place.run("apply", plan)
        #expect(stopped.status == 4, "\(stopped.errors)\n\(stopped.output)")
        #expect(try place.rows() == before)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        let lifted = try place.run(
            "apply", plan, "--lift-guard", "max_changes", "--reason", "looked at the plan")
        #expect(lifted.status == 0, "\(lifted.errors)\n\(lifted.output)")
        #expect(try place.rows() != before)
    }

    @Test(.timeLimit(.minutes(30)))
    func `is refused when what was planned is past its retention`() throws {
        let (place, plan) = try checked()
        try place.folder.write(
            place.folder.text("trueup.yaml") + "\nretention: 0s\n", to: "trueup.yaml")
        try #require([0, 2].contains(place.run("run", "nightly", "--limit", "1").status))
        let before = try place.rows()
        let refused = try place.run("apply", plan)
        #expect(refused.status == 6, "\(refused.output)\(refused.errors)")
        #expect(refused.errors.contains("past `retention`"), "\(refused.errors)")
        #expect(try place.rows() == before)
    }

    @Test(.timeLimit(.minutes(30)))
    func `that was applied can be taken back, and that again`() throws {
        let (place, plan) = try checked()
        let before = try place.rows()
        let nothing = try place.run("undo", try newestRun(place))
        #expect(nothing.status == 0, "\(nothing.errors)")
        #expect(nothing.output.hasPrefix("Nothing to revert"), "\(nothing.output)")
        try #require(place.run("apply", plan).status == 0)
        let run = try newestRun(place)
        let applied = try place.rows()
        #expect(applied != before)

        let shown = try place.run("undo", run)
        #expect(shown.status == 0, "\(shown.errors)")
        #expect(shown.output.contains("0 cannot"))
        let listed = try place.run("undo", run, "--json")
        let listing = try #require(
            try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [String: Any])
        let items = try #require(listing["corrections"] as? [[String: Any]])
        #expect(items.allSatisfy { $0["standing"] as? String == "ready" })
        let numbers = items.compactMap { $0["ledger_entry"] as? Int }
        #expect(numbers == numbers.sorted(by: >))
        #expect(try place.rows() == applied)

        let undone = try place.run("undo", run, "--execute")
        #expect(undone.status == 0, "\(undone.errors)\n\(undone.output)")
        #expect(undone.output.contains("mode: check"))
        #expect(try place.rows() == before)
        let entries = try place.reportLines("corrections.jsonl")
        #expect(Set(entries.compactMap { $0["undo_of"] as? Int }) == Set(numbers))
        #expect(
            entries.allSatisfy {
                ($0["reason"] as? String)?.hasPrefix("undo of run \(run)") == true
            })
        let undoRun = try newestRun(place)

        let count = try reports(place)
        let again = try place.run("undo", run, "--execute")
        #expect(again.status == 0)
        #expect(again.output.contains("Nothing to revert"))
        #expect(try reports(place) == count)

        #expect(try place.run("undo", undoRun, "--execute").status == 0)
        #expect(try place.rows() == applied)
        #expect(try place.run("undo", "20000101T000000Z-000000").status == 64)
    }

    @Test(.timeLimit(.minutes(30)))
    func `of a night is taken back but for rows that moved since`() throws {
        let simulator = try RunningSimulator([
            "--customers", "120", "--drift", "0.1", "--seed", "9",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(
            place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        try #require(place.run("run", "nightly").status == 2)
        let run = try newestRun(place)
        let entries = try place.reportLines("corrections.jsonl")
        let id = try #require(
            entries.first { $0["action"] as? String == "update" }?["original_transaction_id"]
                as? String)
        try place.sql("UPDATE subscriptions SET status = 5 WHERE original_transaction_id = '\(id)'")
        #expect(try place.run("undo", run).status == 6)
        let undone = try place.run("undo", run, "--execute")
        #expect(undone.status == 6, "\(undone.errors)\n\(undone.output)")
        #expect(undone.output.contains(id))
        #expect(try place.reportLines("corrections.jsonl").count == entries.count - 1)
        #expect(
            try place.rows().values.first { $0["original_transaction_id"] == id }?["status"]
                == "5")
        #expect(try place.run("undo", run, "--execute").status == 6)
    }
}

extension Workplace {
    /// Does something while the key file is away.
    fileprivate func simulatorKeyIsHidden(_ body: () throws -> Void) throws {
        let key = simulator.ready.keyFile
        try FileManager.default.moveItem(atPath: key, toPath: key + ".hidden")
        defer { try? FileManager.default.moveItem(atPath: key + ".hidden", toPath: key) }
        try body()
    }

    fileprivate func sha256(ofFileAt path: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
        process.arguments = [path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: output.prefix(64), as: UTF8.self)
    }
}
