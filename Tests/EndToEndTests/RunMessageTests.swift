import Foundation
import TestSupport
import Testing

/// What people are told when a run has ended.
@Suite(.timeLimit(.minutes(30))) struct `The message of a run` {
    private func workplace(_ settings: String, drift: String = "0.2") throws -> Workplace {
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

    private func message(_ lines: String...) -> String {
        "message:\n" + lines.map { "  \($0)\n" }.joined()
    }

    @Test func `says what the report says, where the report is, and is signed`() throws {
        let receiver = try EventReceiver()
        let place = try workplace(
            message(
                "webhook_env: CHAT", "secret_env: CHAT_SECRET",
                "link: \"https://reports.example.com/{day}/{run}?job={job}\""))
        let variables = ["CHAT": receiver.url, "CHAT_SECRET": "0123456789abcdef"]
        let run = try place.run("run", "nightly", environment: variables)
        try #require(run.status == 2, "\(run.errors)")
        #expect(receiver.received.count == 1)
        let received = try #require(receiver.received.first)
        #expect(received.headers["trueup-signature"]?.contains("v1=") == true)
        let body = try received.message()
        let first = run.output.prefix { $0 != "\n" }
        let headline = try #require(body["headline"] as? String)
        #expect(headline.hasPrefix(first.prefix(60)), "\(headline)")
        #expect(body["exit_status"] as? Int == 2)
        #expect(body["name"] as? String == "findings")
        let summary = try place.summary()
        let runID = try #require(body["run_id"] as? String)
        #expect(run.output.contains(runID))
        #expect(
            body["report"] as? String == place.folder.url.resolvingSymlinksInPath().path
                + "/reports/\(runID.prefix(4))-\(runID.dropFirst(4).prefix(2))-"
                + "\(runID.dropFirst(6).prefix(2))/\(runID)")
        let link = try #require(body["link"] as? String)
        #expect(link.hasSuffix("/\(runID)?job=nightly"))
        let news = try #require(body["new_findings"] as? [[String: Any]])
        #expect(!news.isEmpty)
        let open = try #require(body["findings_open"] as? Int)
        let told = news.reduce(0) { $0 + ($1["findings"] as? Int ?? 0) }
        #expect(told <= open, "\(news) \(summary.keys)")
        // The address is a secret.
        #expect(!run.errors.contains("/hooks/"))

        // What somebody does by hand, somebody sees.
        _ = try place.run("check", "nightly", environment: variables)
        _ = try place.run("run", "nightly", "--limit", "1", environment: variables)
        #expect(receiver.received.count == 1)
    }

    @Test func `is sent after problems, always or never`() throws {
        let receiver = try EventReceiver()
        let place = try workplace(message("webhook: \"\(receiver.url)\""), drift: "0")
        #expect(try place.run("run", "nightly").status == 0)
        #expect(receiver.received.isEmpty)
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(settings + "  when: always\n", to: "trueup.yaml")
        #expect(try place.run("run", "nightly").status == 0)
        #expect(receiver.received.count == 1)
        #expect(try receiver.received.first?.message()["exit_status"] as? Int == 0)
        try place.folder.write(settings + "  when: never\n", to: "trueup.yaml")
        try place.sql("UPDATE subscriptions SET bundle_id = 'com.example.stranger'")
        #expect(try place.run("run", "nightly").status != 0)
        #expect(receiver.received.count == 1)
    }

    @Test func `is sent for a run that could not begin`() throws {
        let receiver = try EventReceiver()
        let place = try workplace(message("webhook: \"\(receiver.url)\""))
        try place.folder.write("in the way", to: "reports")
        #expect(try place.run("run", "nightly").status == 73)
        let body = try #require(receiver.received.first).message()
        #expect(body["exit_status"] as? Int == 73)
        #expect((body["headline"] as? String)?.contains("cannot create the folder") == true)
        #expect(body["report"] is NSNull)
    }

    @Test func `of a run that failed behind its corrections says what it wrote`() throws {
        let receiver = try EventReceiver()
        let place = try workplace(message("webhook: \"\(receiver.url)\""))
        let run = try place.start("run", "nightly")
        let unfinished = try #require(partialReport(of: place))
        try FileManager.default.createSymbolicLink(
            atPath: unfinished.appendingPathComponent("discrepancies.jsonl").path,
            withDestinationPath: "/dev/full")
        let ended = run.wait()
        #expect(ended.status == 74, "\(ended.errors)")
        let written = try #require(
            try place.stored("SELECT count(*) FROM trueup_ledger").first?.first.flatMap(Int.init))
        try #require(written > 0)
        let body = try #require(receiver.received.first).message()
        #expect(body["exit_status"] as? Int == 74)
        #expect(body["corrections_written"] as? Int == written)
        #expect(body["findings_open"] is NSNull)
        #expect(body["report"] is NSNull)
        let runID = unfinished.deletingPathExtension().lastPathComponent
        #expect(body["run_id"] as? String == runID)
        let text = try #require(body["text"] as? String)
        #expect(text.contains("Shown by trueup undo \(runID)"), "\(text)")
        let shown = try place.run("undo", runID)
        #expect(shown.status == 0, "\(shown.errors)")
    }

    /// The folder that a run writes its report into, as soon as there is one.
    private func partialReport(of place: Workplace) -> URL? {
        let reports = place.folder.url.appendingPathComponent("reports")
        for _ in 0..<2000 {
            let found = FileManager.default.enumerator(at: reports, includingPropertiesForKeys: nil)
            while let file = found?.nextObject() as? URL {
                let name = file.lastPathComponent
                if name.hasPrefix("20"), file.pathExtension == "partial" { return file }
            }
            usleep(5000)
        }
        return nil
    }

    @Test func `is a mail by the program that the settings name`() throws {
        let place = try workplace(
            message(
                "mail_to: [oncall@example.com]", "mail_from: trueup@example.com",
                "sendmail: ./take-mail"))
        let program = try place.folder.write(
            "#!/bin/sh\ncat > \"\(place.folder.url.path)/mail\"\n", to: "take-mail")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let run = try place.run("run", "nightly")
        try #require(run.status == 2, "\(run.errors)")
        let mail = try place.folder.text("mail")
        #expect(mail.hasPrefix("From: trueup@example.com\nTo: oncall@example.com\n"), "\(mail)")
        #expect(mail.contains("Subject: trueup nightly: Findings remain (exit status 2)"))
        #expect(mail.contains("New findings:\n"))
    }

    @Test func `never changes or delays a run whose receivers are dead or slow`() throws {
        let receiver = try EventReceiver()
        receiver.hang()
        let place = try workplace(
            message(
                "webhook: \"\(receiver.url)\"", "mail_to: [oncall@example.com]",
                "sendmail: ./take-mail", "when: always"), drift: "0")
        let program = try place.folder.write("#!/bin/sh\nsleep 600\n", to: "take-mail")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let begun = ContinuousClock.now
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)")
        #expect(ContinuousClock.now - begun < .seconds(60))
        #expect(run.errors.contains("did not accept the message about this run"), "\(run.errors)")
        #expect(run.errors.contains("was not mailed by"), "\(run.errors)")
        #expect(!run.errors.contains("/hooks/"))
        try FileManager.default.removeItem(atPath: program)
        let doctor = try place.run("doctor")
        // As the run, which ended with its own status.
        #expect(doctor.status == 0, "\(doctor.output)")
        let line = doctor.output.split(separator: "\n").first { $0.contains("message.sendmail") }
        #expect(line?.hasPrefix("WARNING") == true, "\(doctor.output)")
        #expect(line?.contains("does not exist") == true, "\(doctor.output)")
    }

    @Test func `of a rehearsal leaves this machine by no way`() throws {
        let place = try workplace(
            message(
                "webhook: \"https://chat.example.com/x\"", "mail_to: [oncall@example.com]",
                "when: always"))
        let run = try place.run("run", "nightly")
        #expect(run.status == 2, "\(run.errors)")
        #expect(run.errors.contains("was not posted to https://chat.example.com"), "\(run.errors)")
        #expect(run.errors.contains("was not mailed"), "\(run.errors)")
        #expect(!run.errors.contains("chat.example.com/x"), "\(run.errors)")
    }
}
