import Foundation
import GRDB
import TestSupport
import Testing

/// Whole nights around a backup that was put back, a database that was rebuilt, and payloads that
/// were erased: what `verify` says of them.
@Suite(.timeLimit(.minutes(30))) struct `After something was taken out on purpose` {
    private func begun() throws -> Workplace {
        let simulator = try RunningSimulator(["--customers", "12", "--drift", "0.5", "--seed", "7"])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        return place
    }

    /// A night that has something to correct.
    private func night(_ place: Workplace) throws {
        try place.sql(
            "UPDATE subscriptions SET auto_renew_status = 1 - auto_renew_status WHERE status = 1")
        let run = try place.run("run", "nightly")
        try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        try #require(!place.reportLines("corrections.jsonl").isEmpty)
    }

    private func remove(_ place: Workplace) throws {
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(
                at: place.folder.url.appendingPathComponent("trueup.sqlite" + suffix))
        }
    }

    /// As `sqlite3 trueup.sqlite ".backup NAME"` does.
    private func backUp(_ place: Workplace, as name: String) throws {
        func path(_ name: String) -> String { place.folder.url.appendingPathComponent(name).path }
        try DatabaseQueue(path: path("trueup.sqlite")).backup(to: DatabaseQueue(path: path(name)))
    }

    private func putBack(_ place: Workplace, _ name: String) throws {
        try remove(place)
        try FileManager.default.copyItem(
            at: place.folder.url.appendingPathComponent(name),
            to: place.folder.url.appendingPathComponent("trueup.sqlite"))
    }

    private func verdict(_ place: Workplace, _ arguments: String...) throws -> [String: Any] {
        let result = try BuiltExecutable("trueup").run(
            ["verify", "--json"] + arguments, in: place.folder.url)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(object["exit_status"] as? Int == Int(result.status))
        return object
    }

    @Test func `a restored database is a declared break, and tampering as long as nobody says so`()
        throws
    {
        let place = try begun()
        for _ in 1...2 { try night(place) }
        try backUp(place, as: "backup.sqlite")
        let kept = try #require(
            place.reportLines("corrections.jsonl").last?["ledger_entry"] as? Int)
        for _ in 3...4 { try night(place) }
        let lost = try #require(
            place.reportLines("corrections.jsonl").last?["ledger_entry"] as? Int)
        let early = try place.run("restored", "--reason", "nothing happened")
        #expect(early.status == 64, "\(early.output)\(early.errors)")
        #expect(try verdict(place, "--database")["exit_status"] as? Int == 0)
        let usual = try place.run("check", "nightly")
        #expect(!usual.errors.contains("trueup restored"), "\(usual.errors)")
        #expect(try !place.run("doctor").output.contains("trueup restored"))

        try putBack(place, "backup.sqlite")
        #expect(try verdict(place)["exit_status"] as? Int == 0)
        #expect(try verdict(place, "--database")["exit_status"] as? Int == 7)
        let doctor = try place.run("doctor")
        #expect(doctor.status == 0, "\(doctor.output)")
        #expect(doctor.output.contains("lacks the entry with which"), "\(doctor.output)")
        #expect(doctor.output.contains("trueup restored --reason TEXT"))
        try place.sql(
            "UPDATE subscriptions SET auto_renew_status = 1 - auto_renew_status WHERE status = 1")
        let first = try place.run("run", "nightly")
        #expect([0, 2].contains(first.status), "\(first.output)\(first.errors)")
        let said = try #require(try place.summary()["messages"] as? [String]).joined(
            separator: "\n")
        for text in [first.errors, said, try place.report("run.log.jsonl")] {
            #expect(
                text.contains("Entries \(kept + 1) to \(lost) of the ledger were lost"), "\(text)")
            #expect(text.contains("trueup restored --reason TEXT"), "\(text)")
            #expect(text.contains("the newest report in reports ends"), "\(text)")
            #expect(text.contains("inbox: imported"), "\(text)")
        }
        #expect(try verdict(place)["exit_status"] as? Int == 7)

        let declared = try place.run("restored", "--reason", "the disk of host-1 died")
        #expect(declared.status == 0, "\(declared.output)\(declared.errors)")
        #expect(declared.output.contains("inbox: imported"), "\(declared.output)")
        #expect(declared.output.contains("Entries \(kept + 1) to \(lost) of the ledger were lost"))
        let after = try verdict(place, "--database")
        #expect(after["exit_status"] as? Int == 0, "\(after)")
        let breaks = try #require(after["breaks"] as? [[String: Any]])
        #expect(breaks.map { $0["lost_from"] as? Int } == [kept + 1])
        #expect(breaks.map { $0["lost_to"] as? Int } == [lost])
        #expect(breaks.map { $0["reason"] as? String } == ["the disk of host-1 died"])
        // Once is enough, and the nights go on.
        #expect(try place.run("restored", "--reason", "again").status == 64)
        try night(place)
        #expect(try verdict(place, "--database")["exit_status"] as? Int == 0)
        // The numbers of what was lost were given again: undo takes back the right ones.
        let run = try #require(place.summary()["run_id"] as? String)
        let undone = try place.run("undo", run, "--execute")
        #expect(undone.status == 0, "\(undone.output)\(undone.errors)")
        #expect(try verdict(place, "--database")["exit_status"] as? Int == 0)
        // A declaration is as sealed as everything else.
        let text = try place.run("verify")
        #expect(text.output.contains("declared break") && text.output.contains("host-1 died"))
    }

    @Test(arguments: [[true, true], [true, false], [false, true]])
    func `a newer backup than the one that was put back before is a declared break, too`(
        first: [Bool]
    ) throws {
        let place = try begun()
        for number in 1...3 {
            try night(place)
            try backUp(place, as: "\(number).sqlite")
        }
        try putBack(place, "1.sqlite")
        if first[1] { try night(place) }
        if first[0] {
            #expect(try place.run("restored", "--reason", "the first that was found").status == 0)
        }
        // Its entries were lost then, and stand in reports.
        try putBack(place, "2.sqlite")
        let declared = try place.run("restored", "--reason", "a newer one was found")
        #expect(declared.status == 0, "\(declared.output)\(declared.errors)")
        for _ in 1...2 {
            let after = try verdict(place, "--database")
            #expect(after["exit_status"] as? Int == 0, "\(after)")
            try night(place)
        }
        #expect(try place.run("restored", "--reason", "again").status == 64)
    }

    @Test(arguments: [false, true])
    func `a restored database is looked at row by row, also by a job that asks few`(
        declaredFirst: Bool
    ) throws {
        let place = try begun()
        try place.folder.write(
            """
            steps: [walk]
            mode: apply
            coverage: delta
            settle: 0s
            sample: 1
            guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1,
                max_same_direction_share: 1}

            """, to: "jobs/delta.yaml")
        func asked() throws -> Int {
            let run = try place.run("run", "delta")
            try #require([0, 2].contains(run.status), "\(run.errors)")
            let coverage = try place.summary()["coverage"] as? [String: Any]
            return try #require(coverage?["asked"] as? Int)
        }
        let everybody = try asked()
        #expect(try asked() < everybody)
        let backup = place.folder.url.appendingPathComponent("backup.sqlite")
        let database = place.folder.url.appendingPathComponent("trueup.sqlite").path
        try DatabaseQueue(path: database).backup(to: DatabaseQueue(path: backup.path))
        try place.sql("UPDATE subscriptions SET status = 2 WHERE status = 1")
        #expect(try asked() < everybody)
        try #require(!place.reportLines("corrections.jsonl").isEmpty)

        try putBack(place, "backup.sqlite")
        if declaredFirst {
            #expect(try place.run("restored", "--reason", "the disk died").status == 0)
        }
        #expect(try asked() == everybody)
        // Once.
        #expect(try asked() < everybody)
    }

    @Test func `a restored database is looked at row by row, rows in flight among them`() throws {
        let place = try begun()
        try night(place)
        // Signed by that night's answers, so in flight for an hour, and wrong since.
        try place.sql(
            """
            UPDATE subscriptions SET status = 2 WHERE original_transaction_id IN (
                SELECT original_transaction_id FROM subscriptions WHERE status = 1 LIMIT 2)
            """)
        let wrong = try place.stored("SELECT 1 FROM subscriptions WHERE status = 2").count
        try backUp(place, as: "backup.sqlite")
        let run = try place.run("run", "nightly")
        try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        try #require(!place.reportLines("corrections.jsonl").isEmpty)

        try putBack(place, "backup.sqlite")
        #expect(try place.run("restored", "--reason", "the disk died").status == 0)
        try place.writeJob("nightly", "settle: 1h")
        let after = try place.run("run", "nightly")
        #expect([0, 2].contains(after.status), "\(after.output)\(after.errors)")
        let totals = try #require(try place.summary()["totals"] as? [String: Any])
        #expect(totals["excluded"] as? Int == 0)
        #expect(try place.stored("SELECT 1 FROM subscriptions WHERE status = 2").count < wrong)
    }

    @Test func `a rebuilt database begins a ledger, once that is declared`() throws {
        let place = try begun()
        try night(place)
        let lost = try place.reportLines("corrections.jsonl").count
        try remove(place)
        try #require(place.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        let refused = try place.run("run", "nightly")
        #expect(refused.status == 78, "\(refused.output)\(refused.errors)")
        #expect(refused.errors.contains("trueup restored --reason"))
        #expect(try place.run("restored", "--reason", "rebuilt").status == 0)
        try night(place)
        let after = try verdict(place, "--database")
        #expect(after["exit_status"] as? Int == 0, "\(after)")
        let breaks = try #require(after["breaks"] as? [[String: Any]])
        #expect(breaks.map { $0["lost_to"] as? Int } == [lost])
    }

    @Test func `an edited ledger in the database is named`() throws {
        let place = try begun()
        try night(place)
        #expect(try verdict(place, "--database")["exit_status"] as? Int == 0)
        try place.sql("DROP TRIGGER trueup_ledger_is_not_changed")
        try place.sql("UPDATE trueup_ledger SET reason = 'Nothing to see.' WHERE entry = 2")
        let after = try verdict(place, "--database")
        #expect(after["exit_status"] as? Int == 7)
        let problems = try #require(after["problems"] as? [[String: Any]])
        #expect(problems.map { $0["ledger_entry"] as? Int } == [2])
        // The reports alone show nothing of it.
        #expect(try verdict(place)["exit_status"] as? Int == 0)
        try place.sql("DROP TRIGGER trueup_ledger_is_not_cut")
        try place.sql("DELETE FROM trueup_ledger WHERE entry > 1")
        let cut = try place.run("verify", "--database")
        #expect(cut.status == 7)
        #expect(cut.output.contains("trueup restored --reason"))
        #expect(try place.run("verify", "reports", "--database").status == 64)
    }

    @Test func `what was erased before an undo or a plan is a tombstone`() throws {
        let place = try begun()
        try night(place)
        let run = try #require(place.summary()["run_id"] as? String)
        let customers = try place.reportLines("corrections.jsonl").compactMap {
            ($0["original_transaction_id"] as? String)
        }
        let rows = try place.rows()
        for id in customers {
            let row = rows.values.first { $0["original_transaction_id"] == id }
            let customer = try #require(row?["customer_id"])
            let erased = try place.run("erase", customer, "--execute")
            try #require(erased.status == 0, "\(erased.output)\(erased.errors)")
            #expect(erased.output.contains(run))
        }
        let undone = try place.run("undo", run, "--execute")
        #expect(undone.status == 0, "\(undone.output)\(undone.errors)")
        let after = try verdict(place, "--database")
        #expect(after["exit_status"] as? Int == 0, "\(after)")
        #expect(try #require(after["tombstones"] as? Int) > 0)
        #expect(try #require(after["on_erased"] as? Int) == customers.count)
        // A plan whose evidence was erased is not carried out, and its report holds.
        try #require(try [0, 2].contains(place.run("check", "nightly").status))
        let plan = place.folder.url.appendingPathComponent("reports/latest")
            .resolvingSymlinksInPath().path
        for id in customers {
            let row = rows.values.first { $0["original_transaction_id"] == id }
            _ = try place.run("erase", try #require(row?["customer_id"]), "--execute")
        }
        _ = try place.run("apply", plan)
        #expect(try verdict(place, "--database")["exit_status"] as? Int == 0)
    }
}
