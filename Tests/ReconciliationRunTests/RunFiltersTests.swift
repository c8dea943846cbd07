import ReconciliationRun
import Subscriptions
import Testing

@Suite struct `Narrowing a run` {
    private func key(_ id: String) -> SubscriptionKey {
        SubscriptionKey(bundleID: "a", environment: "Production", originalTransactionID: id)
    }

    @Test func `every row falls into exactly one shard`() {
        for count in [1, 2, 3, 7] {
            for id in 0..<500 {
                let parts = (1...count).filter {
                    RunFilters(shard: .init(number: $0, count: count)).includes(key("\(id)"))
                }
                #expect(parts.count == 1)
            }
        }
    }

    @Test func `shards are of similar size`() {
        let first = (0..<4000).filter {
            RunFilters(shard: .init(number: 1, count: 4)).includes(key("\(2_000_000_000 + $0)"))
        }
        #expect((800...1200).contains(first.count))
    }

    @Test func `ids select exactly themselves`() {
        let filters = RunFilters(ids: ["1", "3"])
        #expect(filters.includes(key("1")))
        #expect(!filters.includes(key("2")))
        #expect(filters.isPartial)
        #expect(!RunFilters().isPartial)
    }
}
