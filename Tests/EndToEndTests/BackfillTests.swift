import Foundation
import TestSupport
import Testing

/// The first fill, from a list of ids.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A backfill` {
    private func place(customers: Int, requestsPerSecond: Int = 5000) throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--drift", "0", "--seed", "7",
        ])
        let place = try Workplace(on: simulator)
        try place.writeSettings(apps: [
            simulator.appYAML().replacingOccurrences(
                of: "requests_per_second: 5000",
                with: "requests_per_second: \(requestsPerSecond)")
        ])
        try #require(place.run("init").status == 0)
        // The rows that a run has just filled in are asked about by the next one.
        let job = try place.folder.text("jobs/backfill.yaml")
        try place.folder.write(job + "\nsettle: 0s\n", to: "jobs/backfill.yaml")
        let table = try String(
            contentsOfFile: try #require(simulator.ready.tableFile), encoding: .utf8)
        let ids = table.split(whereSeparator: \.isNewline).map {
            String($0.prefix { $0 != "," })
        }
        let file = try place.folder.write(ids.joined(separator: "\n") + "\n", to: "ids.csv")
        let imported = try place.run("import", file)
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    private func ids(_ place: Workplace) throws -> Int {
        try #require(
            Int(place.stored("SELECT count(*) FROM subscriptions").first?.first ?? ""))
    }

    private func bytes(ofFilesIn folder: URL) throws -> Int {
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: folder.path).reduce(0) { sum, name in
            let path = folder.appendingPathComponent(name).path
            return sum + (try files.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
        }
    }

    private func latest(_ place: Workplace) -> URL {
        place.folder.url.appendingPathComponent("reports/latest").resolvingSymlinksInPath()
    }

    /// A backfill that has ended; the tests that only read its report share it.
    ///
    /// The report is large enough to be packed.
    private struct Finished: Sendable {
        let place: Workplace
        let report: URL
        /// What `doctor` printed before the run.
        let doctor: String
        /// The database's size before and after the run.
        let bytesBefore: Int
        let bytesAfter: Int
        let ended: Date
    }

    private static let finished = Result { try finish() }

    private static func finish() throws -> Finished {
        let suite = Self()
        let place = try suite.place(customers: 320)
        let doctor = try place.run("doctor").output
        let before = try suite.databaseBytes(place)
        let exit = try place.run("run", "backfill")
        let ended = Date()
        try #require(exit.status == 0, "\(exit.errors)\n\(exit.output)")
        return Finished(
            place: place, report: suite.latest(place), doctor: doctor, bytesBefore: before,
            bytesAfter: try suite.databaseBytes(place), ended: ended)
    }

    private func databaseBytes(_ place: Workplace) throws -> Int {
        let database = place.folder.url.appendingPathComponent("trueup.sqlite")
        return try FileManager.default.attributesOfItem(atPath: database.path)[.size] as? Int ?? 0
    }

    // MARK: The report

    @Test func `leaves a report of at most 8 KB an id, which ties out and is intact`() throws {
        let place = try Self.finished.get().place
        let report = try Self.finished.get().report
        let ids = try ids(place)
        let size = try bytes(ofFilesIn: report)
        #expect(size <= 8 * 1024 * ids, "\(size) bytes for \(ids) ids")

        // Each correction has one line, and the spreadsheet one that counts them.
        let lines = try PackedFile.lines(of: "corrections.jsonl", in: report)
        let applied = try #require(
            (try place.summary()["corrections"] as? [String: Any])?["applied"] as? Int)
        #expect(lines.count == applied)
        let csv = try place.report("corrections.csv").split(separator: "\r\n")
        try #require(csv.count == 2)
        let columns = csv[0].split(separator: ",", omittingEmptySubsequences: false)
        let values = csv[1].split(separator: ",", omittingEmptySubsequences: false)
        let field = try #require(columns.firstIndex(of: "field"))
        let after = try #require(columns.firstIndex(of: "after"))
        #expect(values[field] == "fills_and_new_periods")
        #expect(values[after] == "\(applied)")

        // Each payload stands once.
        let evidence = try PackedFile.lines(of: "evidence.jsonl", in: report)
        #expect(evidence.count > applied)
        #expect(Set(evidence).count == evidence.count)

        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        // The same bytes again.
        let again = place.folder.url.appendingPathComponent("again").path
        let rendered = try place.run("report", "latest", "--output", again)
        try #require(rendered.status == 0, "\(rendered.errors)")
        for name in ["corrections.jsonl.gz", "plan.json.gz", "undo.json.gz", "evidence.jsonl.gz"] {
            let first = try Data(contentsOf: report.appendingPathComponent(name))
            #expect(FileManager.default.contents(atPath: again + "/" + name) == first, "\(name)")
        }
        // A plan that was applied is known, also where its file is packed; then no report is written.
        let applying = try place.run("apply", "reports/latest")
        #expect(applying.status == 0, "\(applying.errors)\(applying.output)")
        #expect(latest(place) == report)
    }

    @Test func `of which a packed file was changed is found tampered with`() throws {
        let place = try Self.finished.get().place
        let reports = place.folder.url.appendingPathComponent("reports")
        func verified(
            _ what: String, _ forge: (ForgedReports) throws -> Void
        ) throws -> BuiltExecutable.Result {
            let forged = try ForgedReports(copyOf: reports)
            try PackedFile.unpack(in: forged.url(0))
            try forge(forged)
            try PackedFile.pack(in: forged.url(0))
            try forged.relink(from: 0)
            try PackedFile.describe(in: forged.url(0))
            try forged.rewriteIndex()
            return try place.run("verify", forged.directory.path, "--config", "trueup.yaml")
        }
        let intact = try verified("nothing") { _ in }
        #expect(intact.status == 0, "\(intact.output)\(intact.errors)")
        // A price of a new period, with every digest, hash and seal made anew.
        let price = try verified("price") { forged in
            var entries = try forged.objects(0, "corrections.jsonl")
            let place = try #require(
                entries.firstIndex { ($0["after"] as? [String: Any])?["price"] != nil })
            var after = try #require(entries[place]["after"] as? [String: Any])
            after["price"] = 1
            entries[place]["after"] = after
            try forged.writeObjects(entries, 0, "corrections.jsonl")
            try forged.rehashLedger(from: 0)
        }
        #expect(price.status == 7, "\(price.output)")
        let total = try verified("total") { forged in
            let before = try forged.text(0, "corrections.csv")
            let count = try forged.objects(0, "corrections.jsonl").count
            try forged.replace(
                ",,\(count),", with: ",,\(count - 1),", 0, "corrections.csv")
            try #require(forged.text(0, "corrections.csv") != before)
        }
        #expect(total.status == 7, "\(total.output)")
        #expect(total.output.contains("corrections.csv"), "\(total.output)")
        let removed = try verified("removed") { forged in
            try forged.editLines(0, "corrections.csv") { $0.removeLast() }
        }
        #expect(removed.status == 7, "\(removed.output)")
    }

    @Test func `of which a packed file unpacks to far more is refused at once`() throws {
        let place = try Self.finished.get().place
        let reports = place.folder.url.appendingPathComponent("reports")
        let forged = try ForgedReports(copyOf: reports)
        let bomb = try PackedFile.packed(Data(count: 200 * 1024 * 1024))
        try bomb.write(to: forged.url(0).appendingPathComponent("evidence.jsonl.gz"))
        let began = ContinuousClock.now
        let verified = try place.run("verify", forged.directory.path, "--config", "trueup.yaml")
        #expect(verified.status == 7)
        #expect(verified.output.contains("unpacks to more"), "\(verified.output)")
        #expect(ContinuousClock.now - began < .seconds(60))
    }

    // MARK: Stopping and going on

    /// Starts the job, sends it an interrupt once it has come to a stage, and says how long it took to
    /// end.
    private func stopped(
        _ place: Workplace, at stage: String
    ) throws -> (result: BuiltExecutable.Result, took: Duration) {
        let run = try place.start("run", "backfill")
        while run.process.isRunning {
            if let told = try place.runningJob(), told["stage"] as? String == stage,
                told["done"] as? Int ?? 0 > 0
            {
                break
            }
            usleep(50_000)
        }
        let began = ContinuousClock.now
        run.send(signal: SIGINT)
        let result = run.wait()
        return (result, ContinuousClock.now - began)
    }

    @Test func `stopped while it asks ends soon, says what is left, and goes on`() throws {
        let place = try place(customers: 40, requestsPerSecond: 4)
        let ids = try ids(place)
        let first = try stopped(place, at: "walk")
        #expect(first.result.status == 130, "\(first.result.errors)")
        #expect(first.took < .seconds(30))
        let judged = try #require(
            Int(
                place.stored("SELECT count(*) FROM trueup_pass_rows WHERE verdict IN (1, 2)")
                    .first?.first ?? ""))
        try #require(judged > 0 && judged < ids)

        // What was checked is not asked again, and nothing says that it is.
        let estimate = try place.run("estimate", "backfill", "--json")
        let forecast = try #require(
            try JSONSerialization.jsonObject(with: Data(estimate.output.utf8)) as? [String: Any])
        let questions = try #require(forecast["questions"] as? [String: Int])
        #expect(questions.values.reduce(0, +) == ids - judged)
        #expect(forecast["checked_by_stopped_run"] as? Int == judged)
        let status = try place.run("status")
        #expect(
            status.output.contains("\(judged) rows were checked by a run that was stopped"),
            "\(status.output)")
        #expect(!status.output.contains("Pending    \(judged)"), "\(status.output)")

        try place.writeSettings(apps: [place.simulator.appYAML()])
        let second = try place.run("run", "backfill")
        #expect(second.status == 0, "\(second.errors)")
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        let asked = calls["subscription_statuses", default: [:]].values.reduce(0, +)
        // A call or two were on their way as the signal came.
        #expect((ids - judged...ids - judged + 5).contains(asked), "\(asked)")
        #expect(
            try place.stored("SELECT count(*) FROM subscriptions WHERE status IS NULL") == [["0"]])
        #expect(try place.run("verify", "--database").status == 0)
    }

    @Test func `killed in its report, or stopped there, is reported by the next run`() throws {
        let place = try place(customers: 60)
        let stopped = try stopped(place, at: "report")
        // It may have been done before the signal came.
        #expect([0, 130].contains(stopped.result.status), "\(stopped.result.errors)")
        #expect(stopped.took < .seconds(30))
        let next = try place.run("run", "backfill")
        #expect(next.status == 0, "\(next.errors)")
        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test func `has ended when its summary says so`() throws {
        let finished = try Self.finished.get()
        let ended = try #require(try finished.place.summary()["ended"] as? String)
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let stated = try #require(formatter.date(from: ended))
        #expect(finished.ended.timeIntervalSince(stated) < 5, "\(ended)")
    }

    // MARK: Room

    @Test func `takes the room that doctor expects, within a factor of two`() throws {
        let finished = try Self.finished.get()
        let words = try #require(
            finished.doctor.firstMatch(
                of:
                    /a run of (\w+) is expected to need ([\d.]+) MiB for the database and ([\d.]+) MiB/
            )
        )
        #expect(words.1 == "backfill")
        let written = Double(finished.bytesAfter - finished.bytesBefore) / 1_048_576
        let report = Double(try bytes(ofFilesIn: finished.report)) / 1_048_576
        let expected = try (#require(Double(words.2)), #require(Double(words.3)))
        let all = (expected.0 + expected.1) / (written + report)
        #expect((0.5...2).contains(all), "\(words.0): \(written) and \(report) MiB written")
    }
}
