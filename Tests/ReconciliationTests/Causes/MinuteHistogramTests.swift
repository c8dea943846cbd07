import Reconciliation
import Subscriptions
import TestSupport
import Testing

@Suite struct `A histogram of minutes` {
    private func bursts(_ moments: [Timestamp]) -> [CauseBurst] {
        var histogram = MinuteHistogram()
        for moment in moments { histogram.add(moment) }
        return histogram.bursts
    }

    private func minute(_ minutes: Int64, _ milliseconds: Int64 = 0) -> Timestamp {
        // A whole minute.
        Timestamp(unixMilliseconds: (29_900_000 + minutes) * 60_000 + milliseconds)
    }

    @Test func `tells the crowded stretches in the order of time`() {
        let moments =
            [minute(0, 100), minute(2, 59_999), minute(5), minute(5, 1)] + [minute(60)]
            + [minute(90), minute(90, 30)]
        #expect(
            bursts(moments) == [
                CauseBurst(start: minute(0), end: minute(5), notifications: 4),
                CauseBurst(start: minute(90), end: minute(90), notifications: 2),
            ])
    }

    @Test func `tells the largest ones only`() {
        let moments = (1...6).flatMap { size in
            (0...size).map { minute(Int64(size) * 100, Int64($0)) }
        }
        #expect(bursts(moments).map(\.notifications) == [5, 6, 7])
    }

    @Test func `holds any number of minutes, in any order, and says the same`() {
        var generator = SeededGenerator(seed: 4)
        let moments = (0..<20_000).map { number in
            minute(number < 500 ? 7 : Int64.random(in: -400_000...400_000, using: &generator))
        }
        let first = bursts(moments)
        #expect(first.map(\.notifications).max() ?? 0 >= 500)
        for _ in 0..<3 { #expect(bursts(moments.shuffled(using: &generator)) == first) }
    }

    @Test func `of nothing, or of single attempts, has no burst`() {
        #expect(bursts([]).isEmpty)
        #expect(bursts([minute(0), minute(30), minute(60)]).isEmpty)
    }
}
