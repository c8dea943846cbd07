import Foundation
import TestSupport
import Testing

/// The main job on the built executables: a table with planted drift against a running App Store.
@Suite struct `A nightly job` {
    private func workplace(
        customers: Int, drift: String, extra: [String] = []
    ) throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--drift", drift, "--seed", "11",
        ])
        let place = try Workplace(on: simulator, extra: extra)
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    @Test(.timeLimit(.minutes(30)))
    func `finds every planted drift with the right kind, corrects what may be, and is then done`()
        throws
    {
        let place = try workplace(customers: 400, drift: "0.2")
        let simulator = place.simulator
        let planted = try Planted(of: simulator)

        let first = try place.run("run", "nightly")
        #expect(first.status == 2, "\(first.errors)\n\(first.output)")
        var found: [String: Set<String>] = [:]
        for finding in try place.reportLines("discrepancies.jsonl") {
            let kind = try #require(finding["kind"] as? String)
            let id = finding["original_transaction_id"] as? String ?? ""
            found[id, default: []].insert(kind)
            let action = finding["action"] as? String
            if Planted.neverCorrected.contains(kind) {
                #expect(action == "none", "\(kind) of \(id)")
            } else {
                #expect(
                    ["corrected", "inserted", "recovered"].contains(action), "\(kind) of \(id)")
            }
        }
        for (id, kinds) in planted.kinds {
            #expect(found[id] == kinds, "\(id): planted \(kinds), found \(found[id] ?? [])")
        }
        for (id, kinds) in found where planted.kinds[id] == nil {
            Issue.record("\(id): found \(kinds), nothing was planted")
        }

        // Without a settling time, so that the rows just corrected are asked again.
        try place.writeJob("again", "settle: 0s")
        let second = try place.run("run", "again")
        #expect(second.status == 2)
        let totals = try #require(try place.summary()["totals"] as? [String: Any])
        #expect(totals["excluded"] as? Int == 0)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        for finding in try place.reportLines("discrepancies.jsonl") {
            let kind = try #require(finding["kind"] as? String)
            #expect(Planted.neverCorrected.contains(kind))
            #expect(finding["state"] as? String == "open")
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a table that agrees with Apple is left alone`() throws {
        let place = try workplace(customers: 100, drift: "0")
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        #expect(try place.rows() == before)
        let totals = try #require(try place.summary()["totals"] as? [String: Any])
        #expect(totals["matched"] as? Int == before.count)
    }

    @Test(.timeLimit(.minutes(30)))
    func `what nights by delta carry over stands in every list, and verifies`() throws {
        let place = try workplace(customers: 150, drift: "0.2")
        try place.folder.write(
            """
            steps: [recover, walk]
            mode: apply
            coverage: delta
            sample: 5
            guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1}

            """, to: "jobs/delta.yaml")
        for night in 1...3 {
            #expect(try place.run("run", "delta").status == 2)
            let open = try place.reportLines("discrepancies.jsonl")
                .filter { $0["kind"] as? String == "not_found" }
            try #require(open.count >= 2)
            let listed = try place.report("not_found.csv").components(separatedBy: "\r\n").count - 2
            #expect(listed == open.count, "night \(night)")
            // A look by hand takes nothing off the list.
            if night == 2 {
                let ids = open.compactMap { $0["original_transaction_id"] as? String }
                try place.folder.write(ids.joined(separator: "\n"), to: "ids.txt")
                #expect(try place.run("check", "delta", "--ids-file", "ids.txt").status == 2)
            }
        }
        let verified = try place.run("verify")
        #expect(verified.output.contains("4 runs"), "\(verified.output)")
        #expect(!verified.output.contains("wrong"), "\(verified.output)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `a check writes no subscription row and leaves a plan`() throws {
        let place = try workplace(customers: 75, drift: "0.4")
        let before = try place.rows()
        let check = try place.run("check", "nightly")
        #expect(check.status == 2, "\(check.errors)")
        #expect(try place.rows() == before)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        #expect(try place.report("plan.json").contains("\"expected_row_version\""))
    }

    @Test(.timeLimit(.minutes(30)))
    func `a list of bare ids is filled in without a discrepancy`() throws {
        let place = try workplace(customers: 60, drift: "0")
        let simulator = place.simulator
        let exact = try place.rows(without: ["signed_date"])
        let bare = try Workplace(on: simulator)
        try #require(bare.run("init").status == 0)
        let ids = exact.values.compactMap { $0["original_transaction_id"] }.sorted()
        let file = try bare.folder.write(
            "original_transaction_id\n" + ids.joined(separator: "\n") + "\n", to: "ids.csv")
        try #require(bare.run("import", file).status == 0)
        let run = try bare.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        #expect(try bare.reportLines("discrepancies.jsonl").isEmpty)
        // Who the customer is, only the company knows.
        let own: Set<String> = ["signed_date", "customer_id"]
        #expect(
            try bare.rows(without: own) == exact.mapValues { $0.filter { !own.contains($0.key) } })
    }

    @Test(.timeLimit(.minutes(30)), arguments: [150, 400, 900])
    func `killed at any instant, the next run ends as an uninterrupted one`(
        killedAfterMilliseconds: Int
    ) throws {
        let slow = "requests_per_second: 100"
        let place = try workplace(customers: 100, drift: "0.4")
        let simulator = place.simulator
        let undisturbed = try Workplace(on: simulator)
        try #require(undisturbed.run("init").status == 0)
        let table = try #require(simulator.ready.tableFile)
        try #require(undisturbed.run("import", table).status == 0)
        #expect(try undisturbed.run("run", "nightly").status == 2)

        let paced = simulator.appYAML()
            .replacingOccurrences(of: "requests_per_second: 5000", with: slow)
        try place.writeSettings(apps: [paced])
        let running = try place.start("run", "nightly")
        usleep(UInt32(killedAfterMilliseconds) * 1000)
        running.send(signal: SIGKILL)
        #expect(running.wait().status == 137)
        try place.writeSettings(apps: [simulator.appYAML()])
        let resumed = try place.run("run", "nightly")
        #expect(resumed.status == 2, "\(resumed.errors)\n\(resumed.output)")
        let signed: Set<String> = ["signed_date"]
        #expect(try place.rows(without: signed) == undisturbed.rows(without: signed))
        // Every correction is reported once, whoever wrote it.
        let written = try place.reportLines("corrections.jsonl").count
        #expect(try written == undisturbed.reportLines("corrections.jsonl").count)
    }

    @Test(.timeLimit(.minutes(30)), arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func `a signal leaves a report and a checkpoint`(signal: Int32, status: Int32) throws {
        let place = try workplace(customers: 100, drift: "0.4")
        let simulator = place.simulator
        let paced = simulator.appYAML()
            .replacingOccurrences(of: "requests_per_second: 5000", with: "requests_per_second: 4")
        try place.writeSettings(apps: [paced])
        let before = try place.rows()
        let running = try place.start("run", "nightly")
        try place.untilRowsAreDone(running)
        running.send(signal: signal)
        let stopped = running.wait()
        #expect(stopped.status == status, "\(stopped.errors)")
        #expect(try place.rows() == before)
        let outcome = try #require(try place.summary()["outcome"] as? [String: Any])
        #expect(outcome["exit_status"] as? Int == Int(status))
        let totals = try #require(try place.summary()["totals"] as? [String: Any])
        let sum = ["matched", "discrepant", "undecided", "excluded"]
            .compactMap { totals[$0] as? Int }.reduce(0, +)
        #expect(totals["in_scope"] as? Int == sum)
        #expect(sum == before.count)
        try place.writeSettings(apps: [simulator.appYAML()])
        #expect(try place.run("run", "nightly").status == 2)
        #expect(try place.summary()["resumed_from"] is String)
    }

    @Test(.timeLimit(.minutes(30)))
    func `the history is kept period by period, and read on from where it ended`() throws {
        let place = try workplace(customers: 60, drift: "0")
        try place.writeJob("backfill", "history: always", steps: "[walk]")
        let first = try place.run("run", "backfill")
        #expect(first.status == 0, "\(first.errors)\n\(first.output)")
        #expect(try place.reportLines("discrepancies.jsonl").isEmpty)
        let kept = try place.run("export", "--transactions").output
        let periods = kept.split(whereSeparator: \.isNewline).count - 1
        #expect(periods > 100)

        // Nothing changed at Apple's: reading on from the stored places brings nothing.
        #expect(try place.run("run", "backfill").status == 0)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        #expect(try place.run("export", "--transactions").output == kept)

        // A period that is missing where periods are kept is found and inserted.
        let other = try Workplace(on: place.simulator)
        try other.writeJob("backfill", "history: always", steps: "[walk]")
        try #require(other.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(other.run("import", table).status == 0)
        let lines = kept.split(separator: "\r\n")
        let periodFile = try other.folder.write(
            lines.enumerated().filter { $0.offset != 3 }.map { String($0.element) }
                .joined(separator: "\r\n") + "\r\n", to: "periods.csv")
        let loaded = try other.run("import", "--transactions", periodFile)
        try #require(loaded.status == 0, "\(loaded.errors)")
        _ = try other.run("run", "backfill")
        #expect(
            try other.reportLines("discrepancies.jsonl").map { $0["kind"] as? String }
                == ["transaction_missing"])
        #expect(
            Set(
                try other.run("export", "--transactions").output.split(separator: "\r\n").map {
                    $0.split(separator: ",")[0]
                }) == Set(lines.map { $0.split(separator: ",")[0] }))
    }

    @Test(.timeLimit(.minutes(30)))
    func `a history without end is left alone and says so`() async throws {
        let place = try workplace(customers: 5, drift: "0")
        try place.writeJob("backfill", "history: always", steps: "[walk]")
        for fault in ["has_more_forever", "repeated_token"] {
            try await place.simulator.control(
                "/_simulator/faults", method: "POST",
                body: #"{"faults": [{"fault": "\#(fault)", "endpoint": "history"}]}"#)
            let run = try place.run("run", "backfill")
            #expect(run.status == 3, "\(run.errors)\n\(run.output)")
            #expect(run.output.contains("were not read to their end"))
            #expect(try place.reportLines("corrections.jsonl").isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `an id of the other environment is proven where that is configured too`() throws {
        let place = try workplace(customers: 10, drift: "0")
        let simulator = place.simulator
        let apps = ["production", "sandbox"].map { simulator.appYAML(environment: $0) }
        try place.writeSettings(apps: apps)
        try place.writeJob("recover", steps: "[recover]")
        // The sandbox's own notifications name an id that only the sandbox knows.
        _ = try place.run("run", "recover")
        let foreign = try #require(
            try place.reportLines("discrepancies.jsonl")
                .first { $0["environment"] as? String == "Sandbox" })
        let id = try #require(foreign["original_transaction_id"] as? String)
        let file = try place.folder.write(
            "original_transaction_id,environment,bundle_id,status\n"
                + "\(id),Production,\(simulator.ready.bundleID),1\n", to: "foreign.csv")
        try #require(place.run("import", file).status == 0)
        try place.writeJob("walk", steps: "[walk]")
        #expect(try place.run("run", "walk").status == 2)
        let found = try place.reportLines("discrepancies.jsonl")
        #expect(found.map { $0["kind"] as? String } == ["wrong_environment"])
        #expect(found.first?["apple_value"] as? String == "Sandbox")
        #expect(found.first?["action"] as? String == "none")
    }
}
