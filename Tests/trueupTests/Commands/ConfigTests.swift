import Foundation
import Subscriptions
import Testing

@Suite struct `The command config` {
    @Test func `checks settings and jobs, and makes no database`() async throws {
        let place = try await Workplace().initialised()
        try FileManager.default.removeItem(atPath: place.folder.path + "/trueup.sqlite")
        let outcome = await place.run("config", "check")
        #expect(outcome.status == .ok)
        #expect(outcome.output.contains("audit, backfill, nightly, recover"))
        let files = try FileManager.default.contentsOfDirectory(atPath: place.folder.path)
        #expect(!files.contains("trueup.sqlite"))
    }

    @Test func `names every job that cannot be used, with line and remedy`() async throws {
        let place = try await Workplace().initialised()
        for job in ["nightly", "audit"] {
            let path = place.folder.path + "/jobs/\(job).yaml"
            let text = try String(contentsOfFile: path, encoding: .utf8)
            try (text + "\nsweep_day: 3\n").write(
                toFile: path, atomically: true, encoding: .utf8)
        }
        let outcome = await place.run("config", "check")
        #expect(outcome.status == .config)
        for job in ["nightly", "audit"] {
            #expect(
                outcome.output.contains(
                    try Regex("FAILED +jobs .*/\(job)\\.yaml:[0-9]+: sweep_day: unknown key")))
        }
        #expect(outcome.output.contains("did you mean \"sweep_days\"?"))
        #expect(await place.run("config", "check", "backfill").status == .ok)
        #expect(await place.run("config", "check", "nightlly").status == .config)
    }

    @Test func `refuses settings with a mistake`() async throws {
        let place = try Workplace()
        try "apps: 3\n".write(toFile: place.settings, atomically: true, encoding: .utf8)
        let outcome = await place.run("config", "check", "--json")
        #expect(outcome.status == .config)
        #expect(outcome.output.contains(#""outcome":"failed""#))
    }

    @Test func `shows each value with the line, the variable or the default`() async throws {
        let place = try await Workplace().initialised()
        place.environment["TRUEUP_REPORT_DIRECTORY"] = "/srv/reports"
        try append(
            """
            ping: {success: "https://ping.example.com/secret-path"}
            metrics: {directory: metrics}

            """, to: place)
        let outcome = await place.run("config", "show", "nightly")
        #expect(outcome.status == .ok)
        let lines = outcome.output.split(separator: "\n").map {
            $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        }
        #expect(
            lines.contains("report.directory /srv/reports environment, TRUEUP_REPORT_DIRECTORY"))
        #expect(lines.contains { $0.hasPrefix("apps[0].bundle_id com.example.app ") })
        #expect(lines.contains("apps[0].proxy (none) default"))
        #expect(
            lines.contains {
                $0.hasPrefix("metrics.directory \(place.folder.path)/metrics \(place.settings):")
            })
        #expect(lines.contains { $0.hasPrefix("ping.success https://ping.example.com/… ") })
        #expect(!outcome.output.contains("secret-path"))
        #expect(lines.contains("job nightly"))
        #expect(lines.contains { $0.hasPrefix("sweep_days 30 ") && $0.contains("nightly.yaml:") })
    }

    @Test func `shows the value that a run uses`() async throws {
        let place = try await Workplace().initialised()
        let path = place.folder.path + "/jobs/short.yaml"
        try "sweep_days: 7\n".write(toFile: path, atomically: true, encoding: .utf8)
        let outcome = await place.run("config", "show", "short", "--json")
        #expect(outcome.status == .ok)
        let text = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
        let jobs = (text as? [String: Any])?["jobs"] as? [String: [[String: Any]]]
        let settings = try #require(jobs?["short"])
        let written = try #require(settings.first { $0["key"] as? String == "sweep_days" })
        #expect(written["value"] as? String == "7")
        #expect(written["line"] as? Int == 1)
        let absent = try #require(settings.first { $0["key"] as? String == "sweep_ended_days" })
        #expect(absent["value"] as? String == "180")
        #expect(absent["source"] as? String == "default")
    }

    @Test func `prints a schema, and refuses another name`() async throws {
        let place = try Workplace()
        for name in ["settings", "job"] {
            let outcome = await place.run("config", "schema", name)
            #expect(outcome.status == .ok)
            let json = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
            #expect((json as? [String: Any])?["properties"] != nil)
        }
        #expect(await place.run("config", "schema").status == .usage)
        #expect(await place.run("config", "schema", "other").status == .usage)
    }

    private func append(_ text: String, to place: Workplace) throws {
        let settings = try String(contentsOfFile: place.settings, encoding: .utf8)
        try (settings + text).write(toFile: place.settings, atomically: true, encoding: .utf8)
    }
}
