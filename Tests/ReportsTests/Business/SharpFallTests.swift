import Testing

@testable import Reports

@Suite struct `A sharp fall` {
    private func isSharp(
        _ events: Int, _ before: Int, weekdays: Int = 4, comparisons: Int = 1
    ) -> Bool {
        BusinessView.Comparison(events: before, weekdays: weekdays)
            .isSharpFall(to: events, among: comparisons)
    }

    @Test func `needs half of the events gone`() {
        #expect(isSharp(50, 400))
        #expect(!isSharp(51, 400))
        #expect(isSharp(50_000, 400_000))
        #expect(!isSharp(50_001, 400_000))
    }

    @Test func `is not what chance brings`() {
        // Of 8 and 32 before it, none: (4/5)^32 is 0.08 %, of 31 it is 0.1 %.
        #expect(isSharp(0, 32))
        #expect(!isSharp(0, 30))
        #expect(!isSharp(1, 32))
        // Half of ten is gone by chance more often than once in a thousand nights.
        #expect(!isSharp(5, 40))
        #expect(isSharp(3, 60))
    }

    @Test func `is rarer, the more is looked at`() {
        #expect(isSharp(0, 32))
        #expect(!isSharp(0, 32, comparisons: 2))
        #expect(isSharp(0, 40, comparisons: 2))
    }

    @Test func `needs two weekdays, and something on them`() {
        #expect(!isSharp(0, 100, weekdays: 1))
        #expect(isSharp(0, 100, weekdays: 2))
        #expect(!isSharp(0, 0))
        #expect(!isSharp(0, 0, weekdays: 0))
    }

    @Test func `no number is too large or too small for it`() {
        for events in [0, 1, 500, .max, -1] {
            for before in [0, 1, 999, 1_000, 1_001, .max] {
                for comparisons in [-1, 0, 1, .max] {
                    let found = isSharp(events, before, comparisons: comparisons)
                    #expect(!found || events <= before / 8)
                }
            }
        }
    }

    /// What the doc comment promises, counted out for one rate: sums over all that can happen.
    @Test func `cries wolf on one day in a thousand at most`() {
        for rate in [2.0, 8, 20, 60] {
            func poisson(_ mean: Double, _ count: Int) -> Double {
                var term = 1.0
                // Taken in small steps, so that it neither overflows nor underflows.
                let steps = 64
                var left = steps
                for number in stride(from: 1, through: count, by: 1) {
                    term *= mean / Double(number)
                    while term > 1, left > 0 {
                        term *= Self.root(of: mean, steps: steps)
                        left -= 1
                    }
                }
                while left > 0 {
                    term *= Self.root(of: mean, steps: steps)
                    left -= 1
                }
                return term
            }
            var alarm = 0.0
            for before in 0...Int(4 * rate + 80) {
                let share = poisson(4 * rate, before)
                for events in 0...Int(rate) where isSharp(events, before) {
                    alarm += share * poisson(rate, events)
                }
            }
            #expect(alarm < 0.001, "\(rate): \(alarm)")
        }
    }

    /// e to the power of minus `mean / steps`, by its series.
    private static func root(of mean: Double, steps: Int) -> Double {
        let power = -mean / Double(steps)
        var term = 1.0
        var sum = 1.0
        for number in 1...60 {
            term *= power / Double(number)
            sum += term
        }
        return sum
    }
}
