import Foundation
import TestSupport
import Testing

/// The company's programs that a run starts, on the built executables.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A hook` {
    private static let simulator = try? RunningSimulator([
        "--customers", "40", "--seed", "23", "--drift", "0.3",
    ])

    private func place(_ hooks: String) throws -> Workplace {
        let place = try Workplace(on: try #require(Self.simulator))
        try place.writeJob("nightly", "hooks: {\(hooks)}", steps: "[walk]")
        try #require(place.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(try place.run("import", table).status == 0)
        return place
    }

    /// A program of the company's; `body` is a shell script.
    private func program(_ name: String, _ body: String, in place: Workplace) throws {
        try place.folder.write("#!/bin/sh\n" + body + "\n", to: "jobs/" + name)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755],
            ofItemAtPath: place.folder.url.appendingPathComponent("jobs/" + name).path)
    }

    /// The names of everything below a folder.
    private func names(_ folder: String, in place: Workplace) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(
            atPath: place.folder.url.appendingPathComponent(folder).path
        ).map { $0.split(separator: "/").last.map(String.init) ?? $0 }
    }

    private func messages(_ place: Workplace) throws -> [String] {
        try #require(try place.summary()["messages"] as? [String])
    }

    private func object(_ name: String, in place: Workplace) throws -> [String: Any] {
        let text = try place.folder.text("jobs/" + name)
        return try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func `reads the report of a run that a signal stopped, and has two seconds for that`()
        throws
    {
        let place = try place("before: [./before], after: [./after]")
        try program("before", "touch $(dirname $0)/begun; exec sleep 60", in: place)
        try program("after", "cat > $(dirname $0)/ended; exec sleep 60", in: place)
        let run = try place.start("run", "nightly")
        let begun = place.folder.url.appendingPathComponent("jobs/begun").path
        while !FileManager.default.fileExists(atPath: begun), run.process.isRunning {
            usleep(20_000)
        }
        let asked = ContinuousClock.now
        run.send(signal: SIGINT)
        let result = run.wait()
        #expect(asked.duration(to: .now) < .seconds(5))
        #expect(result.status == 130, "\(result.errors)")
        #expect(result.output.hasPrefix("Stopped by SIGINT"), "\(result.output)")
        #expect(result.errors.contains("was stopped after a signal to the run"), "\(result.errors)")
        #expect(!result.errors.contains("before its report was complete"), "\(result.errors)")
        let ended = try object("ended", in: place)
        #expect(try ended["run_id"] as? String == place.summary()["run_id"] as? String)
    }

    @Test func `reads the run, the plan and the summary, and is named in the report`() throws {
        let place = try place(
            "before: [./before], after_plan: [./policy, strict], after: [./after]")
        try program(
            "before", "cat > $(dirname $0)/begun; echo; echo the warehouse is open", in: place)
        try program(
            "policy", "cat > $(dirname $0)/plan; env > $(dirname $0)/variables; echo $1 is fine",
            in: place)
        try program("after", "cat > $(dirname $0)/ended; env > $(dirname $0)/later", in: place)
        let run = try place.run("run", "nightly", environment: ["APP_SECRET": "hidden-word"])
        #expect([0, 2].contains(run.status), "\(run.errors)\n\(run.output)")
        let said = try messages(place)
        #expect(said.contains { $0.hasSuffix("before) accepted the run: the warehouse is open") })
        #expect(said.contains { $0.hasSuffix("policy) accepted the plan: strict is fine") })

        let begun = try object("begun", in: place)
        #expect(begun["run_id"] as? String == (try place.summary()["run_id"] as? String))
        #expect(begun["job"] as? String == "nightly")
        let planned = try object("plan", in: place)
        let planList = try #require(planned["corrections"] as? [[String: Any]])
        #expect(!planList.isEmpty)
        #expect(planList.allSatisfy { $0["fate"] as? String == "planned" })
        let report = try JSONSerialization.jsonObject(with: Data(place.report("plan.json").utf8))
        let reported = try #require(report as? [String: Any])
        #expect(planned["plan_sha256"] as? String == reported["plan_sha256"] as? String)
        #expect(planList.count == (reported["corrections"] as? [Any])?.count)
        #expect(
            (try object("ended", in: place)["outcome"] as? [String: Any])?["exit_status"] as? Int
                == Int(run.status))
        let variables = try place.folder.text("jobs/variables")
        #expect(variables.contains("TRUEUP_HOOK=after_plan"))
        #expect(variables.contains("TRUEUP_MODE=apply"))
        #expect(!variables.contains("hidden-word"))
        #expect(try place.folder.text("jobs/later").contains("TRUEUP_REPORT=/"))
        #expect(try place.run("verify").status == 0)
        let left = try names("reports", in: place)
        #expect(!left.contains { $0.hasSuffix("draft") })
    }

    @Test func `refuses a plan like a guard, in every way to apply it, until it is lifted`() throws
    {
        let place = try place("after_plan: [./policy]")
        try program("policy", "echo 'no changes in November'; exit 3", in: place)
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 4, "\(run.errors)\n\(run.output)")
        #expect(try place.rows() == before)
        #expect(try place.summary()["limits"] as? [String] == ["guard after_plan"])
        #expect(
            try messages(place).contains {
                $0.contains("guard after_plan: hooks.after_plan (")
                    && $0.contains("refused the plan with status 3: no changes in November")
            })

        let check = try place.run("check", "nightly")
        #expect([0, 2].contains(check.status))
        #expect(check.output.contains("no changes in November"))
        #expect(try place.run("apply", "reports/latest").status == 4)
        #expect(try place.rows() == before)

        let lifted = try place.run(
            "run", "nightly", "--lift-guard", "after_plan", "--reason", "finance agreed")
        #expect([0, 2].contains(lifted.status), "\(lifted.errors)\n\(lifted.output)")
        #expect(try place.rows() != before)
        #expect(try place.report("manifest.json").contains("finance agreed"))
    }

    @Test func `is not left out by apply for a mistake in the job file`() throws {
        let place = try place("after_plan: [./policy]")
        try program("policy", "echo 'no changes in November'; exit 3", in: place)
        #expect([0, 2].contains(try place.run("check", "nightly").status))
        let plan = try place.folder.write(place.report("plan.json"), to: "plan.json")
        let before = try place.rows()
        try place.writeJob(
            "nightly", "hooks: {after_plan: [./policy]}\nsetle: 0s", steps: "[walk]")
        let refused = try place.run("apply", plan)
        #expect(refused.status == 78, "\(refused.errors)\n\(refused.output)")
        #expect(refused.errors.contains("setle: unknown key"), "\(refused.errors)")
        #expect(try place.rows() == before)

        try FileManager.default.removeItem(
            at: place.folder.url.appendingPathComponent("jobs/nightly.yaml"))
        let applied = try place.run("apply", plan)
        #expect(applied.status == 0, "\(applied.errors)\n\(applied.output)")
        #expect(try place.rows() != before)
        let said = try messages(place)
        #expect(said.contains { $0.contains("is gone, so this run started no hooks") }, "\(said)")
    }

    @Test func `keeps a run from beginning`() throws {
        let place = try place("before: [./before], after: [./after]")
        try program("before", "echo 'migration in progress'; exit 1", in: place)
        try program("after", "touch $(dirname $0)/ended", in: place)
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 4)
        let said = try messages(place)
        #expect(
            said.contains {
                $0.contains("refused the run with status 1: migration in progress")
                    && $0.contains("Apple was not asked")
            }, "\(said)")
        #expect(
            run.output.hasPrefix("Stopped by a guard (exit status 4): hooks.before"),
            "\(run.output)")
        #expect(try place.run("verify").status == 0)
        #expect(try place.rows() == before)
        #expect(try place.summary()["totals"] as? [String: Int] != nil)
        // The report is published, so the program that follows it is started.
        #expect(try names("jobs", in: place).contains("ended"))
        #expect(try place.run("status").status == 0)
    }

    @Test(arguments: [
        ("exec sleep 60", "took longer than 1s (hooks.timeout)"),
        ("kill -9 $$", "was ended by signal 9"), ("", "could not be started"),
    ])
    func `refuses by not answering`(body: String, words: String) throws {
        let place = try place("after_plan: [./policy], timeout: 1s")
        if !body.isEmpty { try program("policy", body, in: place) }
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 4, "\(run.errors)\n\(run.output)")
        let said = try messages(place)
        #expect(
            said.contains { $0.contains(words) && $0.contains("counts as a refusal") }, "\(said)")
        #expect(try place.rows() == before)
    }

    @Test func `does not keep a signal from ending the run`() async throws {
        let place = try place("after_plan: [./policy], timeout: 10m")
        try program("policy", "touch $(dirname $0)/started; sleep 600 & wait", in: place)
        let before = try place.rows()
        let run = try place.start("run", "nightly")
        let started = ContinuousClock.now
        while !(try names("jobs", in: place).contains("started")) {
            try #require(ContinuousClock.now - started < .seconds(120))
            try await Task.sleep(for: .milliseconds(50))
        }
        let signalled = ContinuousClock.now
        run.send(signal: SIGTERM)
        let result = run.wait()
        #expect(result.status == 143, "\(result.errors)")
        #expect(ContinuousClock.now - signalled < .seconds(60))
        #expect(try place.rows() == before)
        try program("policy", "exit 0", in: place)
        #expect([0, 2].contains(try place.run("run", "nightly").status))
        #expect(try place.rows() != before)
    }

    @Test func `that fails after the report is a warning and changes no status`() throws {
        let place = try place("after: [./after]")
        try program("after", "exit 9", in: place)
        let run = try place.run("run", "nightly")
        #expect([0, 2].contains(run.status))
        #expect(run.errors.contains("hooks.after (") && run.errors.contains("ended with status 9"))
    }
}
