import Subscriptions
import Testing

@testable import SubscriptionStore

/// The sample must be random for what is said about the rest to hold (docs/delta.md): ids that follow
/// each other and run ids of night after night are the hard case.
@Suite struct `The draw of a sample` {
    private static let rows = 2_000

    private static func key(_ number: Int) -> SubscriptionKey {
        SubscriptionKey(
            bundleID: "com.example.app", environment: "Production",
            originalTransactionID: String(420_001_000_000_000 + number))
    }

    /// The numbers of the rows that one of many nights draws.
    private static func drawn(_ size: SampleSize, night: Int) -> Set<Int> {
        var seed = ValuesDigest()
        seed.add("2026-11-20T03-00-00Z-nightly-\(night)")
        var draw = SampleDraw(size, seed: seed.bits)
        for number in 0..<rows { draw.offer(key(number)) }
        return Set(
            draw.take().compactMap { Int($0.originalTransactionID) }
                .map { $0 - 420_001_000_000_000 })
    }

    @Test(arguments: [0, 970, 1_940])
    func `shows enough of the rows that differ for the bound to hold on 95 of 100 nights`(
        first: Int
    ) {
        // 60 rows in a line differ. Of 200 draws from 2,000 rows two that differ give a bound of
        // exactly 60, and one gives 45.
        let holding = (1...100).filter { night in
            Self.drawn(.rows(200), night: night).filter { (first..<first + 60).contains($0) }
                .count >= 2
        }
        #expect(holding.count >= 95)
    }

    @Test(arguments: [SampleSize.rows(200), .share(0.1)])
    func `takes every row equally often`(size: SampleSize) {
        var times = [Int](repeating: 0, count: Self.rows)
        for night in 1...200 {
            for number in Self.drawn(size, night: night) { times[number] += 1 }
        }
        // 20 times each on average; the squares of the differences follow a chi-square distribution
        // of 2,000 degrees, in units of the binomial variance: 2,000 ± 63.
        let squares = times.reduce(0.0) { $0 + Double(($1 - 20) * ($1 - 20)) } / (200 * 0.1 * 0.9)
        #expect((1_750...2_250).contains(squares))
    }

    @Test func `of a number of rows is that number, and the same for the same seed`() {
        #expect(Self.drawn(.rows(1_000), night: 1).count == 1_000)
        #expect(Self.drawn(.rows(3_000), night: 1).count == Self.rows)
        #expect(Self.drawn(.rows(0), night: 1).isEmpty)
        #expect(Self.drawn(.rows(50), night: 1) == Self.drawn(.rows(50), night: 1))
        #expect(Self.drawn(.rows(50), night: 1) != Self.drawn(.rows(50), night: 2))
    }
}
