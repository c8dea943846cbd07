import Subscriptions

/// What was measured beside the verdicts: how late notifications came, and how hard Apple was asked.
struct PageMeasures {
    /// A drawing: what it shows, its number of a run, and how that is written.
    typealias Chart = (
        title: String, value: (EarlierRun) -> Int64?, text: (Int64) -> String
    )

    let measures: RunMeasures?

    // MARK: Of one run

    func appendDelays(to page: inout Markup) {
        guard let delivery = measures?.delivery else { return }
        let columns = [
            Markup.Column("notifications"), Markup.Column("how many", .number),
            Markup.Column("half took no longer than", .number), Markup.Column("longest", .number),
        ]
        let ways = [
            ("came to our endpoint", delivery.arrived), ("brought by this run", delivery.recovered),
        ]
        page.table("From Apple’s signature to us", columns) { table in
            for (name, figures) in ways {
                guard let figures else { continue }
                table.row(
                    [
                        name, figures.notifications.grouped, Self.length(figures.medianSeconds),
                        Self.length(figures.worstSeconds),
                    ], columns)
            }
            if delivery.underway > 0 {
                table.row(["Apple still tries", delivery.underway.grouped, "", ""], columns)
            }
        }
    }

    func appendEffort(to page: inout Markup) {
        guard let effort = measures?.effort, !effort.peaks.isEmpty else { return }
        let columns = [
            Markup.Column("endpoint"), Markup.Column("app"),
            Markup.Column("booked calls of the hour", .number),
            Markup.Column("Apple’s limit", .number), Markup.Column("share", .number),
        ]
        page.table("The busiest hour against Apple’s quota, by all processes", columns) { table in
            for peak in effort.peaks {
                table.row(
                    [
                        peak.endpoint, "\(peak.bundleID) (\(peak.environment))",
                        peak.calls.grouped, peak.limit.grouped, Self.percent(peak.perMille),
                    ], columns)
            }
        }
        let waits = effort.waitedMilliseconds.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        let named = waits.map { "\($0.key) \(Self.length($0.value / 1000))" }
        page.element(
            "p", [.named("soft")],
            named.isEmpty
                ? "Nothing kept the run from asking."
                : "The run was kept from asking: \(named.joined(separator: ", ")).")
    }

    // MARK: Over the nights

    static var delays: [Chart] {
        [
            (
                "notifications that came: half took no longer than",
                { $0.measures?.delivery?.arrived?.medianSeconds }, length
            ),
            (
                "notifications that came: the latest",
                { $0.measures?.delivery?.arrived?.worstSeconds }, length
            ),
            (
                "notifications brought by the run: half took no longer than",
                { $0.measures?.delivery?.recovered?.medianSeconds }, length
            ),
            (
                "notifications brought by the run: the latest",
                { $0.measures?.delivery?.recovered?.worstSeconds }, length
            ),
        ]
    }

    /// Calls of each endpoint, the busiest hour and the waits.
    static func calls(of endpoints: [String]) -> [Chart] {
        endpoints.map { endpoint in
            (
                "calls to \(endpoint)",
                { Int64(clamping: $0.callsByEndpoint[endpoint] ?? 0) },
                { Int(clamping: $0).grouped }
            )
        } + [
            (
                "busiest hour of any endpoint, in % of Apple’s limit",
                { $0.measures?.effort.map { $0.peaks.map(\.perMille).max() ?? 0 } }, percent
            ),
            (
                "kept from asking",
                { $0.measures?.effort.map { $0.waited / 1000 } }, length
            ),
        ]
    }

    /// For example `3 h 12 min`, `41 days`.
    static func length(_ seconds: Int64) -> String {
        let seconds = Int(clamping: seconds)
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        case ..<172_800: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: return (seconds / 86_400).of("day")
        }
    }

    /// Thousandths as per cent with one decimal.
    static func percent(_ thousandths: Int64) -> String {
        "\(Int(clamping: thousandths / 10).grouped).\(thousandths % 10) %"
    }
}
