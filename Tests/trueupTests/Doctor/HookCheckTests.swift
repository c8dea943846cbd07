import Subscriptions
import Testing
import trueup

/// The line of `doctor` about the programs that jobs start.
@Suite struct `The check of hooks` {
    private let place: Workplace

    init() async throws { place = try await Workplace().initialised() }

    private func lines(_ hooks: String) async throws -> [Substring] {
        _ = try place.folder.write("hooks: {\(hooks)}\n", to: "jobs/nightly.yaml")
        let outcome = await place.run("doctor")
        return outcome.output.split(separator: "\n").filter { $0.contains("hooks") }
    }

    @Test(arguments: ["before", "after_plan"])
    func `fails for a program without which no run writes`(hook: String) async throws {
        let missing = try await lines("\(hook): [/nonexistent/policy, strict]")
        try #require(missing.count == 1, "\(missing)")
        #expect(missing[0].hasPrefix("FAILED   hooks"))
        #expect(
            missing[0].contains("job nightly: hooks.\(hook): /nonexistent/policy does not exist"))

        let file = try place.folder.write("#!/bin/sh\n", to: "jobs/policy", mode: 0o644)
        let closed = try await lines("\(hook): [./policy]")
        try #require(closed.count == 1, "\(closed)")
        #expect(closed[0].hasPrefix("FAILED   hooks"))
        #expect(closed[0].contains("run: chmod +x \(file)"), "\(closed)")
    }

    @Test func `only warns of a program that follows the report`() async throws {
        let lines = try await lines("before: [/bin/true], after: [/nonexistent/copy]")
        try #require(lines.count == 1, "\(lines)")
        #expect(lines[0].hasPrefix("WARNING  hooks"))
    }

    @Test func `names every program that can be started`() async throws {
        let lines = try await lines("before: [/bin/true], after: [/bin/true]")
        try #require(lines.count == 1, "\(lines)")
        #expect(lines[0].hasPrefix("ok       hooks"))
        #expect(lines[0].contains("hooks.before of nightly, hooks.after of nightly"))
    }

    @Test func `is left out where no job names a program`() async throws {
        #expect(try await lines("timeout: 5s").isEmpty)
    }
}
