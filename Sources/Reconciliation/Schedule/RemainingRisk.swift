/// The bound that a random sample gives for the rows that were not checked.
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

/// How many differing rows a random sample without replacement contains.
struct Hypergeometric: Hashable, Sendable {
    let population: Int
    /// From zero to `population`.
    let drawn: Int

    /// The probability that a sample contains at most so many of the differing rows.
    ///
    /// Sums the tail that lies on the far side of the mean: there the terms only become smaller,
    /// so what underflows to zero is negligible.
    ///
    /// - Parameters:
    ///   - limit: The number of differing rows in the sample.
    ///   - differing: The number of differing rows in the population, from zero to `population`.
    /// - Returns: From 0 to 1; exact except for the rounding of a `Double`.
    func probability(ofAtMost limit: Int, differing: Int) -> Double {
        let least = max(0, drawn - (population - differing))
        let most = min(drawn, differing)
        guard limit >= least else { return 0 }
        guard limit < most else { return 1 }
        let mean = Double(drawn) * (Double(differing) / Double(population))
        return Double(limit) < mean
            ? min(1, lowerTail(from: limit, through: least, differing: differing))
            : max(0, 1 - upperTail(from: limit + 1, through: most, differing: differing))
    }

    private func lowerTail(from start: Int, through least: Int, differing: Int) -> Double {
        var count = start
        var term = probability(of: start, differing: differing)
        var sum = term
        while count > least, term > sum * Self.negligible {
            term *= Double(count) / Double(drawn - count + 1)
            term *= Double(population - differing - drawn + count) / Double(differing - count + 1)
            sum += term
            count -= 1
        }
        return sum
    }

    private func upperTail(from start: Int, through most: Int, differing: Int) -> Double {
        var count = start
        var term = probability(of: start, differing: differing)
        var sum = term
        while count < most, term > sum * Self.negligible {
            count += 1
            term *= Double(drawn - count + 1) / Double(count)
            term *= Double(differing - count + 1) / Double(population - differing - drawn + count)
            sum += term
        }
        return sum
    }

    /// The probability of exactly this number, which must be possible.
    ///
    /// Rows drawn and rows that differ may change places. The smaller number is drawn here, one
    /// row after the other: first the differing ones, then the others. The number of orders of
    /// these is multiplied in as soon as the product allows it, so it neither overflows nor
    /// underflows on the way.
    private func probability(of count: Int, differing: Int) -> Double {
        let draws = min(drawn, differing)
        let marked = max(drawn, differing)
        let others = population - marked
        let choices = min(count, draws - count)
        var chosen = 0
        var product = 1.0
        for draw in 0..<draws {
            let left = draw < count ? marked - draw : others - (draw - count)
            product *= Double(left) / Double(population - draw)
            while product < 1, chosen < choices {
                product *= Double(draws - chosen) / Double(chosen + 1)
                chosen += 1
            }
            // Nothing is left that could make it larger.
            if product < Self.smallest, chosen == choices { return 0 }
        }
        while chosen < choices {
            product *= Double(draws - chosen) / Double(chosen + 1)
            chosen += 1
        }
        return product
    }

    /// A term that is smaller than this part of the sum adds nothing that a `Double` shows.
    private static let negligible = 0x1p-60
    /// Far below any probability that is compared with five per cent.
    private static let smallest = 0x1p-200
}
