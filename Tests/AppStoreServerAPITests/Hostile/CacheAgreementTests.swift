import JSONWebSignature
import TestSupport
import Testing

/// A remembered leaf must never be told from one that is met for the first time.
@Suite(.timeLimit(.minutes(30))) struct `Remembered and first verdicts` {
    private static let seed: UInt64 = 4_711
    private static let orders = 3
    private static let tasks = 4

    @Test func `agree on made payloads, in any order and from many tasks`() async throws {
        let cases = try CacheCases.made()
        let expected = try await agree(cases)
        // Both kinds of verdict are there, or the agreement would say little.
        #expect(expected.count { $0.hasPrefix("valid") } > 80)
        #expect(expected.count { $0.hasPrefix("chain") } > 10)
        #expect(expected.count { $0.hasPrefix("signature") } > 2)
    }

    @Test func `agree on all conformance vectors, in any order and from many tasks`() async throws {
        let groups = try CacheCases.vectors(["verification.json", "adversarial.json"])
        #expect(groups.reduce(0) { $0 + $1.cases.count } > 500)
        var valid = 0
        for group in groups {
            valid += try await agree(group).count { $0.hasPrefix("valid") }
        }
        #expect(valid > 100)
    }

    /// Holds a shared verifier against fresh ones, in seeded orders and then from many tasks at
    /// once; returns the verdicts of the fresh ones.
    private func agree(_ group: CacheCases) async throws -> [String] {
        let expected = try await group.freshVerdicts()
        var generator = SeededGenerator(seed: Self.seed)
        let shared = try group.verifier()
        for order in 0..<Self.orders {
            for index in group.cases.indices.shuffled(using: &generator) {
                let verdict = await group.cases[index].verdict(by: shared)
                #expect(
                    verdict == expected[index],
                    "\(group.cases[index].name), order \(order), seed \(Self.seed)")
            }
            #expect(shared.cachedLeaves <= JWSLimits.cachedLeaves)
        }
        try await agreeConcurrently(group, expected)
        return expected
    }

    private func agreeConcurrently(_ group: CacheCases, _ expected: [String]) async throws {
        let shared = try group.verifier()
        await withTaskGroup { tasks in
            for task in 0..<Self.tasks {
                tasks.addTask {
                    var generator = SeededGenerator(seed: Self.seed &+ UInt64(task))
                    for index in group.cases.indices.shuffled(using: &generator) {
                        let verdict = await group.cases[index].verdict(by: shared)
                        #expect(
                            verdict == expected[index],
                            "\(group.cases[index].name), task \(task), seed \(Self.seed)")
                        #expect(shared.cachedLeaves <= JWSLimits.cachedLeaves)
                    }
                }
            }
        }
    }
}
