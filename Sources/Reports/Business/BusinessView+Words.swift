import Subscriptions

extension SummarySections {
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
        var subject = kind.rawValue
        if let productID { subject += " of \(productID)" }
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
                                kinds(of: app).map { kind in
                                    (
                                        kind.rawValue,
                                        events(kind, of: app, on: lastDay).map {
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
            "app": .string(app.bundleID),
            "environment": .string(app.environment.rawValue),
            "event": .string(kind.rawValue),
            "events": .integer(Int64(events)),
            "product_id": .text(productID),
            "weekdays_before": .integer(Int64(compared.events)),
            "weekdays_read": .integer(Int64(compared.weekdays)),
        ])
    }
}
