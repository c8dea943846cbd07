/// The figures of a rehearsal as tables for people.
struct RehearsalText {
    let record: RehearsalRecord

    var text: String {
        [calls, reasons, drift, bound, verdict].filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private var calls: String {
        var lines = [
            "\(record.customers) customers, \(record.rows) rows,"
                + " \(record.delta.nights.count) nights, seed \(record.seed)", "",
        ]
        let endpoints = Set((record.naive.nights + record.delta.nights).flatMap(\.calls.keys))
            .sorted()
        lines.append(
            Self.row(
                ["night", "full", "delta"] + endpoints
                    + ["corrected", "left", "delta: s"]))
        for delta in record.delta.nights {
            let full = record.naive.nights.first { $0.night == delta.night }
            lines.append(
                Self.row(
                    [
                        String(delta.night), full.map { String($0.allCalls) } ?? "-",
                        String(delta.allCalls),
                    ]
                        + endpoints.map { String(delta.calls[$0] ?? 0) }
                        + [
                            String(delta.corrected), String(delta.differingAfter),
                            RehearsalGoals.tenths(delta.seconds),
                        ]))
        }
        for job in [record.naive, record.delta] {
            lines.append(
                "coverage \(job.coverage): \(RehearsalGoals.tenths(job.callsANight)) calls a night"
                    + " from night 2 on, "
                    + (job.callsPerCorrection.map(RehearsalGoals.tenths) ?? "no")
                    + " calls per correction, \(job.falseCorrections) false corrections")
        }
        lines.append("\(RehearsalGoals.tenths(record.saving)) times fewer calls")
        return lines.joined(separator: "\n")
    }

    private var reasons: String {
        let nights = record.delta.nights.dropFirst()
        let names = Set(nights.flatMap { $0.coverage?.askedByReason?.keys.map(\.self) ?? [] })
        guard !names.isEmpty else { return "" }
        var lines = ["asked for this reason, a night from night 2 on"]
        for name in names.sorted() {
            let sum = nights.reduce(0) { $0 + ($1.coverage?.askedByReason?[name] ?? 0) }
            lines.append(
                Self.row([name, RehearsalGoals.tenths(Double(sum) / Double(nights.count))]))
        }
        return lines.joined(separator: "\n")
    }

    private var drift: String {
        var lines = [
            Self.row(
                ["drift", "coverage", "rows", "found", "overtaken", "median", "worst", "open"])
        ]
        for kind in DriftClass.allCases {
            for job in [record.naive, record.delta] {
                guard let outcome = job.drift[kind.rawValue] else { continue }
                lines.append(
                    Self.row([
                        kind.rawValue, job.coverage, String(outcome.appeared),
                        String(outcome.found), String(outcome.overtaken),
                        outcome.median.map(String.init) ?? "-",
                        outcome.worst.map(String.init) ?? "-", String(outcome.open.count),
                    ]))
            }
        }
        lines.append("(median and worst: nights that ended with the row still wrong)")
        return lines.joined(separator: "\n")
    }

    private var bound: String {
        let nights = record.delta.nights.filter { $0.boundHolds != nil }
        guard !nights.isEmpty else { return "" }
        let holding = nights.filter { $0.boundHolds == true }.count
        let largest = nights.map(\.unnoticed).max() ?? 0
        return "the stated bound held on \(holding) of \(nights.count) nights;"
            + " at most \(largest) rows differed unnoticed"
    }

    private var verdict: String {
        record.missedGoals.isEmpty
            ? "every goal is met"
            : record.missedGoals.map { "MISSED: \($0)" }.joined(separator: "\n")
    }

    private static func row(_ cells: [String]) -> String {
        cells.map { cell in
            String(repeating: " ", count: max(0, 13 - cell.count)) + cell
        }.joined(separator: " ")
    }
}
