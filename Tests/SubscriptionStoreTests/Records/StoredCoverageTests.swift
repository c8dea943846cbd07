import Subscriptions
import Testing

@testable import SubscriptionStore

@Suite struct `What is stored of what a run covered` {
    @Test func `is read as it was written`() throws {
        var coverage = RunCoverage(kind: .delta)
        coverage.sample = .init(
            drawn: 449, differing: 7, notJudged: 16,
            judgedBy: .init(ownQuestion: 400, otherQuestion: 30, notification: 3), bound: 300,
            seed: .max)
        #expect(try StoredJSON.decode(StoredJSON.encode(coverage)) == coverage)
    }

    @Test func `is read where an earlier version counted the sample`() throws {
        var coverage = RunCoverage(kind: .delta)
        coverage.sample = .init(drawn: 449, differing: 23, notJudged: nil, bound: 300, seed: 1)
        let stored = try #require(try StoredJSON.encode(coverage))
        #expect(!stored.contains("notJudged") && !stored.contains("judgedBy"))
        let read: RunCoverage? = try StoredJSON.decode(stored)
        #expect(read?.sample == coverage.sample)
    }
}
