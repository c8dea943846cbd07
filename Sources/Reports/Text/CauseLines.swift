import Subscriptions

/// The causes of a run's findings in sentences: how many, why, and what they have in common.
struct CauseLines {
    /// Causes that the summary lists; `summary.json` has them all.
    static let shown = 12

    let causes: [CauseCluster]
    /// Findings of earlier runs that this one repeats without a check: it looks for no cause of theirs.
    let carried: Int
    /// Whether corrections were written, not only planned.
    let wasApplied: Bool
    /// Whether it must be said whose each cause is.
    let namesApps: Bool

    init(_ summary: RunSummary) {
        causes = summary.conclusion.causes
        carried = max(0, summary.findingCount - causes.reduce(0) { $0 + $1.findings })
        wasApplied =
            summary.header.mode == .apply
            && (summary.corrections[.applied] != nil || summary.reportedBefore > 0)
        namesApps = summary.header.apps.count > 1
    }

    /// The first causes in words.
    var shown: [(findings: Int, title: String, sentences: [String], ink: Ink)] {
        causes.prefix(Self.shown).map { cause in
            let app = namesApps ? " [\(cause.bundleID) \(cause.environment)]" : ""
            return (cause.findings, cause.cause + app, sentences(about: cause), ink(of: cause))
        }
    }

    /// The sentence about the causes that are left out; `nil` where none is.
    var others: String? {
        let others = causes.dropFirst(Self.shown)
        guard !others.isEmpty else { return nil }
        let findings = others.reduce(0) { $0 + $1.findings }
        return "… and \(others.count.of("more cause")) with \(findings.of("finding")), all in "
            + "summary.json"
    }

    /// The sentence about the findings that have no cause here; `nil` where none has.
    var withoutCause: String? {
        guard carried > 0 else { return nil }
        return carried == 1
            ? "1 more finding comes from an earlier run; this run did not check it again."
            : "\(carried.grouped) more findings come from earlier runs; this run did not check them "
                + "again."
    }

    func lines(_ palette: Palette) -> [String] {
        guard !causes.isEmpty else { return [] }
        let shown = self.shown
        let width = shown.map { $0.findings.grouped.count }.max() ?? 0
        let margin = String(repeating: " ", count: width + 4)
        let all = causes.reduce(0) { $0 + $1.findings }
        var lines = [palette.paint("CAUSES of \(all.of("finding"))", .heading)]
        for cause in shown {
            let count = "  " + cause.findings.grouped.padded(to: width, atRight: true) + "  "
            var title = cause.title
            var sentences = cause.sentences
            if let first = sentences.first, sentences.count == 1,
                count.count + title.count + first.count + 2 <= palette.columns
            {
                title += ": " + first
                sentences = []
            }
            lines += title.wrapped(to: palette.columns, firstMargin: count, margin: margin)
                .map { palette.paint($0, cause.ink) }
            for sentence in sentences {
                lines += sentence.wrapped(
                    to: palette.columns, firstMargin: margin, margin: margin)
            }
        }
        if let others { lines.append("  " + others) }
        if let withoutCause {
            lines += withoutCause.wrapped(to: palette.columns, firstMargin: "  ", margin: "  ")
        }
        return lines
    }

    private func ink(of cause: CauseCluster) -> Ink {
        switch cause.delivery {
        case nil, .unknown: .plain
        default: .notable
        }
    }

    /// How many, then when and what they have in common, then who is harmed.
    private func sentences(about cause: CauseCluster) -> [String] {
        [extent(of: cause), timing(of: cause)].compactMap(\.self) + harm(of: cause)
    }

