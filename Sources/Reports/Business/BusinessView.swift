import Subscriptions

/// The business of a run's apps, by day, product and kind of event, with what was read of each day.
///
/// A series is a kind of event of a product that occurs in these days; each has a line for every
/// day. A day that was not read whole is never held against others.
struct BusinessView {
    /// How much of a day's notifications was read and counted.
    ///
    /// A run that is stopped while it reads has counted what it read, and notes no day as read:
    /// such a day is `partly`, like every one whose number is too small.
    enum Reading: String {
        case whole, partly, not
    }

    struct Series: Hashable {
        let app: AppIdentity
        /// `nil` for all products together.
        let productID: String?
        let kind: BusinessEventKind
    }

    /// A series on one day.
    struct Line {
        let series: Series
        let day: Int64
        let reading: Reading
        /// `nil` where nothing is known: a day that was not read whole has no zero.
        let events: Int?
        let compared: Comparison
        /// `nil` where the day is not held against others.
        let falls: Bool?
    }

    /// Counts of the weekday in the weeks before, as far as these days were read whole.
    struct Comparison {
        /// A week before; `nil` where that day was not read whole.
        var weekBefore: Int?
        /// Together.
        var events = 0
        var weekdays = 0

        /// Of a weekday; `nil` where none was read.
        var mean: Int? {
            weekdays > 0 ? Int((Double(events) / Double(weekdays)).rounded()) : nil
        }
    }

    /// A sharp fall on the last whole day: of one kind over all products, or of one product where
    /// the kind as a whole did not fall.
    struct Fall {
        let series: Series
        let events: Int
        let compared: Comparison
    }

    let apps: [AppIdentity]
    /// The run's own day.
    let today: Int64
    /// Of one product each, in the order of the files.
    let series: [Series]
    /// Of these, and of all products together.
    private let counts: [Series: [Int64: Int]]
    private let readings: [AppIdentity: [Int64: Reading]]

    init(_ summary: RunSummary) {
        apps = Set(summary.header.apps).sorted()
        let today = summary.header.started.dayNumber
        self.today = today
        var counts: [Series: [Int64: Int]] = [:]
        for count in summary.business.counts {
            for productID in [count.productID, nil] {
                let series = Series(app: count.app, productID: productID, kind: count.kind)
                counts[series, default: [:]][count.day, default: 0] += count.events
            }
        }
        self.counts = counts
        let order = BusinessEventKind.allCases
        let ranks = Dictionary(zip(order, order.indices)) { first, _ in first }
        series = counts.keys.filter { $0.productID != nil }.sorted { left, right in
            guard left.app == right.app else { return left.app < right.app }
            let (product, other) = (left.productID ?? "", right.productID ?? "")
            guard product == other else { return product < other }
            return ranks[left.kind, default: 0] < ranks[right.kind, default: 0]
        }
        let first = today - BusinessRecord.knownDays + 1
        let reads = Dictionary(grouping: summary.business.reads, by: \.app)
        var readings = reads.mapValues { reads in
            let merged = Self.merged(reads)
            return Dictionary((first...today).map { ($0, Self.reading(of: $0, in: merged)) }) {
                day, _ in day
            }
        }
        for count in summary.business.counts where count.events > 0 {
            if readings[count.app]?[count.day] ?? .not == .not {
                readings[count.app, default: [:]][count.day] = .partly
            }
        }
        self.readings = readings
    }

    /// The days that are shown, the oldest first.
    var days: ClosedRange<Int64> { (today - BusinessRecord.shownDays + 1)...today }
    /// The last day that may have been read whole.
    var lastDay: Int64 { today - 1 }

    func reading(of day: Int64, _ app: AppIdentity) -> Reading { readings[app]?[day] ?? .not }

    /// How many events; `nil` where nothing is known.
    func events(_ series: Series, on day: Int64) -> Int? {
        if let events = counts[series]?[day], events > 0 { return events }
        return reading(of: day, series.app) == .whole ? 0 : nil
    }

