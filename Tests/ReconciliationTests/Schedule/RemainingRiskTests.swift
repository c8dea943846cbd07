import Reconciliation
import TestSupport
import Testing

@Suite struct `The remaining risk` {
    private func bound(_ population: Int, _ drawn: Int, _ differing: Int) -> Int {
        RemainingRisk(population: population, drawn: drawn, differing: differing).bound
    }

    @Test func `agrees with what a pencil computes`() {
        // C(10 - D, 5) / C(10, 5): 21/252 for D = 3, 6/252 for D = 4.
        #expect(bound(10, 5, 0) == 3)
        // 1 - D/20 is exactly one twentieth for D = 19, which is not more than it.
        #expect(bound(20, 1, 0) == 18)
        // C(6,2) = 15: one pair of agreeing rows for D = 4 is 1/15, none for D = 5.
        #expect(bound(6, 2, 0) == 4)
        // (1 - D/1000)^2, nearly: the first D with less than 0.05 is 777.
        #expect(bound(1_000, 2, 0) == 776)
    }

    @Test func `agrees with the published sizes of samples for 95 of 100 at 95 %`() {
        // Wilks (1941): with so many draws from a very large population, and so many that differ,
        // fewer than 5 % of the population differ; with one draw less, that cannot be said.
        for (differing, drawn) in [59, 93, 124, 153, 181, 208].enumerated() {
            #expect(bound(10_000_000, drawn, differing) < 500_000)
            #expect(bound(10_000_000, drawn - 1, differing) >= 500_000)
        }
    }

    @Test func `of a large population is near the exact binomial bound, and below it`() {
        // Clopper and Pearson (1934), one-sided 95 %, of 1,000 draws: 1 - 0.05^(1/1000) for none.
        #expect((29_800...29_913).contains(bound(10_000_000, 1_000, 0)))
        #expect((47_250...47_350).contains(bound(10_000_000, 1_000, 1)))
    }

    @Test func `of nothing drawn is everything, and of everything drawn what was seen`() {
        #expect(bound(0, 0, 0) == 0)
        #expect(bound(5_000, 0, 0) == 5_000)
        #expect(bound(5_000, 5_000, 17) == 17)
        #expect(bound(5_000, 40, 40) == 5_000)
        #expect(bound(5_000, 4_999, 0) == 0)
        #expect(bound(1, 1, 0) == 0)
    }

    @Test func `clamps impossible numbers`() {
        #expect(bound(-5, 3, 2) == 0)
        #expect(bound(10, 50, 4) == 4)
        #expect(bound(10, 5, 9) == 10)
        #expect(bound(10, -1, -1) == 10)
        #expect(bound(.max, 1, 1) == .max)
        #expect(bound(.max, .max, 0) == 0)
        #expect(bound(.max, 1_000, 0) > 0)
        #expect(bound(.min, .min, .min) == 0)
    }

    /// `C(n, k)`, exact up to n = 60.
    private static let choices: [[UInt64]] = {
        var rows: [[UInt64]] = [[1]]
        for _ in 1...60 {
            let last = rows.last ?? []
            rows.append([1] + zip(last, last.dropFirst()).map { $0 + $1 } + [1])
        }
        return rows
    }()

    private static func choose(_ from: Int, _ count: Int) -> UInt64 {
        count < 0 || count > from ? 0 : choices[from][count]
    }

    /// How many of all samples contain at most so many differing rows.
    private static func samples(
        _ population: Int, _ drawn: Int, upTo seen: Int, differing: Int
    ) -> UInt64 {
        (0...seen).reduce(0) {
            $0 + choose(differing, $1) * choose(population - differing, drawn - $1)
        }
    }

    @Test func `agrees with whole numbers for every small population`() {
        for population in [1, 2, 3, 5, 8, 13, 20, 21, 30, 40] {
            for drawn in 0...population {
                let all = Self.choose(population, drawn)
                for seen in 0...drawn {
                    let exact = (seen...population - drawn + seen).last {
                        Self.samples(population, drawn, upTo: seen, differing: $0) * 20 > all
                    }
                    #expect(bound(population, drawn, seen) == exact)
                }
            }
        }
    }

    @Test func `holds with at least 95 % for every small population, exactly`() {
        for population in [7, 20, 40] {
            for drawn in 0...population {
                let bounds = (0...drawn).map { bound(population, drawn, $0) }
                for differing in 0...population {
                    let holding = (0...drawn).filter { bounds[$0] >= differing }.reduce(0) {
                        $0 + Self.choose(differing, $1)
                            * Self.choose(population - differing, drawn - $1)
                    }
                    #expect(holding * 20 >= Self.choose(population, drawn) * 19)
                }
            }
        }
    }

    @Test func `grows with what was seen, and shrinks with what was drawn`() {
        for population in [50, 1_000, 1_000_000] {
            var last = population
            for drawn in [0, 1, 10, 20, 30, 40, 50] {
                let next = bound(population, drawn, 0)
                #expect(next <= last)
                last = next
                let bounds = (0...drawn).map { bound(population, drawn, $0) }
                #expect(bounds == bounds.sorted())
                #expect(zip(bounds, 0...drawn).allSatisfy { $0 >= $1 })
            }
        }
    }

    @Test func `holds in at least 95 of 100 random samples`() {
        var generator = SeededGenerator(seed: 95)
        var (holding, samples) = (0, 0)
        for (population, differing, drawn) in [
            (200, 3, 50), (1_000, 0, 100), (1_000, 40, 100), (5_000, 14, 1_000),
            (9_600, 60, 1_000), (100_000, 300, 1_000), (100_000, 5_000, 300),
            (1_000_000, 2_990, 1_000), (10_000_000, 50_000, 1_000), (10_000_000, 400, 2_000),
        ] {
            var bounds: [Int: Int] = [:]
            for _ in 0..<200 {
                var seen = 0
                for draw in 0..<drawn
                where Int.random(in: 0..<population - draw, using: &generator)
                    < differing - seen
                {
                    seen += 1
                }
                let bound = bounds[seen] ?? bound(population, drawn, seen)
                bounds[seen] = bound
                samples += 1
                if bound >= differing { holding += 1 }
            }
        }
        #expect(holding * 100 >= samples * 95)
    }

    @Test func `stays exact where the first terms are too small for a number`() {
        // Half of the sample differs: a sample without any is less likely than a Double can say.
        let half = bound(10_000_000, 4_000, 2_000)
        #expect((5_000_001...5_200_000).contains(half))
        let nearlyAll = bound(10_000_000, 4_000, 3_999)
        #expect((9_990_000...9_999_999).contains(nearlyAll))
    }
}
