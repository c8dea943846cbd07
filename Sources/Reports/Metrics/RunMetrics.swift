package import Subscriptions

/// The figures of a job's last whole run, in Prometheus' text format
/// (https://prometheus.io/docs/instrumenting/exposition_formats/), for node exporter's textfile
/// collector.
///
/// Moments are seconds since 1970, so that an age is computed when it is asked for and grows also
/// while no run happens. Every sample has the label `job`, and those of a run for some apps alone
/// have `apps`.
package struct RunMetrics: Hashable, Sendable {
    /// Figures that the run's own summary does not have.
    package struct Standing: Hashable, Sendable {
        /// When a whole run of the job last ended with everything checked (0 or 2).
        package var lastSuccess: Timestamp?
        package var watermarks: [AppIdentity: Timestamp] = [:]
        /// When Apple signed the oldest statement by which a row was checked last.
        package var oldestCheck: Timestamp?
        /// Subscriptions about which the next run must ask.
        package var pending = 0
        /// Calls of the hour that ended with the run, by all processes on the database.
        package var quota: [CallEffort.Peak] = []
        /// How long the run had to wait before asking, by reason.
        package var waitedMilliseconds: [String: Int64] = [:]

        package init() {}
    }

    private let summary: RunSummary
    private let standing: Standing

    package init(_ summary: RunSummary, _ standing: Standing) {
        self.summary = summary
        self.standing = standing
    }

    private typealias Sample = (labels: [(name: String, value: String)], value: String)

    package var text: String { (run + rows + findings + coverage + calls).joined() }

    /// The labels of every sample.
    private var common: [(name: String, value: String)] {
        let apps = summary.header.appsAlone
        // A series of its own for each worker: their sums are those of the whole run.
        return [("job", summary.header.job)]
            + (apps.isEmpty ? [] : [(MetricsFile.appsLabel, apps.joined(separator: ","))])
    }

    /// One metric with all its samples; nothing where there are none.
    private func family(_ name: String, _ help: String, _ samples: [Sample]) -> String {
        guard !samples.isEmpty else { return "" }
        let common = common
        var text = "# HELP \(name) \(help)\n# TYPE \(name) gauge\n"
        for sample in samples {
            let labels = (common + sample.labels)
                .map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
            text += "\(name){\(labels)} \(sample.value)\n"
        }
        return text
    }

    /// The format knows these three escapes and no others.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }

    private var run: [String] {
        let (header, conclusion) = (summary.header, summary.conclusion)
        return [
            family(
                "trueup_last_run_info", "The last whole run.",
                [([("run_id", header.runID), ("version", header.toolVersion)], "1")]),
            family(
                "trueup_last_run_timestamp_seconds", "When the last whole run ended.",
                [([], conclusion.ended.seconds)]),
            family(
                "trueup_last_run_exit_status", "Its exit status; 0 is the best.",
                [([], String(conclusion.exitStatus.code))]),
            family(
                "trueup_last_run_duration_seconds", "How long it took.",
                [([], seconds(conclusion.ended.milliseconds(since: header.started)))]),
            family(
                "trueup_last_success_timestamp_seconds",
                "When a whole run last ended with everything checked (exit status 0 or 2).",
                standing.lastSuccess.map { [([], $0.seconds)] } ?? []),
        ]
    }

    private var rows: [String] {
        let totals = summary.totals
        return [
            family(
                "trueup_rows", "Rows in scope by verdict.",
                [
                    ([("verdict", "match")], String(totals.matched)),
                    ([("verdict", "discrepancy")], String(totals.discrepant)),
                    ([("verdict", "undecided")], String(totals.undecidedCount)),
                    ([("verdict", "excluded")], String(totals.excludedCount)),
                ]),
            family(
                "trueup_undecided_rows", "Rows that could not be checked, by reason.",
                samples(totals.undecided, by: "reason")),
            family(
                "trueup_purchases", "Stored one-time purchases by verdict.",
                (summary.measures?.purchases?.counts ?? [:])
                    .filter {
                        ["matched", "discrepant", "undecided", "not_checked"].contains($0.key)
                    }
                    .sorted { $0.key < $1.key }
                    .map { ([("verdict", $0.key)], String($0.value)) }),
            family(
                "trueup_corrections", "Corrections by what became of them.",
                samples(summary.corrections, by: "fate")),
        ]
    }

    /// A sample for each name, also for those that are not counted.
    private func samples<Name: CaseIterable & RawRepresentable<String> & Hashable>(
        _ counts: [Name: Int], by label: String
    ) -> [Sample] {
        Name.allCases.map { ([(label, $0.rawValue)], String(counts[$0] ?? 0)) }
    }

    private var findings: [String] {
        let unresolved = summary.findings.filter { WorstFindings.openStates.contains($0.state) }
        return [
            family(
                "trueup_open_findings", "Findings that are not resolved, by kind and severity.",
                counts(of: unresolved)),
            family(
                "trueup_new_findings",
                "Open findings that no earlier run reported, or that were fixed and found again.",
                counts(of: unresolved.filter { $0.state != .open })),
            family(
                "trueup_open_findings_by_severity",
                "How many findings of each severity are not resolved; also where there are none.",
                Severity.allCases.map { severity in
                    let count = unresolved.filter { $0.severity == severity }
                        .reduce(0) { $0 + $1.findings }
                    return ([("severity", severity.rawValue)], String(count))
                }),
            family(
                "trueup_money_at_risk",
                "List prices of the periods that findings name, in units of the currency.",
                summary.money.sortedForReading.map { total in
                    (
                        [("direction", total.direction.rawValue), ("currency", total.currency)],
                        DecimalAmount(milliunits: total.amount, currency: total.currency).plainText
                    )
                }),
        ]
    }

    private func counts(of findings: [FindingCount]) -> [Sample] {
        findings.sorted { ($0.kind.rawValue, $0.severity) < ($1.kind.rawValue, $1.severity) }
            .reduce(into: [(kind: FindingKind, severity: Severity, findings: Int)]()) {
                if let last = $0.last, last.kind == $1.kind, last.severity == $1.severity {
                    $0[$0.count - 1].findings += $1.findings
                } else {
                    $0.append(($1.kind, $1.severity, $1.findings))
                }
            }
            .map { item in
                (
                    [("kind", item.kind.rawValue), ("severity", item.severity.rawValue)],
                    String(item.findings)
                )
            }
    }

    private var coverage: [String] {
        let coverage = summary.conclusion.coverage
        return [
            family(
                "trueup_asked_rows", "Rows that the run asked Apple for, by reason.",
                coverage.map { samples($0.asked, by: "reason") } ?? []),
            family(
                "trueup_left_rows", "Rows that should have been checked and were not.",
                coverage.map { samples($0.left, by: "reason") } ?? []),
            family(
                "trueup_quiet_rows", "Rows that no reason named.",
                coverage?.quiet.map { [([], String($0))] } ?? []),
            family(
                "trueup_remaining_risk_rows",
                "With 95 % confidence at most so many of the unchanged rows differ from Apple.",
                coverage?.sample.map { [([], String($0.bound))] } ?? []),
            family(
                "trueup_owed_rows", "Rows that the next run must check.",
                [([], String(standing.pending))]),
            family(
                "trueup_oldest_check_timestamp_seconds",
                "When Apple signed the oldest statement by which a row was checked.",
                standing.oldestCheck.map { [([], $0.seconds)] } ?? []),
            family(
                "trueup_watermark_timestamp_seconds",
                "Up to when the notification history of the app has been read.",
                standing.watermarks.sorted { $0.key < $1.key }.map { app, time in
                    (
                        [("app", app.bundleID), ("environment", app.environment.rawValue)],
                        time.seconds
                    )
                }),
        ]
    }

    private var calls: [String] {
        [
            family(
                "trueup_calls", "Calls of the last whole run, by endpoint and result.",
                summary.conclusion.calls.map {
                    ([("endpoint", $0.endpoint), ("result", $0.result)], String($0.calls))
                }),
            family(
                "trueup_quota_used_ratio",
                "Calls of the hour that ended with the run, as a part of Apple's limit.",
                standing.quota.map(ratio)),
            family(
                "trueup_quota_peak_ratio",
                "The most calls of any hour of the run, as a part of Apple's limit.",
                (summary.measures?.effort?.peaks ?? []).map(ratio)),
            family(
                "trueup_notification_delay_seconds",
                "Delay from Apple's signature to your endpoint (way arrived) or to the run (way "
                    + "recovered), of notifications that no earlier run had read.", delays),
            family(
                "trueup_waited_seconds",
                "How long the run waited before calls to Apple, by reason.",
                standing.waitedMilliseconds.sorted { $0.key < $1.key }.map {
                    ([("reason", $0)], seconds($1))
                }),
        ]
    }

    private var delays: [Sample] {
        let delivery = summary.measures?.delivery
        return [("arrived", delivery?.arrived), ("recovered", delivery?.recovered)].flatMap {
            way, figures -> [Sample] in
            guard let figures else { return [] }
            return [
                ([("way", way), ("figure", "median")], String(figures.medianSeconds)),
                ([("way", way), ("figure", "worst")], String(figures.worstSeconds)),
            ]
        }
    }

    /// The calls of an hour as a part of Apple's limit, to four decimals.
    private func ratio(_ hour: CallEffort.Peak) -> Sample {
        let parts = Int(min(1e12, Double(hour.calls) * 10_000 / Double(max(1, hour.limit))))
        return (
            [
                ("app", hour.bundleID), ("environment", hour.environment),
                ("endpoint", hour.endpoint),
            ], "\(parts / 10_000)." + String(String(parts % 10_000 + 10_000).dropFirst())
        )
    }
}

extension Timestamp {
    fileprivate var seconds: String { Reports.seconds(unixMilliseconds) }
}

/// Seconds with three decimals.
private func seconds(_ milliseconds: Int64) -> String {
    let (whole, rest) = milliseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
    return (milliseconds < 0 ? "-" : "") + "\(whole)."
        + String(String(rest + 1000).dropFirst())
}
