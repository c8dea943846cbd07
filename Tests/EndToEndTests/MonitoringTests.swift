import Foundation
import TestSupport
import Testing

/// What machines that watch the job are told: figures in a file, and signs of life.
@Suite struct `Watching the job` {
    private func workplace(_ settings: String, drift: String = "0") throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", drift, "--seed", "11",
        ])
        let place = try Workplace(on: simulator)
        let before = try place.folder.text("trueup.yaml")
        try place.folder.write(before + settings, to: "trueup.yaml")
        try place.writeJob("nightly", "settle: 0s")
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    /// The value of every sample of the job, by name and labels as they stand in the file.
    private func metrics(_ place: Workplace) throws -> [String: String] {
        let text = try place.folder.text("metrics/trueup-nightly.prom")
        var samples: [String: String] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: " ")
            try #require(parts.count == 2, "\(line)")
            samples[String(parts[0])] = String(parts[1])
        }
        return samples
    }

    @Test(.timeLimit(.minutes(30)))
    func `metrics say what the summary says, and only whole runs leave them`() throws {
        let place = try workplace("metrics: {directory: metrics}\n", drift: "0.2")
        try FileManager.default.createDirectory(
            at: place.folder.url.appendingPathComponent("metrics"),
            withIntermediateDirectories: true)
        let run = try place.run("run", "nightly")
        try #require(run.status == 2, "\(run.errors)\n\(run.output)")
        let first = try metrics(place)
        let summary = try place.summary()
        let totals = try #require(summary["totals"] as? [String: Any])
        for verdict in ["match": "matched", "discrepancy": "discrepant", "undecided": "undecided"] {
            #expect(
                first[#"trueup_rows{job="nightly",verdict="\#(verdict.key)"}"#].flatMap(Int.init)
                    == totals[verdict.value] as? Int, "\(verdict)")
        }
        let corrections = try #require(summary["corrections"] as? [String: Int])
        #expect(
            first[#"trueup_corrections{job="nightly",fate="applied"}"#].flatMap(Int.init)
                == corrections["applied"])
        #expect(first[#"trueup_last_run_exit_status{job="nightly"}"#] == "2")
        #expect(first[#"trueup_last_success_timestamp_seconds{job="nightly"}"#] != nil)
        #expect(first.keys.contains { $0.hasPrefix("trueup_watermark_timestamp_seconds{") })
        #expect(first.keys.contains { $0.hasPrefix("trueup_quota_used_ratio{") })

        for arguments in [["check", "nightly"], ["run", "nightly", "--limit", "1"]] {
            _ = try place.run(arguments)
            #expect(try metrics(place) == first, "\(arguments)")
        }
        // A guard stops the night; the check before it judged everything, and is no night.
        let success = #"trueup_last_success_timestamp_seconds{job="nightly"}"#
        try place.writeJob(
            "nightly", "settle: 0s", guards: "min_changes: 0, max_changes: 0")
        try place.sql(
            """
            UPDATE subscriptions SET status = 2 WHERE original_transaction_id =
                (SELECT min(original_transaction_id) FROM subscriptions WHERE status = 1)
            """)
        #expect([0, 2].contains(try place.run("check", "nightly").status))
        #expect(try place.run("run", "nightly").status == 4)
        #expect(try metrics(place)[success] == first[success])
        try place.writeJob("nightly", "settle: 0s")
        // Of an app that the settings no longer have.
        try place.sql("INSERT INTO trueup_watermarks VALUES ('com.example.gone', 'Production', 1)")
        let second = try place.run("run", "nightly")
        #expect([0, 2].contains(second.status), "\(second.errors)")
        let last = try metrics(place)
        #expect(last != first)
        let watermarks = last.keys.filter { $0.hasPrefix("trueup_watermark_timestamp_seconds{") }
        #expect(
            !watermarks.isEmpty && !watermarks.contains { $0.contains("com.example.gone") },
            "\(watermarks)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `a worker's run for its apps is watched like a whole one`() throws {
        let (start, good, bad) = (try EventReceiver(), try EventReceiver(), try EventReceiver())
        let place = try workplace(
            "metrics: {directory: metrics}\n" + pings(start, good, bad), drift: "0.2")
        try FileManager.default.createDirectory(
            at: place.folder.url.appendingPathComponent("metrics"),
            withIntermediateDirectories: true)
        let app = place.simulator.ready.bundleID
        let run = try place.run("run", "nightly", "--app", app)
        try #require(run.status == 2, "\(run.errors)\n\(run.output)")
        let names = try FileManager.default.contentsOfDirectory(
            atPath: place.folder.url.appendingPathComponent("metrics").path)
        let name = try #require(names.first)
        #expect(names.count == 1 && name.hasPrefix("trueup-nightly@\(app)_"), "\(names)")
        let text = try place.folder.text("metrics/" + name)
        #expect(
            text.contains("trueup_last_success_timestamp_seconds{job=\"nightly\",apps=\"\(app)/"))
        #expect(start.received.count == 1 && good.received.isEmpty && bad.received.count == 1)
        let status = try place.run("status")
        #expect(!status.output.contains("no run has been complete yet"), "\(status.output)")
        #expect(status.output.contains("last complete run began"), "\(status.output)")
        // Leaving out more, it is nobody's night.
        _ = try place.run("run", "nightly", "--app", app, "--limit", "1")
        #expect(try place.folder.text("metrics/" + name) == text)
        #expect(start.received.count == 1)

        let folder = place.folder.url.appendingPathComponent("reports").path
        let day = String(try #require(try place.summary()["started"] as? String).prefix(10))
        let night = try place.run("report", "night", day, "--reports", folder)
        #expect(night.status == 0, "\(night.errors)")
        #expect(night.output.contains(": 2 runs"), "\(night.output)")
        #expect(night.output.contains("\(app)/"), "\(night.output)")
        let none = try place.run("report", "night", "2001-01-01", "--reports", folder)
        #expect(none.status == 64, "\(none.errors)")
        let gone = try place.run("report", "night", day, "--reports", folder + "/gone")
        #expect(gone.status == 69, "\(gone.errors)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `a folder that is not there changes nothing but a warning`() throws {
        let place = try workplace("metrics: {directory: nowhere/metrics}\n")
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.contains("metrics of this run were not written"), "\(run.errors)")
        #expect(run.errors.contains("nowhere/metrics"))
    }

    private func pings(_ start: EventReceiver, _ good: EventReceiver, _ bad: EventReceiver)
        -> String
    {
        "ping: {start: \"\(start.url)\", success: \"\(good.url)\", failure: \"\(bad.url)\"}\n"
    }

    @Test(.timeLimit(.minutes(30)))
    func `a run pings when it begins, and how it ended`() throws {
        let (start, good, bad) = (try EventReceiver(), try EventReceiver(), try EventReceiver())
        let place = try workplace(pings(start, good, bad))
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)")
        #expect(start.received.count == 1)
        #expect(good.received.count == 1)
        #expect(bad.received.isEmpty)

        // What somebody does by hand must not hide that a night is missing.
        _ = try place.run("check", "nightly")
        _ = try place.run("run", "nightly", "--limit", "1")
        #expect(start.received.count == 1)

        try place.sql("UPDATE subscriptions SET bundle_id = 'com.example.stranger'")
        let failed = try place.run("run", "nightly")
        #expect(failed.status != 0)
        #expect(start.received.count == 2)
        #expect(good.received.count == 1)
        #expect(bad.received.count == 1)
    }

    @Test(.timeLimit(.minutes(30)))
    func `a receiver that hangs, refuses or is not there changes nothing but a warning`() throws {
        let (start, good, bad) = (try EventReceiver(), try EventReceiver(), try EventReceiver())
        let place = try workplace(pings(start, good, bad))
        start.hang()
        good.answer("500 Internal Server Error")
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.components(separatedBy: "ping to ").count == 3, "\(run.errors)")
        #expect(run.errors.contains("it answered 500"))
        // The path of such an address is a secret.
        #expect(!run.errors.contains("/hooks/"))
        #expect(try !place.report("run.log.jsonl").contains("/hooks/"))
    }

    @Test(.timeLimit(.minutes(30)))
    func `a hang-up stops a run like a signal, unless it is ignored`() throws {
        let place = try workplace("")
        let slow = place.simulator.appYAML()
            .replacingOccurrences(of: "requests_per_second: 5000", with: "requests_per_second: 4")
        try place.writeSettings(apps: [slow])
        // Tests that were started under nohup ignore it, and a program inherits that.
        let inherited = signal(SIGHUP, SIG_DFL)
        let running = try place.start("run", "nightly")
        signal(SIGHUP, inherited)
        try place.untilRowsAreDone(running)
        running.send(signal: SIGHUP)
        let stopped = running.wait()
        #expect(stopped.status == 129, "\(stopped.errors)")
        #expect(stopped.output.contains("SIGHUP"), "\(stopped.output)")
        try place.writeSettings(apps: [place.simulator.appYAML()])
        #expect(try place.run("run", "nightly").status == 0)
    }
}
