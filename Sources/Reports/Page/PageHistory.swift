import Subscriptions

/// The nights of a job up to a run, a run a night.
struct PageHistory {
    /// A UTC day and what ran.
    struct Night {
        let day: String
        /// `nil` where nothing ran.
        let run: EarlierRun?
    }

    static let calendarNights = 90
    static let chartNights = 30

    /// The oldest first; the last one is the run's own.
    let nights: [Night]
    /// The newest complete run before, with which totals are compared.
    let previous: EarlierRun?

    init(_ source: ReportSource) throws {
        let own = EarlierRun(source.summary)
        let days = (0..<Self.calendarNights).reversed().map { age in
            own.started.adding(milliseconds: -Int64(age) * Milliseconds.perDay)
        }
        let first = days.first.map(\.startOfDay) ?? own.started
        var byDay: [String: EarlierRun] = [:]
        var previous: EarlierRun?
        try source.record.forEachEarlierRun(since: first) { run in
            let day = run.started.utcDay
            if run.weight >= byDay[day]?.weight ?? 0 { byDay[day] = run }
            if run.isWhole { previous = run }
        }
        byDay[own.started.utcDay] = own
        nights = days.map { Night(day: $0.utcDay, run: byDay[$0.utcDay]) }
        self.previous = previous
    }

    /// The last nights for a chart.
    var recent: ArraySlice<Night> { nights.suffix(Self.chartNights) }

    /// Nights without a run since the first that has one.
    var missing: Int { nights.drop { $0.run == nil }.filter { $0.run == nil }.count }
    /// The first day with a run; the run's own where there is no earlier one.
    var first: String { nights.first { $0.run != nil }?.day ?? "" }
    /// Nights with a run.
    var held: Int { nights.filter { $0.run != nil }.count }
}

extension EarlierRun {
    /// The run itself, as a later one will see it.
    init(_ summary: RunSummary) {
        var kinds: [String: Int] = [:]
        for count in summary.findings { kinds[count.kind.rawValue, default: 0] += count.findings }
        self.init(
            runID: summary.header.runID, started: summary.header.started,
            exitStatus: summary.conclusion.exitStatus,
            isNarrowed: !summary.header.leavesOutNothingOfItsApps, totals: summary.totals,
            calls: summary.conclusion.calls.reduce(0) { $0 + $1.calls },
            coverage: summary.conclusion.coverage,
            figures: RunFigures(kinds: kinds, money: summary.money))
        for count in summary.conclusion.calls {
            callsByEndpoint[count.endpoint, default: 0] += count.calls
        }
        measures = summary.measures
    }

    /// Whether it came to the end of the whole job, so that its numbers can be held against others.
    var isWhole: Bool {
        guard let exitStatus, !isNarrowed else { return false }
        return [.ok, .findings, .incomplete, .guarded, .empty, .stale].contains(exitStatus)
    }

    /// Of several runs of a day a whole one stands for it, else one that came to its end.
    fileprivate var weight: Int { isWhole ? 2 : exitStatus != nil ? 1 : 0 }
}

extension Timestamp {
    /// Midnight UTC.
    fileprivate var startOfDay: Timestamp {
        adding(milliseconds: -unixMilliseconds.floorDivided(by: Milliseconds.perDay).remainder)
    }
}
