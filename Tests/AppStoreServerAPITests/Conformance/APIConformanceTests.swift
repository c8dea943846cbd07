import TestSupport
import Testing

@Suite struct `Conformance of the API` {
    @Test func `sends and reads what the vectors demand`() async throws {
        let vectors = try ConformanceVectors.load("api.json")
        #expect(vectors.count > 100)
        var tally = ConformanceTally()
        for vector in vectors {
            tally.count(await APIVector(vector: vector).outcome(), of: vector)
        }
        print(tally.report(title: "api.json"))
        #expect(tally.failures.isEmpty, "\(tally.failures.joined(separator: "\n"))")
    }
}