    private func extent(of cause: CauseCluster) -> String? {
        guard cause.rows > 0 else { return nil }
        var text = cause.rows.of("row")
        if let example = cause.example {
            text = cause.rows == 1 ? "row \(example)" : "\(text) such as \(example)"
        }
        var parts = [text]
        if cause.corrections > 0 {
            let fate = wasApplied ? "corrected" : "to correct"
            // With periods to insert there are more corrections than subscriptions.
            let corrected = cause.correctedRows ?? min(cause.corrections, cause.rows)
            parts.append(
                corrected < cause.corrections
                    ? "\(cause.corrections.of("correction")) \(wasApplied ? "written" : "planned")"
                    : corrected < cause.rows
                        ? "\(corrected.grouped) \(fate)"
                        : cause.rows == 1 ? fate : "all \(fate)")
        }
        parts.append(kinds(of: cause))
        if let product = cause.productID { parts.append("nearly all \(product)") }
        if cause.earlierDays > 0 { parts.append(recurrence(of: cause)) }
        return parts.joined(separator: "; ")
    }

    private func recurrence(of cause: CauseCluster) -> String {
        "also on \(cause.earlierDays) of the 7 days before"
    }

    private func kinds(of cause: CauseCluster) -> String {
        Self.largest(cause.kinds.filter { !$0.key.hasPrefix("notification_") })
    }

    private func timing(of cause: CauseCluster) -> String? {
        guard cause.notifications > 0 else { return nil }
        var text = cause.notifications.of("notification")
        text += " (" + Self.largest(cause.notificationTypes) + ")"
        if cause.notifications == 1, let attempt = cause.firstAttempt {
            text += " at \(attempt.minute) UTC on \(attempt.utcDay)"
        } else if !cause.bursts.isEmpty {
            text += ", " + bursts(of: cause)
        } else if let first = cause.firstAttempt, let last = cause.lastAttempt {
            text += ", scattered from \(first.utcDay) to \(last.utcDay)"
        }
        if cause.stillRetried > 0 {
            text += "; Apple still retries \(cause.stillRetried.grouped)"
        }
        if cause.rows == 0 {
            if let example = cause.example { text += "; such as for \(example)" }
            if cause.earlierDays > 0 { text += "; " + recurrence(of: cause) }
        }
        return text
    }

    private func bursts(of cause: CauseCluster) -> String {
        let crowded = cause.bursts.reduce(0) { $0 + $1.notifications }
        let named = cause.bursts.map { burst in
            let count =
                burst.notifications == cause.notifications ? "all" : burst.notifications.grouped
            let (start, end) = (burst.start, burst.end)
            guard start.utcDay == end.utcDay else {
                return "\(count) from \(start.utcDay) \(start.minute) to \(end.utcDay) "
                    + "\(end.minute) UTC"
            }
            let time = start == end ? "at \(end.minute)" : "in \(start.minute)–\(end.minute)"
            return "\(count) \(time) UTC on \(end.utcDay)"
        }
        let rest = cause.notifications - crowded
        return named.joined(separator: ", ") + (rest > 0 ? ", \(rest.grouped) scattered" : "")
    }

    private func harm(of cause: CauseCluster) -> [String] {
        [Direction.customerLoses, .companyLoses].compactMap { direction in
            let amounts = cause.money.filter { $0.direction == direction && $0.amount != 0 }
                .map { "\($0.amount.amount(in: $0.currency)) \($0.currency.onOneLine)" }
            return amounts.isEmpty
                ? nil
                : "list prices of periods concerned, \(direction.meaning): "
                    + amounts.joined(separator: ", ")
        }
    }

    /// `DID_RENEW 12, EXPIRED 3, …`: the three most frequent; a single one without its number.
    private static func largest(_ counts: [String: Int]) -> String {
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        if sorted.count == 1 { return sorted[0].key }
        return sorted.prefix(3).map { "\($0.key) \($0.value.grouped)" }.joined(separator: ", ")
            + (sorted.count > 3 ? ", …" : "")
    }
}

extension Timestamp {
    /// `02:14`.
    fileprivate var minute: String { String(rfc3339.dropFirst(11).prefix(5)) }
}