    /// The kinds that occur in an app, with the events of all products.
    func kinds(of app: AppIdentity) -> [Series] {
        BusinessEventKind.allCases.map { Series(app: app, productID: nil, kind: $0) }
            .filter { counts[$0] != nil }
    }

    func compared(_ series: Series, on day: Int64) -> Comparison {
        var comparison = Comparison()
        for week in 1...BusinessRecord.comparedWeeks {
            let other = day - 7 * week
            guard reading(of: other, series.app) == .whole, let count = events(series, on: other)
            else { continue }
            if week == 1 { comparison.weekBefore = count }
            comparison.events += count
            comparison.weekdays += 1
        }
        return comparison
    }

    // MARK: What falls

    /// All series on a day that can be held against others.
    private func candidates(of app: AppIdentity, on day: Int64) -> [Fall] {
        guard reading(of: day, app) == .whole else { return [] }
        return (kinds(of: app) + series.filter { $0.app == app }).compactMap { series -> Fall? in
            guard let count = events(series, on: day) else { return nil }
            return Fall(series: series, events: count, compared: compared(series, on: day))
        }.filter { $0.compared.weekdays >= Comparison.leastWeekdays }
    }

    /// Those that fell sharply; what never occurs on that weekday is not a comparison.
    private func falling(_ candidates: [Fall]) -> [Fall] {
        let comparisons = candidates.filter { $0.compared.events > 0 }.count
        return candidates.filter { $0.compared.isSharpFall(to: $0.events, among: comparisons) }
    }

    /// By app, then in the order of kinds, all products before one.
    var falls: [Fall] {
        apps.flatMap { app -> [Fall] in
            let falling = falling(candidates(of: app, on: lastDay))
            let whole = Set(falling.filter { $0.series.productID == nil }.map(\.series.kind))
            return BusinessEventKind.allCases.flatMap { kind in
                falling.filter {
                    $0.series.kind == kind && ($0.series.productID == nil || !whole.contains(kind))
                }
            }
        }
    }

    /// Every line of the files: by app, day, product and kind.
    func forEachLine(_ body: (Line) throws -> Void) rethrows {
        for app in apps {
            let own = series.filter { $0.app == app }
            guard !own.isEmpty else { continue }
            for day in days {
                let candidates = candidates(of: app, on: day)
                let judged = Set(candidates.map(\.series))
                let falling = Set(falling(candidates).map(\.series))
                for series in own {
                    try body(
                        Line(
                            series: series, day: day, reading: reading(of: day, app),
                            events: events(series, on: day), compared: compared(series, on: day),
                            falls: judged.contains(series) ? falling.contains(series) : nil))
                }
            }
        }
    }

    // MARK: What was read

    private static func merged(_ reads: [EventRead]) -> [EventRead] {
        var merged: [EventRead] = []
        for read in reads.sorted(by: { $0.from < $1.from }) {
            guard let last = merged.last, read.from <= last.through.adding(milliseconds: 1) else {
                merged.append(read)
                continue
            }
            merged[merged.count - 1].through = max(last.through, read.through)
        }
        return merged
    }

    private static func reading(of day: Int64, in reads: [EventRead]) -> Reading {
        let begin = Timestamp(
            unixMilliseconds: day.multipliedReportingOverflow(by: Milliseconds.perDay).partialValue)
        let end = begin.adding(milliseconds: Milliseconds.perDay - 1)
        if reads.contains(where: { $0.from <= begin && $0.through >= end }) { return .whole }
        return reads.contains { $0.from <= end && $0.through >= begin } ? .partly : .not
    }
}

extension Section {
    /// The most falls that the summary names; business.csv has all.
    private static let mostFalls = 5

