import Foundation
import Reconciliation
import ReconciliationRun
import Subscriptions
import Testing
import trueup

@Suite struct `trueup init` {
    let workplace: Workplace

    init() throws { workplace = try Workplace() }

    @Test func `writes settings, four jobs and a database for its owner alone`() async throws {
        let outcome = await workplace.run("init")
        #expect(outcome.status == .ok, "\(outcome.diagnostics)")
        #expect(outcome.diagnostics.contains("Fill in"))
        let settings = try Settings.load(flag: workplace.settings, environment: [:])
        for job in ["nightly", "backfill", "recover", "audit"] {
            #expect(try JobSettings.load(job, beside: settings).name == job)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: settings.databasePath)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(await workplace.run("status").status == .ok)
    }

    @Test func `never overwrites what is there, and says so`() async throws {
        _ = await workplace.run("init")
        let own = SettingsText.loopback + "\n# my own\n"
        _ = try workplace.folder.write(own, to: "trueup.yaml", mode: 0o644)
        try FileManager.default.removeItem(atPath: workplace.folder.path + "/jobs/audit.yaml")
        let outcome = await workplace.run("init")
        #expect(outcome.status == .ok)
        #expect(outcome.output.contains("kept     \(workplace.settings)"))
        #expect(outcome.output.contains("created  \(workplace.folder.path)/jobs/audit.yaml"))
        #expect(try workplace.folder.text(of: "trueup.yaml") == own)
        let again = await workplace.run("init", "--json")
        #expect(again.output.hasPrefix("{\"created\":[],\"kept\":["))
    }

    @Test func `ends with 73 where nothing can be written`() async throws {
        _ = try workplace.folder.write("a file", to: "jobs")
        #expect(await workplace.run("init").status == .cannotCreate)
    }

    /// In a deployment settings and jobs may lie where nobody may write.
    ///
    /// A ConfigMap of Kubernetes is such a place. A file where the folder should be stands for it here, for root may
    /// write everywhere.
    @Test func `makes the database beside settings whose jobs cannot be written, and says so`()
        async throws
    {
        _ = await workplace.run("init")
        for left in ["jobs", "trueup.sqlite"] {
            try FileManager.default.removeItem(atPath: workplace.folder.path + "/" + left)
        }
        _ = try workplace.folder.write("no folder", to: "jobs")
        let outcome = await workplace.run("init")
        #expect(outcome.status == .ok, "\(outcome.diagnostics)")
        #expect(outcome.output.contains("created  \(workplace.folder.path)/trueup.sqlite"))
        #expect(outcome.output.contains("missing  \(workplace.folder.path)/jobs"))
        #expect(outcome.diagnostics.contains("cannot be run until the file is put"))
        #expect(await workplace.run("status").status == .ok)
        let again = await workplace.run("init", "--json")
        #expect(
            again.output.contains(
                "\"missing\":[\"\(workplace.folder.path)/jobs/nightly.yaml\","), "\(again.output)")
    }

    @Test func `leaves a file alone that is no database of ours`() async throws {
        _ = try workplace.folder.write(
            "something else entirely, and quite long", to: "trueup.sqlite")
        let outcome = await workplace.run("init")
        #expect(outcome.status == .config)
        #expect(try workplace.folder.text(of: "trueup.sqlite").hasPrefix("something else"))
    }

    @Test func `writes a nightly job that says what the defaults are`() throws {
        let nightly = try #require(JobTemplates.all.first { $0.name == "nightly.yaml" }?.text)
        let job = try JobSettings(yaml: nightly, file: "nightly.yaml")
        #expect(job == (try JobSettings(yaml: "{}", file: "nightly.yaml")))
        let backfill = try self.job(named: "backfill")
        #expect(backfill.coverage == .full)
        #expect(backfill.history == .always)
        #expect(try self.job(named: "recover").steps == [.recover])
        #expect(try self.job(named: "audit").mode == .check)
        #expect(try self.job(named: "audit").coverage == .full)
    }

    private func job(named name: String) throws -> JobSettings {
        let text = try #require(JobTemplates.all.first { $0.name == name + ".yaml" }?.text)
        return try JobSettings(yaml: text, file: name + ".yaml")
    }

    @Test func `writes settings whose commented keys are right too`() throws {
        let lines = SettingsTemplate.text.split(separator: "\n").map { line in
            let trimmed = line.drop { $0 == " " }
            guard trimmed.hasPrefix("# "), trimmed.dropFirst(2).prefix(24).contains(": "),
                !trimmed.hasSuffix(":")
            else { return String(line) }
            return String(line.prefix { $0 == " " }) + String(trimmed.dropFirst(2))
        }
        // What may not stand beside another key.
        let left = ["key_file:", "copy:", "max_load:", "max_lag:"]
        let filled = lines.filter { line in !left.contains { line.contains("  " + $0) } }
            .joined(separator: "\n")
        let settings = try SettingsText.settings(filled)
        #expect(settings.apps.first?.endpoint.isLoopback == true)
        #expect(settings.apps.first?.keySource == .environment("APP_STORE_KEY"))
        #expect(settings.apps.first?.requestsPerSecond == 25)
        #expect(settings.apps.first?.proxy != nil)
    }
}
