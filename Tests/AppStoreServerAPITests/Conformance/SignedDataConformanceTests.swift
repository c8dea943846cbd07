import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30)))
struct `Conformance of signed data` {
    /// No input may keep a verifier busy for longer, on a machine that has other work.
    private static let limit = Duration.seconds(60)

    @Test(arguments: ["verification.json", "adversarial.json"])
    func `gives an accepted verdict on every vector`(file: String) async throws {
        let vectors = try ConformanceVectors.load(file)
        #expect(vectors.count > 50)
        var tally = ConformanceTally()
        for vector in vectors where vector.text("category") != "size" {
            let clock = ContinuousClock()
            let start = clock.now
            let outcome = await SignedDataVector(vector: vector).outcome()
            let elapsed = clock.now - start
            #expect(elapsed < Self.limit, "\(vector)")
            tally.count(outcome, of: vector)
        }
        print(tally.report(title: file))
        #expect(tally.failures.isEmpty, "\(tally.failures.joined(separator: "\n"))")
    }

    /// In a process of its own: a stack overflow there is a failure here, not the end of the run.
    @Test func `survives oversized and deeply nested input`() async {
        await #expect(processExitsWith: .success) {
            var tally = ConformanceTally()
            let vectors = try ConformanceVectors.load("adversarial.json")
            for vector in vectors where vector.text("category") == "size" {
                let clock = ContinuousClock()
                let start = clock.now
                tally.count(await SignedDataVector(vector: vector).outcome(), of: vector)
                precondition(clock.now - start < .seconds(60), "\(vector) took too long")
            }
            print(tally.report(title: "adversarial.json, category size"))
            precondition(tally.passed >= 16, "too few vectors")
            precondition(tally.failures.isEmpty, tally.failures.joined(separator: "\n"))
        }
    }
}
