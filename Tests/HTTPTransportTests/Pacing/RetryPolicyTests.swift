import HTTPTransport
import Testing

@Suite struct `A retry policy` {
    private let policy = RetryPolicy(retriedCodes: [4_040_002, 5_000_001])

    @Test(arguments: [
        (RetryPolicy.Failure.connection, true), (.answer(status: 429, code: 4_290_000), true),
        (.answer(status: 429, code: nil), true), (.answer(status: 500, code: nil), true),
        (.answer(status: 503, code: nil), true), (.answer(status: 500, code: 5_000_001), true),
        (.answer(status: 404, code: 4_040_002), true),
        (.answer(status: 500, code: 5_000_000), false),
        (.answer(status: 500, code: 5_000_002), false),
        (.answer(status: 404, code: 4_040_010), false), (.answer(status: 404, code: nil), false),
        (.answer(status: 400, code: nil), false), (.answer(status: 600, code: nil), false),
    ])
    func `retries what the service names, connection faults and bare server faults`(
        failure: RetryPolicy.Failure, isRetried: Bool
    ) {
        #expect(policy.retries(failure) == isRetried)
        var generator = SeededGenerator(seed: 1)
        #expect((policy.pause(after: failure, attempts: 1, using: &generator) != nil) == isRetried)
    }

    @Test func `makes five attempts and no sixth`() {
        var generator = SeededGenerator(seed: 1)
        for attempts in 1...4 {
            #expect(
                policy.pause(after: .connection, attempts: attempts, using: &generator) != nil)
        }
        #expect(policy.pause(after: .connection, attempts: 5, using: &generator) == nil)
    }

    @Test func `doubles the bound of its pauses up to 20 seconds`() {
        let bounds = (1...8).map { policy.bound(afterAttempts: $0) }
        #expect(
            bounds == [0.5, 1, 2, 4, 8, 16, 20, 20].map { Duration.seconds($0) })
    }

    @Test func `spreads its pauses over all of the bound`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let pauses = (0..<1000).compactMap { _ in
            policy.pause(after: .connection, attempts: 3, using: &generator)
        }
        #expect(pauses.allSatisfy { $0 >= .zero && $0 <= .seconds(2) }, "seed \(seed)")
        for quarter in 0..<4 {
            let range =
                Duration.milliseconds(500 * quarter)...Duration.milliseconds(500 * (quarter + 1))
            #expect(pauses.count { range.contains($0) } > 150, "seed \(seed)")
        }
    }
}

@Suite struct `A retry budget` {
    @Test func `lets a small run retry and a large one a tenth of its calls`() {
        var budget = RetryBudget(allowance: 20)
        let early = (0..<30).map { _ in budget.retryWasWanted() }
        #expect(early.count { $0 } == 20)
        for _ in 0..<1000 { budget.callWasMade() }
        let later = (0..<300).map { _ in budget.retryWasWanted() }
        #expect(later.count { $0 } == 100)
        #expect(budget.retries == 120)
    }
}
