/// Whether a kind of event fell sharply against the same weekday of the weeks before.
///
/// Two things must hold. At least half is gone: fewer is within what holidays and campaigns do. And it is
/// no chance: if the events of all these days came independently at one unchanged rate (a Poisson
/// process), then, given how many there were together, each belongs to the day in question with the
/// probability 1 / (weekdays + 1), and so few or fewer on that day must be less likely than
/// `chance`, divided by how many series of an app were looked at that day. So an app without a
/// change has a false alarm on one day in a thousand at most. Real sales vary more than that
/// assumption allows, which the half that must be gone makes up for.
enum SharpFall {
    /// The probability of a false alarm for an app and a day.
    static let chance = 0.001
    /// Fewer weekdays before say too little.
    static let leastWeekdays = 2
    /// With more events than this, half of them gone is beyond any chance.
    private static let certainEvents = 1_000.0

    /// Whether so few events are a sharp fall.
    ///
    /// - Parameters:
    ///   - events: How many there were on the day.
    ///   - before: How many there were on the same weekday of the weeks before, together.
    ///   - weekdays: How many such days were counted.
    ///   - comparisons: How many series of the app are looked at for that day.
    /// - Returns: Whether half is gone, and not by chance.
    static func isSharp(events: Int, before: Int, weekdays: Int, comparisons: Int) -> Bool {
        guard weekdays >= leastWeekdays, events >= 0, before > 0 else { return false }
        guard Double(events) * 2 * Double(weekdays) <= Double(before) else { return false }
        let all = Double(events) + Double(before)
        guard all <= certainEvents else { return true }
        let own = 1 / (Double(weekdays) + 1)
        return probability(ofAtMost: events, of: Int(all), each: own)
            < chance / Double(max(1, comparisons))
    }

    /// The lower tail of the binomial distribution; `all` is small, so that nothing underflows.
    private static func probability(ofAtMost events: Int, of all: Int, each own: Double) -> Double {
        var term = 1.0
        for _ in 0..<all { term *= 1 - own }
        var sum = term
        var count = 0
        while count < min(events, all) {
            term *= Double(all - count) / Double(count + 1) * own / (1 - own)
            sum += term
            count += 1
        }
        return sum
    }
}