    /// Kinds of events that fell sharply; nothing where none did.
    static func business(_ summary: RunSummary) -> Section {
        let view = BusinessView(summary)
        let falls = view.falls
        var section = Section(title: "FELL SHARPLY")
        section.sentences = falls.prefix(mostFalls).map { $0.sentence(in: view) }
        let more = falls.count - mostFalls
        if more > 0 {
            section.sentences.append(
                "\(more.grouped) more: falls_sharply in business.csv says which.")
        }
        return section
    }
}

extension BusinessView.Fall {
    /// For example `renewal: 3 on 2026-11-19, against 41 each on the 4 Thursdays before`.
    func sentence(in view: BusinessView) -> String {
        let app = series.app
        var subject = series.kind.rawValue
        if let productID = series.productID { subject += " of \(productID)" }
        if view.apps.count > 1 { subject += " in \(app.bundleID) (\(app.environment.rawValue))" }
        let mean = compared.mean ?? 0
        return "\(subject): \(events.grouped) on \(view.lastDay.calendarDay), against about "
            + "\(mean.grouped) on each of the \(compared.weekdays) \(view.lastDay.weekday)s before "
            + "that were read."
    }
}

extension BusinessView {
    /// The member of `summary.json`: the last whole day, what was read of it, and what fell.
    var json: CanonicalJSON {
        .object([
            "apps": .array(
                apps.map { app in
                    .object([
                        "app": .string(app.bundleID),
                        "day_read": .string(reading(of: lastDay, app).rawValue),
                        "environment": .string(app.environment.rawValue),
                        "events": .object(
                            Dictionary(
                                kinds(of: app).map { series in
                                    (
                                        series.kind.rawValue,
                                        events(series, on: lastDay).map {
                                            CanonicalJSON.integer(Int64($0))
                                        } ?? .null
                                    )
                                }
                            ) { first, _ in first }),
                    ])
                }),
            "day": .string(lastDay.calendarDay),
            "falls": .array(falls.map(\.json)),
        ])
    }
}

extension BusinessView.Fall {
    fileprivate var json: CanonicalJSON {
        .object([
            "app": .string(series.app.bundleID),
            "environment": .string(series.app.environment.rawValue),
            "event": .string(series.kind.rawValue),
            "events": .integer(Int64(events)),
            "product_id": .text(series.productID),
            "weekdays_before": .integer(Int64(compared.events)),
            "weekdays_read": .integer(Int64(compared.weekdays)),
        ])
    }
}

/// Whether a kind of event fell sharply against the same weekday of the weeks before.
///
/// Two things must hold. At least half is gone: fewer is within what holidays and campaigns do. And
/// it is not chance: if the events of all these days came independently at one unchanged rate (a
/// Poisson process), then, given how many there were together, each belongs to the day in question
/// with the probability 1 / (weekdays + 1), and so few or fewer on that day must be less likely
/// than `chance`, divided by how many series of an app were checked that day. So an app without a
/// change has a false alarm on one day in a thousand at most. Real sales vary more than that
/// assumption allows, which the half that must be gone makes up for.
extension BusinessView.Comparison {
    /// The probability of a false alarm for an app and a day.
    private static let chance = 0.001
    /// Fewer weekdays before say too little.
    static let leastWeekdays = 2
    /// With more events than this, half of them gone is beyond any chance.
    private static let certainEvents = 1_000.0

    /// Whether so few events are a sharp fall.
    ///
    /// - Parameters:
    ///   - today: How many there were on the day.
    ///   - comparisons: How many series of the app are checked for that day.
    /// - Returns: Whether half is gone, and not by chance.
    func isSharpFall(to today: Int, among comparisons: Int) -> Bool {
        let before = events
        guard weekdays >= Self.leastWeekdays, today >= 0, before > 0 else { return false }
        guard Double(today) * 2 * Double(weekdays) <= Double(before) else { return false }
        let all = Double(today) + Double(before)
        guard all <= Self.certainEvents else { return true }
        let own = 1 / (Double(weekdays) + 1)
        return Self.probability(ofAtMost: today, of: Int(all), each: own)
            < Self.chance / Double(max(1, comparisons))
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
