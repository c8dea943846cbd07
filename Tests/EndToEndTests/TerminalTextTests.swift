import Foundation
import TestSupport
import Testing

/// Foreign text on its way to a terminal: escapes in the table, in files, in reports and in arguments.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `Foreign text never reaches the terminal raw` {
    /// A title, a colour, an 8-bit control sequence, a turned direction, a line of its own.
    private static let planted =
        "x\u{1B}]0;owned\u{07}\u{1B}[31m\u{9B}2J\u{202E}\u{2028}\nINTACT: y"

    /// What a terminal would obey, in either stream.
    private func raw(_ result: BuiltExecutable.Result) -> [String] {
        (result.output + result.errors).unicodeScalars.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: scalar != "\n"
            default: false
            }
        }.map { String($0.value, radix: 16) }
    }

    /// Whether a line begins as the planted text ends.
    private func hasForgedLine(_ result: BuiltExecutable.Result) -> Bool {
        (result.output + "\n" + result.errors).split(separator: "\n").contains {
            $0.hasPrefix("INTACT: y")
        }
    }

    private func expectPlain(
        _ place: Workplace, _ arguments: [String], _ statuses: Set<Int32>? = nil
    ) throws {
        let result = try place.run(arguments)
        let shown = arguments.joined(separator: " ")
        #expect(raw(result) == [], "\(shown): \(result.output)\(result.errors)")
        #expect(!hasForgedLine(result), "\(shown): \(result.output)\(result.errors)")
        // It was shown at all, or refused with words.
        #expect(!(result.output + result.errors).isEmpty, "\(shown)")
        if let statuses { #expect(statuses.contains(result.status), "\(shown): \(result.errors)") }
        if arguments.contains("--json") {
            #expect(isJSON(result.output), "\(shown): \(result.output)")
        }
    }

    /// Whether the results are one JSON text, or one in each line.
    private func isJSON(_ output: String) -> Bool {
        func parses(_ text: some StringProtocol) -> Bool {
            (try? JSONSerialization.jsonObject(with: Data(text.utf8))) != nil
        }
        return parses(output) || output.split(separator: "\n").allSatisfy(parses)
    }

    private func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }

    /// A run over a table with planted values, which corrects some of them.
    private func prepared() throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "30", "--drift", "0.5", "--seed", "5",
        ])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s\nfail_on: none")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let text = quoted(Self.planted)
        try place.sql(
            """
            UPDATE subscriptions SET customer_id = \(text), product_id = \(text);
            INSERT INTO subscriptions (original_transaction_id, environment, bundle_id, status,
                product_id) VALUES (\(text), 'Production', 'com.example.app', 1, \(text)),
                ('42', \(text), \(text), 1, \(text));
            """)
        return place
    }

    @Test func `from the table, by any command`() throws {
        let place = try prepared()
        try expectPlain(place, ["estimate", "nightly"])
        try expectPlain(place, ["check", "nightly"])
        let plan = place.folder.url.appendingPathComponent("reports/latest").path
        try expectPlain(place, ["show", "plan", plan], [0])
        try expectPlain(place, ["run", "nightly"])
        let run = try #require(try place.summary()["run_id"] as? String)
        let finding = try #require(
            try place.reportLines("discrepancies.jsonl").first?["finding_id"] as? String)
        let id = try #require(
            try place.reportLines("corrections.jsonl").first?["original_transaction_id"] as? String)
        for arguments in [
            ["status"], ["doctor"], ["verify"], ["verify", "--database"], ["undo", run],
            ["explain", id], ["explain", Self.planted], ["erase", Self.planted], ["apps"],
            ["show", "plan", run], ["acknowledge", finding, "--reason", Self.planted], ["status"],
            ["tell"],
        ] {
            try expectPlain(place, arguments)
            try expectPlain(place, arguments + ["--json"])
        }
        try expectPlain(place, ["report", run, "--file", "summary.txt"])
        try expectPlain(place, ["erase", Self.planted, "--execute"])
        try expectPlain(place, ["undo", run, "--execute"])
    }

    @Test func `from a report folder`() throws {
        let place = try prepared()
        _ = try place.run("run", "nightly")
        let reports = place.folder.url.appendingPathComponent("reports")
        let day = try #require(
            try FileManager.default.contentsOfDirectory(atPath: reports.path)
                .first { $0.hasPrefix("20") })
        let names = ["x\u{1B}[31m\u{9B}2J\u{202E}", "y\nINTACT: y"]
        for name in names {
            let folder = reports.appendingPathComponent(day).appendingPathComponent(name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("{}".utf8).write(to: folder.appendingPathComponent("manifest.json"))
            try Data().write(to: folder.appendingPathComponent(name))
            try Data().write(to: reports.appendingPathComponent(name))
        }
        try expectPlain(place, ["verify"], [7])
        try expectPlain(place, ["verify", "--color", "always", "--quiet", "nowhere\u{1B}[31m"])
        // Values inside: the manifest and the finding, escaped as JSON does.
        let newest = reports.appendingPathComponent("latest").resolvingSymlinksInPath()
        for file in ["manifest.json", "summary.json", "discrepancies.jsonl", "corrections.jsonl"] {
            let url = newest.appendingPathComponent(file)
            var text = try String(contentsOf: url, encoding: .utf8)
            for member in [
                "run_id", "app", "job", "kind", "apple_value", "ledger_hash", "evidence",
            ] {
                text = text.replacing(
                    try Regex("\"\(member)\":( ?)\"[^\"]*\""),
                    with: { match in
                        "\"\(member)\":\(match.output[1].substring ?? "")"
                            + "\"x\\u001b[31m\u{9B}\u{202E}\\nINTACT: y\""
                    })
            }
            try Data(text.utf8).write(to: url)
        }
        try expectPlain(place, ["verify"], [7])
        try expectPlain(place, ["verify", newest.path], [7])
        try expectPlain(place, ["status"])
        // The runs of a day are listed from these files alone.
        try expectPlain(place, ["report", "night", day, "--reports", reports.path], [0])
        try expectPlain(place, ["report", "night", day, "--reports", reports.path, "--json"], [0])
    }

    @Test func `from arguments, file names, job names and imported files`() throws {
        let place = try prepared()
        let name = "x\u{1B}[31m\u{9B}2J\u{202E}\nINTACT: y"
        try place.folder.write(
            "original_transaction_id,\u{1B}[31m\u{9B}2J,y\u{202E}\n1,2,3\n", to: "rows.csv")
        try place.folder.write("original_transaction_id\n\u{1B}[31mx\u{9B}\u{202E}\n", to: name)
        try place.folder.write(
            "{\"notificationUUID\": \"\\u001b[31m\u{9B}\", \"receivedAt\": \"\u{202E}\"}\n",
            to: "notifications.jsonl")
        try place.folder.write("mode: \"\\e[31m\u{202E}\"\n", to: "jobs/\(name).yaml")
        for arguments in [
            ["import", "rows.csv"], ["import", name], ["import", "none" + name],
            ["import", "--notifications", "notifications.jsonl"], ["run", name],
            ["check", name + "2"], ["estimate", name], ["verify", name], ["inspect", name],
            ["apply", name], ["undo", name], ["report", name], ["show", name], [name],
            ["help", name], ["status", "--" + name], ["pause", name], ["throttle", name, "5"],
            ["status", "--config", name], ["run", "nightly", "--ids-file", name],
            ["status", "--color=" + name], ["run", "nightly", "--limit=" + name],
            ["report", "night", name], ["report", "night", "2026-11-20", "--reports", name],
        ] {
            try expectPlain(place, arguments)
            try expectPlain(place, arguments + ["--json"])
        }
    }
}
