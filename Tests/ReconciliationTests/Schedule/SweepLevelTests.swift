import Reconciliation
import TestSupport
import Testing

@Suite struct `The level of the sweep` {
    @Test func `of one day's rows spreads them over the nights until then`() {
        #expect(sweepLevel(rowsByDaysLeft: [30: 3_000]) == 100)
        #expect(sweepLevel(rowsByDaysLeft: [30: 3_001]) == 101)
        #expect(sweepLevel(rowsByDaysLeft: [7: 1]) == 1)
        #expect(sweepLevel(rowsByDaysLeft: [:]) == 0)
    }

    @Test func `begins early on a peak that is far away`() {
        #expect(sweepLevel(rowsByDaysLeft: [1: 10, 5: 500, 30: 600]) == 102)
    }

    @Test func `takes all overdue rows tonight`() {
        #expect(sweepLevel(rowsByDaysLeft: [0: 40, -3: 5, 1: 2, 30: 10]) == 47)
    }

    @Test func `survives any numbers`() {
        #expect(sweepLevel(rowsByDaysLeft: [1: .max, 2: .max]) == .max)
        #expect(sweepLevel(rowsByDaysLeft: [.min: .max, .max: .max]) == .max)
        #expect(sweepLevel(rowsByDaysLeft: [.max: .max]) == 1)
        #expect(sweepLevel(rowsByDaysLeft: [3: -5, 4: .min]) == 0)
        #expect(sweepLevel(rowsByDaysLeft: [3: -5, 4: 8]) == 2)
    }

    /// Whether asking so many a night, earliest deadline first, asks every row in time.
    private func isEnough(_ level: Int, for rows: [Int: Int]) -> Bool {
        var due = 0
        for day in 1...40 {
            due += (day == 1 ? rows[0] ?? 0 : 0) + (rows[day] ?? 0)
            if due > level * day { return false }
        }
        return true
    }

    @Test func `is the smallest that is enough, and never grows without new rows`() {
        var generator = SeededGenerator(seed: 12)
        for _ in 0..<300 {
            var rows: [Int: Int] = [:]
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                rows[.random(in: 0...40, using: &generator)] = .random(
                    in: 0...500, using: &generator)
            }
            let first = sweepLevel(rowsByDaysLeft: rows)
            #expect(isEnough(first, for: rows))
            #expect(first == 0 || !isEnough(first - 1, for: rows))
            var level = first
            for _ in 0..<41 {
                var left = level
                for day in rows.keys.sorted() {
                    let asked = min(left, rows[day, default: 0])
                    rows[day, default: 0] -= asked
                    left -= asked
                }
                #expect(rows[0, default: 0] == 0 && rows[1, default: 0] == 0)
                rows = Dictionary(rows.map { (max(0, $0.key - 1), $0.value) }) { $0 + $1 }
                let next = sweepLevel(rowsByDaysLeft: rows)
                #expect(next <= level)
                level = next
            }
            #expect(level == 0)
        }
    }
}
