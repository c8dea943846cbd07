import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Rows that a night left out as in flight` {
    @Test func `are told from those that nobody asked about, once the pass is closed`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        let hour: Int64 = 3_600_000
        for number in Int64(1)...3 {
            let night = try await Night.begin(
                store, Night.header("run-\(number)", at: Night.start + number * hour))
            var match = outcome("1", .match)
            match.examined = .statement
            if number == 1 {
                match.check = RowCheck(
                    signedDate: Timestamp(unixMilliseconds: 1000), clock: nil, isLasting: true,
                    values: ValuesDigest(of: subscription("1")))
                try await night.stage(match, outcome("2", .excluded(.inFlight)))
            } else if number == 2 {
                try await night.stage(outcome("1", .excluded(.inFlight)))
            }
            try await night.conclude()
        }
        func looks(_ id: String) throws -> [SubscriptionRun.Look] {
            let explained = try store.explanations(
                of: id, apps: [app], nights: 9, at: Timestamp(unixMilliseconds: Night.start))
            return try #require(explained.first).nights.map(\.look)
        }
        #expect(try looks("1") == [.judged, .inFlight, .notAsked])
        #expect(try looks("2").first == .inFlight)
        #expect(try database.value("SELECT count(*) FROM trueup_pass_rows") == "0")
    }
}
