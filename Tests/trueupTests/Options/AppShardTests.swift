import ReconciliationRun
import Subscriptions
import Testing
import trueup

/// Which worker an app falls to must never change: its books are there.
@Suite struct `The worker of an app` {
    private static let apps = (0..<400).map {
        AppIdentity(bundleID: "com.example.app\($0)", environment: .production)
    }

    @Test func `is the same on every machine and in every version`() {
        let numbers = ["one", "two", "three", "four", "five", "six"].map { name in
            RunFilters.Shard.number(
                of: AppIdentity(bundleID: "com.example.\(name)", environment: .production), among: 4
            )
        }
        #expect(numbers == [3, 4, 3, 1, 2, 4])
    }

    @Test func `is one of them, and each has about as many`() {
        let numbers = Self.apps.map { RunFilters.Shard.number(of: $0, among: 8) }
        let shares = Dictionary(grouping: numbers) { $0 }.mapValues(\.count)
        #expect(shares.keys.sorted() == Array(1...8))
        #expect(shares.values.allSatisfy { (25...80).contains($0) }, "\(shares)")
    }

    @Test func `changes only to a worker that is added`() {
        for count in 1..<12 {
            for app in Self.apps {
                let before = RunFilters.Shard.number(of: app, among: count)
                let after = RunFilters.Shard.number(of: app, among: count + 1)
                #expect(after == before || after == count + 1)
            }
        }
    }

    @Test func `differs between the environments of a bundle somewhere`() {
        #expect(
            Self.apps.contains { app in
                let sandbox = AppIdentity(bundleID: app.bundleID, environment: .sandbox)
                return RunFilters.Shard.number(of: app, among: 8)
                    != RunFilters.Shard.number(of: sandbox, among: 8)
            })
    }
}
