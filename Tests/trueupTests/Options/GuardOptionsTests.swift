import ArgumentParser
import Subscriptions
import Testing
import trueup

@Suite struct `Lifting a guard on the command line` {
    private func refusal(_ arguments: [String]) throws -> String {
        do {
            let parsed = try TrueUp.parseAsRoot(["run", "nightly"] + arguments)
            Issue.record("accepted: \(parsed)")
            return ""
        } catch {
            #expect(!TrueUp.exitCode(for: error).isSuccess)
            return TrueUp.message(for: error)
        }
    }

    private func lifted(_ arguments: [String]) throws -> [GuardName: String] {
        let run = try #require(TrueUp.parseAsRoot(["run", "nightly"] + arguments) as? Run)
        return try run.guards.liftedGuards()
    }

    @Test func `takes one reason for all, or one for each`() throws {
        #expect(try lifted([]).isEmpty)
        #expect(
            try lifted(["--lift-guard", "max_changes", "--reason", "a price change"])
                == [.maxChanges: "a price change"])
        let two = ["--lift-guard", "max_changes", "--lift-guard", "max_shrink_share"]
        #expect(
            try lifted(two + ["--reason", "both"])
                == [.maxChanges: "both", .maxShrinkShare: "both"])
        #expect(
            try lifted(two + ["--reason", "one", "--reason", "other"])
                == [.maxChanges: "one", .maxShrinkShare: "other"])
    }

    @Test func `needs a reason that says something`() throws {
        #expect(try refusal(["--lift-guard", "max_changes"]).contains("--reason"))
        #expect(
            try refusal(["--lift-guard", "max_changes", "--reason", " "]).contains("is empty"))
        #expect(try refusal(["--reason", "why"]).contains("--lift-guard"))
        #expect(
            try refusal([
                "--lift-guard", "max_changes", "--lift-guard", "max_own_fault", "--lift-guard",
                "max_shrink_share", "--reason", "a", "--reason", "b",
            ]).contains("one for each"))
        #expect(
            try refusal([
                "--lift-guard", "max_changes", "--lift-guard", "max_changes", "--reason", "a",
            ]).contains("twice"))
    }

    @Test(arguments: [
        ("max_change", "max_changes"), ("max-shrink-share", "max_shrink_share"),
        ("everything", "known: max_changes"), ("canary", "known: "),
    ])
    func `suggests what an unknown name was meant to be`(name: String, hint: String) throws {
        let text = try refusal(["--lift-guard", name, "--reason", "a"])
        #expect(text.contains("there is no guard \"\(name)\""))
        #expect(text.contains(hint))
    }

    @Test(arguments: ["0", "-1", "10001", "many"])
    func `a canary is a number from 1`(number: String) throws {
        #expect(!(try refusal(["--canary", number]).isEmpty))
    }

    @Test func `a check has nothing to let through`() {
        #expect(throws: (any Error).self) {
            try TrueUp.parseAsRoot([
                "check", "nightly", "--lift-guard", "max_changes", "--reason", "a",
            ])
        }
    }
}
