import Foundation
import TestSupport
import Testing

/// What commands say where it was found to mislead.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `What commands say` {
    private func place(_ arguments: [String], extra: [String] = []) throws -> Workplace {
        let simulator = try RunningSimulator(arguments)
        let place = try Workplace(on: simulator, extra: extra)
        try place.writeJob("nightly", "settle: 0s", steps: "[walk]")
        try #require(place.run("init").status == 0)
        return place
    }

    /// Runs a command on a terminal of 80 columns.
    private func onTerminal(_ place: Workplace, _ arguments: [String]) throws -> [String] {
        let program = BuiltExecutable("trueup").url.path
        let command = ([program] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
        process.arguments = ["-qec", "stty cols 80; \(command)", "/dev/null"]
        process.currentDirectoryURL = place.folder.url
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
            .replacing("\r\n", with: "\n").split(separator: "\n").map { line in
                String(line).replacing(/\u{1B}\[[0-9;]*[mK]/, with: "")
            }
    }

    @Test func `a refused key leaves rows unavailable, not past a deadline`() throws {
        let place = try place(["--customers", "12", "--seed", "3"])
        try #require(
            place.run("import", try place.rowsFile(["2000000000000001", "2000000000000002"])).status
                == 0)
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(
            settings.replacing(
                try Regex("issuer_id: .*"),
                with: "issuer_id: 00000000-0000-4000-8000-000000000000"), to: "trueup.yaml")
        let run = try place.run("run", "nightly")
        #expect(run.status == 77, "\(run.errors)\n\(run.output)")
        let undecided = try place.report("undecided.csv")
        #expect(undecided.contains(",unavailable"), "\(undecided)")
        #expect(!undecided.contains("deadline"), "\(undecided)")
        let reasons = try place.summary()["undecided_reasons"] as? [String: Int]
        #expect(reasons == ["unavailable": 2])
    }

    @Test func `import names every unknown column at once`() throws {
        let place = try place(["--customers", "0"])
        let file = try place.folder.write(
            "original_transaction_id,statsu,colour,environment,flavour\n1,1,2,Production,3\n",
            to: "rows.csv")
        let csv = try place.run("import", file)
        #expect(csv.status == 65)
        for name in ["\"statsu\"; did you mean \"status\"?", "\"colour\"", "\"flavour\""] {
            #expect(csv.errors.contains(name), "\(csv.errors)")
        }
        let lines = try place.folder.write(
            "{\"original_transaction_id\": \"1\", \"colour\": 1, \"flavour\": 2}\n",
            to: "rows.jsonl")
        let json = try place.run("import", lines)
        #expect(json.status == 65)
        #expect(json.errors.contains("\"colour\"") && json.errors.contains("\"flavour\""))
    }

    @Test func `explain takes a customer id, and a time with a loopback endpoint`() throws {
        let place = try place(["--customers", "12", "--seed", "3", "--drift", "0"])
        let table = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        let rows = try place.rows()
        let row = try #require(rows.values.first { $0["customer_id"]?.isEmpty == false })
        let customer = try #require(row["customer_id"])
        let all = rows.values.filter { $0["customer_id"] == customer }
        let explained = try place.run("explain", customer)
        #expect(explained.status == 0, "\(explained.errors)")
        for one in all {
            let id = try #require(one["original_transaction_id"])
            #expect(explained.output.contains("Subscription \(id) of"), "\(explained.output)")
        }
        let json = try place.run("explain", customer, "--json")
        #expect(json.output.contains("\"customer_id\":\"\(customer)\""))
        let id = try #require(row["original_transaction_id"])
        #expect(try place.run("explain", id, "--now", "2030-01-01T00:00:00Z").status == 0)
        #expect(try place.run("explain", "nobody").status == 65)
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(
            settings.split(separator: "\n").filter {
                !$0.contains("endpoint:") && !$0.contains("ca_file:")
                    && !$0.contains("trusted_roots") && !$0.contains("requests_per_second")
            }.joined(separator: "\n") + "\n", to: "trueup.yaml")
        let real = try place.run("explain", id, "--now", "2030-01-01T00:00:00Z")
        #expect(real.status == 64, "\(real.errors)")
        #expect(real.errors.contains("loopback"))
    }

    @Test func `an audit of a partial table says to import the rest`() throws {
        let simulator = try RunningSimulator(["--customers", "80", "--seed", "3", "--drift", "0"])
        let place = try Workplace(on: simulator)
        try place.writeJob("audit", "settle: 0s", steps: "[walk]", mode: "check")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        // One row a customer is left, as of a list that somebody cut.
        try place.sql(
            """
            DELETE FROM subscriptions WHERE original_transaction_id NOT IN (
                SELECT min(original_transaction_id) FROM subscriptions GROUP BY customer_id)
            """)
        let audit = try place.run("run", "audit")
        #expect(audit.status == 2, "\(audit.errors)\n\(audit.output)")
        let missing = try place.reportLines("discrepancies.jsonl").count {
            $0["kind"] as? String == "missing_locally"
        }
        try #require(missing >= 5)
        #expect(
            audit.output.contains("\(missing) purchases of your customers are not in the table"))
        #expect(audit.output.contains("import the rest first"), "\(audit.output)")
    }

    @Test func `on a terminal of 80 columns lines are wrapped once`() throws {
        let place = try place(["--customers", "12", "--seed", "3", "--drift", "0.5"])
        let table = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        let run = try onTerminal(place, ["run", "nightly"])
        #expect(
            run.allSatisfy {
                ($0.split(separator: "\r").last?.count ?? 0) <= 80 || $0.contains("reports/")
            }, "\(run)")
        let status = try onTerminal(place, ["status"])
        let start = try #require(status.firstIndex(of: "Last runs"))
        let runs = status[(start + 1)...]
        #expect(runs.first?.contains("nightly") == true, "\(runs)")
        #expect(runs.dropFirst().first?.hasPrefix("    in scope ") == true, "\(runs)")
    }
}

extension Workplace {
    /// A file of rows with a status and nothing else.
    fileprivate func rowsFile(_ ids: [String]) throws -> String {
        try folder.write(
            "original_transaction_id,status\n" + ids.map { $0 + ",1\n" }.joined(), to: "rows.csv")
    }
}
