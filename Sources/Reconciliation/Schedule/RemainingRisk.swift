/// What a random sample says about the rows that nobody asked about.
///
/// Of `population` rows, `drawn` were chosen at random without replacement, and `differing` of
/// these differ from Apple. How many of the whole population may differ?
///
/// With X the number of differing rows in such a sample when D of the population differ (the
/// hypergeometric distribution), `bound` is the largest D with `P(X <= differing) > 0.05`. Every
/// larger D would have shown more differing rows in at least 95 of 100 samples. So before the
/// draw, whatever the true D is, the probability that `bound` will be at least D is 95 % or more.
/// It is computed from the distribution itself, without a normal approximation.
///
/// Impossible numbers are clamped into the possible ones: `drawn` to the population, `differing`
/// to `drawn`, and what is negative to zero.
package struct RemainingRisk: Hashable, Sendable {
    /// The confidence of `bound`, one-sided.
    package static let confidence = 0.95

    package let population: Int
    package let drawn: Int
    package let differing: Int
    /// At most so many rows of the population differ, those of the sample included.
    package let bound: Int

    /// Computes the bound; takes a few thousand divisions for each thousand rows drawn.
    package init(population: Int, drawn: Int, differing: Int) {
        self.population = max(0, population)
        self.drawn = min(max(0, drawn), self.population)
        self.differing = min(max(0, differing), self.drawn)
        let sample = Hypergeometric(population: self.population, drawn: self.drawn)
        let seen = self.differing
        // The rows of the sample that agree are known to agree.
        let most = self.population - (self.drawn - seen)
        bound = Self.last(from: seen, through: most) { differing in
            sample.probability(ofAtMost: seen, differing: differing) > Self.limit
        }
    }

    /// Five per cent, and as much as rounding may add to a probability that is exactly that.
    private static let limit = 0.05 * (1 + 1e-12)

    /// The last number for which a condition holds that holds for the first, and fails for all
    /// numbers after one for which it fails.
    ///
    /// Steps of doubling width before the binary search keep to small numbers, which are cheap.
    private static func last(
        from first: Int, through last: Int, where holds: (Int) -> Bool
    ) -> Int {
        var low = first
        var step = 1
        while low < last {
            let next = low + min(step, last - low)
            guard holds(next) else { return bisect(low, next, holds) }
            low = next
            step = step > last / 2 ? last : step * 2
        }
        return low
    }

    private static func bisect(_ holding: Int, _ failing: Int, _ holds: (Int) -> Bool) -> Int {
        var (low, high) = (holding, failing)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if holds(middle) { low = middle } else { high = middle }
        }
        return low
    }
}
