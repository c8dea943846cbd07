import Subscriptions

extension SummarySections {
    /// List prices, by who is harmed; what was really paid is known to the accounts only.
    static func money(_ totals: [MoneyTotal]) -> Section {
        var section = Section(
            title: "LIST PRICES OF PERIODS CONCERNED", headings: ["amount", "currency", "periods"],
            numbers: [1, 3])
        for total in totals.sortedForReading {
            section.rows.append(
                .init([
                    total.direction.meaning, total.amount.amount(in: total.currency),
                    total.currency.onOneLine, total.findings.grouped,
                ]))
        }
        return section
    }

    /// Calls to Apple by endpoint, with every result that is not the usual one.
    static func calls(_ summary: RunSummary) -> Section {
        let forecast = summary.conclusion.coverage?.forecast
        let unknown = "unknown"
        var section = Section(
            title: "CALLS TO APPLE",
            headings: ["calls"] + (forecast == nil ? [] : ["forecast"]) + ["by result"],
            numbers: forecast == nil ? [1] : [1, 2])
        var endpoints: [String: [String: Int]] = [:]
        for count in summary.conclusion.calls {
            endpoints[count.endpoint, default: [:]][count.result, default: 0] += count.calls
        }
        for endpoint in (forecast?.calls ?? [:]).keys where endpoints[endpoint] == nil {
            endpoints[endpoint] = [:]
        }
        for (endpoint, results) in endpoints.sorted(by: { $0.key < $1.key }) {
            let total = results.values.reduce(0, +)
            let expected = forecast?.calls[endpoint]
            guard total > 0 || expected ?? 0 > 0 else { continue }
            let named = results.filter { $0.value > 0 }
                .sorted { ($0.key == "ok" ? 0 : 1, $0.key) < ($1.key == "ok" ? 0 : 1, $1.key) }
                .map { "\($0.key) \($0.value.grouped)" }
            section.rows.append(
                .init(
                    [endpoint, total.grouped]
                        + (forecast == nil ? [] : [expected?.grouped ?? unknown])
                        + [named.joined(separator: ", ")]))
        }
        if section.rows.count > 1 {
            let all = summary.conclusion.calls.reduce(0) { $0 + $1.calls }
            // A sum of what is known is no forecast of all.
            let isWhole = section.rows.allSatisfy { !$0.cells.contains(unknown) }
            var expected: [String] = []
            if let known = forecast?.calls.values.reduce(0, +) {
                expected = [known.grouped + (isWhole ? "" : " or more")]
            }
            section.rows.append(.init(["all", all.grouped] + expected + [""], isSum: true))
        }
        if let milliseconds = forecast?.milliseconds {
            let started = summary.header.started
            let taken = started.duration(until: summary.conclusion.ended)
            let expected = started.duration(until: started.adding(milliseconds: milliseconds))
            section.sentences.append(
                "The run took \(taken); the calls of the forecast take \(expected) at the rate that "
                    + "the settings allow.")
        }
        return section
    }

    /// What the evidence takes: bytes for each signed statement, as kept and as Apple sent it.
    static func evidence(_ summary: RunSummary) -> Section {
        let cost = summary.evidence
        var section = Section(
            title: "EVIDENCE KEPT", headings: ["statements", "bytes each", "as received"],
            numbers: [1, 2, 3])
        guard cost.statements > 0 else { return section }
        let statements = Int64(cost.statements)
        section.rows.append(
            .init([
                "signed by Apple", cost.statements.grouped,
                Int(cost.storedBytes / statements).grouped,
                Int(cost.receivedBytes / statements).grouped,
            ]))
        return section
    }

    static func limits(_ summary: RunSummary) -> Section {
        Section(title: "LIMITS REACHED", sentences: summary.conclusion.limits)
    }

    /// Which guards were lifted, and why.
    static func liftedGuards(_ summary: RunSummary) -> Section {
        var section = Section(title: "GUARDS LIFTED", headings: ["by", "why"])
        for lift in summary.liftedGuards {
            section.rows.append(
                .init(
                    [
                        lift.name.rawValue, lift.actor.onOneLine,
                        lift.reason.onOneLine + (lift.breach == nil ? " (not necessary)" : ""),
                    ], ink: .notable))
        }
        return section
    }

    private static let mostAcknowledged = 20

    /// Acknowledged findings: they no longer count; by whom and why.
    static func acknowledged(_ summary: RunSummary) -> Section {
        var section = Section(
            title: "ACKNOWLEDGED", headings: ["kind", "id", "by", "until", "why"])
        for finding in summary.acknowledged.prefix(mostAcknowledged) {
            section.rows.append(
                .init([
                    finding.findingID, finding.kind.rawValue,
                    (finding.originalTransactionID ?? "").onOneLine, finding.actor.onOneLine,
                    finding.until.map { String($0.rfc3339.prefix(10)) } ?? "",
                    finding.reason.onOneLine,
                ]))
        }
        let more = summary.acknowledged.count - mostAcknowledged
        if more > 0 { section.sentences = ["\(more.grouped) more: summary.json names them all"] }
        return section
    }

    static func messages(_ summary: RunSummary) -> Section {
        Section(title: "MESSAGES", sentences: summary.conclusion.messages)
    }

    /// What to do next, as far as the exit status says.
    static func next(_ summary: RunSummary) -> Section {
        var sentences: [String] = []
        if let sentence = importAdvice(summary) { sentences.append(sentence) }
        sentences += advice(summary)
        let absent = summary.findings.filter { $0.kind == .notFound }
        let count = absent.reduce(0) { $0 + $1.findings }
        if count > 0 {
            let new = absent.filter { $0.state == .new }.reduce(0) { $0 + $1.findings }
            sentences.append(
                "Apple does not find \(count.of("id")), \(new.grouped) of them new: not_found.csv "
                    + "says since when. Access is never removed for it; check them before you decide."
            )
        }
        // What is corrected every night comes back every night, until its cause is corrected.
        for cause in summary.conclusion.causes where cause.isMendedAgain {
            sentences.append(
                "\(cause.cause): also on \(cause.earlierDays) of the 7 days before. Mend the cause; "
                    + "correcting the rows each night hides it.")
        }
        if summary.corrections[.applied, default: 0] > 0 {
            sentences.append(
                "corrections.jsonl holds every change with its evidence, corrections.csv the changes "
                    + "of values, undo.json the way back.")
        }
        return Section(title: "NEXT", sentences: sentences)
    }
}

extension CauseCluster {
    /// Whether a recurring failure, of delivery or of our own, is only corrected row by row.
    fileprivate var isMendedAgain: Bool {
        guard earlierDays > 0, let delivery, delivery != .unknown else { return false }
        return corrections + notifications > 0
    }
}
