package import Subscriptions

extension ReportFile {
    static let summaryJSON = ReportFile(
        name: "summary.json", purpose: "the summary for machines: outcome, totals, counts, money",
        statesEnd: true
    ) { source, file in
        let json = source.summary.json(notice: source.noticeMember)
        try file.write(json.indented)
    }
}

extension RunSummary {
    fileprivate func json(notice: [String: CanonicalJSON]) -> CanonicalJSON {
        let members: [String: CanonicalJSON] = [
            "acknowledged": .array(acknowledged.map(\.json)),
            "apps": .array(
                header.apps.sorted().map {
                    .object([
                        "app": .string($0.bundleID),
                        "environment": .string($0.environment.rawValue),
                    ])
                }),
            "business": BusinessView(self).json,
            "call_effort": effortJSON,
            "calls": nested(conclusion.calls.map { ($0.endpoint, $0.result, $0.calls) }),
            "causes": .array(conclusion.causes.map(\.json)),
            "control_totals": control.map { .array($0.apps.map(\.json)) } ?? .null,
            "corrections": correctionsJSON,
            "corrections_reported_before": .integer(Int64(reportedBefore)),
            "coverage": conclusion.coverage?.json(totals) ?? .null,
            "database_pauses": measures?.databasePauses.map {
                .object([
                    "number": .integer(Int64(clamping: $0.number)),
                    "seconds": .integer($0.milliseconds / 1000),
                ])
            } ?? .null,
            "ended": .time(conclusion.ended),
            "evidence": .object([
                "bytes_received": .integer(evidence.receivedBytes),
                "bytes_stored": .integer(evidence.storedBytes),
                "statements": .integer(evidence.statements),
            ]),
            "excluded_reasons": .counts(totals.excluded, by: \.rawValue),
            "finding_states": nested(
                findings.map { ($0.kind.rawValue, $0.state.rawValue, $0.findings) }),
            "findings": nested(
                findings.map { ($0.kind.rawValue, $0.severity.rawValue, $0.findings) }),
            "job": .string(header.job),
            "ledger_head": .string(ledgerHead),
            "lifted_guards": .array(liftedGuards.map(\.json)),
            "limits": .array(conclusion.limits.map(CanonicalJSON.string)),
            "messages": .array(conclusion.messages.map(CanonicalJSON.string)),
            "mode": .string(header.mode.rawValue),
            "money": .array(money.sortedForReading.map(\.json)),
            "notification_delays": delaysJSON,
            "outcome": conclusion.outcomeJSON,
            "plan": plan?.json ?? .null,
            "purchases": measures?.purchases?.json ?? .null,
            "resumed_from": .text(resumedFrom),
            "run_id": .string(header.runID),
            "scope": header.scope,
            "settings_digest": .string(header.settingsDigest),
            "started": .time(header.started),
            "tool_version": .string(header.toolVersion),
            "totals": totals.json,
            "undo_of": .text(undoOf),
            "unowned": measures?.unowned.map { .counts($0, by: \.self) } ?? .null,
            "undecided_reasons": .counts(totals.undecided, by: \.rawValue),
        ]
        return .object(members.merging(notice) { own, _ in own })
    }

    /// Every fate has a member, also those with a count of 0.
    private var correctionsJSON: CanonicalJSON {
        .counts(
            Dictionary(
                uniqueKeysWithValues: CorrectionFate.allCases.map { ($0, corrections[$0] ?? 0) }),
            by: \.rawValue)
    }

    private func nested(_ counts: [(String, String, Int)]) -> CanonicalJSON {
        var outer: [String: [String: Int]] = [:]
        for (first, second, count) in counts {
            outer[first, default: [:]][second, default: 0] += count
        }
        return .object(outer.mapValues { .counts($0, by: \.self) })
    }
}

extension RunCoverage {
    fileprivate func json(_ totals: RunTotals) -> CanonicalJSON {
        .object([
            "asked": .integer(Int64(askedRows)),
            "asked_beside": .count(askedBeside),
            "asked_by_reason": .counts(asked, by: \.rawValue),
            "forecast": forecast?.json ?? .null,
            "kind": .string(kind.rawValue),
            "left": .counts(left, by: \.rawValue),
            "oldest_check": .time(oldestCheck),
            "quiet": .count(quiet),
            "round_before": .count(roundBefore),
            "rows": .count(rows),
            "sample": sample?.json ?? .null,
            "settled_by_notification": .integer(Int64(settledByNotification)),
            "table": table.map { json(of: $0, totals) } ?? .null,
        ])
    }

    /// The parts add up to `rows`; `gone` is taken off.
    private func json(of table: TableCount, _ totals: RunTotals) -> CanonicalJSON {
        let parts = [
            "asked": askedRows, "excluded": totals.excludedCount, "gone": table.gone,
            "inserted": table.inserted, "judged_before": table.judgedBefore,
            "not_asked": table.notAsked, "not_reached": notReached(totals), "rows": table.rows,
            "settled_by_notification": settledByNotification,
            "without_question": withoutQuestion(totals),
        ]
        return .object(parts.mapValues { .integer(Int64($0)) })
    }
}

extension CallForecast {
    fileprivate var json: CanonicalJSON {
        .object([
            "calls": .counts(calls, by: \.self), "questions": .integer(Int64(questions)),
            "seconds": milliseconds.map { .integer(($0 + 999) / 1000) } ?? .null,
        ])
    }
}

extension RunCoverage.Sample {
    fileprivate var json: CanonicalJSON {
        .object([
            "bound": .integer(Int64(bound)), "confidence": .string("0.95"),
            "differ": .integer(Int64(differing)), "drawn": .integer(Int64(drawn)),
            "judged_by": judgedBy.map {
                .object([
                    "notification": .integer(Int64($0.notification)),
                    "other_question": .integer(Int64($0.otherQuestion)),
                    "own_question": .integer(Int64($0.ownQuestion)),
                ])
            } ?? .null,
            "not_judged": .count(notJudged),
            "seed": .string(String(seed, radix: 16)),
        ])
    }
}

extension CanonicalJSON {
    static func count(_ number: Int?) -> CanonicalJSON {
        number.map { .integer(Int64($0)) } ?? .null
    }
}

extension PlanSeal {
    fileprivate var json: CanonicalJSON {
        .object([
            "changes": .integer(Int64(changes)), "database": .string(head.database),
            "planned_by": .string(head.plannedBy), "sha256": .string(sha256),
        ])
    }
}

extension MoneyTotal {
    /// Whether both are totals of one direction and currency.
    func isSummed(with other: MoneyTotal) -> Bool {
        direction == other.direction && currency == other.currency
    }

    fileprivate var json: CanonicalJSON {
        .object([
            "amount": .integer(amount), "currency": .string(currency),
            "direction": .string(direction.rawValue), "findings": .integer(findings),
        ])
    }
}

extension [MoneyTotal] {
    /// By direction, in the order of `Direction`, then by currency.
    var sortedForReading: [MoneyTotal] {
        let order = Direction.allCases
        return sorted { left, right in
            let ranks = (
                order.firstIndex(of: left.direction), order.firstIndex(of: right.direction)
            )
            return ((ranks.0 ?? 0), left.currency) < ((ranks.1 ?? 0), right.currency)
        }
    }
}

extension GuardLift {
    var json: CanonicalJSON {
        .object([
            "actor": .string(actor),
            "guard": .string(name.rawValue),
            "lifted_at": .time(liftedAt),
            "lifted_by": .string(liftedBy),
            "reason": .string(reason),
            "was_necessary": .boolean(breach != nil),
            "would_have_said": .text(breach),
        ])
    }
}

extension RunTotals {
    /// The tie-out: `in_scope` is the sum of the others but `filled`, which are among them.
    var json: CanonicalJSON {
        .object([
            "discrepant": .integer(discrepant),
            "excluded": .integer(excludedCount),
            "filled": .integer(filled),
            "in_scope": .integer(inScope),
            "matched": .integer(matched),
            "undecided": .integer(undecidedCount),
        ])
    }
}

extension RunConclusion {
    /// All exit statuses that apply, the decisive one first.
    var flags: [ExitStatus] {
        let held = ExitStatus.allCases.filter(statuses.contains)
        return held.isEmpty ? [exitStatus] : held
    }

    var outcomeJSON: CanonicalJSON {
        var names: [String] = []
        for flag in flags where !names.contains(flag.name) { names.append(flag.name) }
        return .object([
            "exit_status": .integer(Int64(exitStatus.code)),
            "flags": .array(names.map(CanonicalJSON.string)),
            "name": .string(exitStatus.name),
        ])
    }
}

extension AcknowledgedFinding {
    /// For machines, the same wherever it is shown.
    package var json: CanonicalJSON {
        .object([
            "by": .string(actor), "decided_at": .time(decidedAt), "decision": .integer(decision),
            "finding_id": .string(findingID), "kind": .string(kind.rawValue),
            "original_transaction_id": .text(originalTransactionID), "reason": .string(reason),
            "severity": .string(severity.rawValue), "until": .time(until),
        ])
    }
}

extension CauseCluster {
    /// As `summary.json` has it.
    var json: CanonicalJSON {
        .object([
            "app": .string(bundleID),
            "bursts": .array(
                bursts.map { burst in
                    .object([
                        "end": .time(burst.end),
                        "notifications": .integer(burst.notifications),
                        "start": .time(burst.start),
                    ])
                }),
            "cause": .string(cause),
            "corrections": .integer(corrections),
            "delivery": .text(delivery?.rawValue),
            "earlier_days": .integer(earlierDays),
            "environment": .string(environment),
            "example": .text(example),
            "findings": .integer(findings),
            "first_attempt": .time(firstAttempt),
            "kinds": .counts(kinds, by: \.self),
            "last_attempt": .time(lastAttempt),
            "money": .array(money.map(\.json)),
            "notification_types": .counts(notificationTypes, by: \.self),
            "notifications": .integer(notifications),
            "product_id": .text(productID),
            "result": .text(result),
            "rows": .integer(rows),
            "still_retried": .integer(stillRetried),
        ])
    }
}

/// The counts and measurements, for machines.
extension RunSummary {
    /// How late notifications came; null where none was read or it was not measured.
    var delaysJSON: CanonicalJSON {
        guard let delivery = measures?.delivery else { return .null }
        return .object([
            "arrived": delivery.arrived?.json ?? .null,
            "recovered": delivery.recovered?.json ?? .null,
            "underway": .integer(Int64(clamping: delivery.underway)),
        ])
    }

    /// The busiest hour of each endpoint, and how long the run had to wait before asking.
    var effortJSON: CanonicalJSON {
        guard let effort = measures?.effort else { return .null }
        return .object([
            "busiest_hour": .array(
                effort.peaks.map { peak in
                    .object([
                        "app": .string(peak.bundleID),
                        "calls": .integer(Int64(clamping: peak.calls)),
                        "endpoint": .string(peak.endpoint),
                        "environment": .string(peak.environment),
                        "limit": .integer(Int64(clamping: peak.limit)),
                    ])
                }),
            "waited_milliseconds": .object(
                effort.waitedMilliseconds.mapValues(CanonicalJSON.integer)),
        ])
    }
}

extension AppControlTotals {
    fileprivate var json: CanonicalJSON {
        .object([
            "after": after.json, "app": .string(bundleID), "before": before.json,
            "corrections": corrections.json, "environment": .string(environment),
            "judged": .object([
                "apple": judged.apple.json, "ours_after": judged.after.json,
                "ours_before": judged.before.json,
            ]),
            "others_meanwhile": othersMeanwhile.json,
            "others_since": othersSince?.json ?? .null,
            "previous": previous?.sums.json ?? .null,
            "previous_run_id": .text(previous?.runID),
            "uncounted_corrections": uncounted.json,
        ])
    }
}

extension ControlSums {
    /// Rows by status, `none` for none of the five; prices in milliunits by currency, `none`
    /// without one.
    fileprivate var json: CanonicalJSON {
        var rows: [String: CanonicalJSON] = [:]
        for (group, count) in statuses where count != 0 {
            rows[group == 0 ? "none" : String(group)] = .integer(Int64(clamping: count))
        }
        var sums: [String: CanonicalJSON] = [:]
        for (currency, price) in prices {
            sums[currency.isEmpty ? "none" : currency] = .object([
                "amount": .integer(price.amount),
                "periods": .integer(Int64(clamping: price.periods)),
            ])
        }
        return .object(["prices": .object(sums), "rows": .object(rows)])
    }
}

extension DelayFigures {
    fileprivate var json: CanonicalJSON {
        .object([
            "median_seconds": .integer(medianSeconds),
            "notifications": .integer(Int64(clamping: notifications)),
            "worst_seconds": .integer(worstSeconds),
        ])
    }
}

extension CanonicalJSON {
    /// Indented, for people: sorted keys, two blanks a level, a line feed at the end.
    package var indented: String {
        var output = ""
        append(indentedBy: 0, to: &output)
        return output + "\n"
    }

    private func append(indentedBy level: Int, to output: inout String) {
        let margin = "\n" + String(repeating: "  ", count: level + 1)
        let end = "\n" + String(repeating: "  ", count: level)
        switch self {
        case .array(let values) where !values.isEmpty:
            for (index, value) in values.enumerated() {
                output += (index == 0 ? "[" : ",") + margin
                value.append(indentedBy: level + 1, to: &output)
            }
            output += end + "]"
        case .object(let members) where !members.isEmpty:
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (index, member) in sorted.enumerated() {
                output += (index == 0 ? "{" : ",") + margin
                output += CanonicalJSON.string(member.key).rendered + ": "
                member.value.append(indentedBy: level + 1, to: &output)
            }
            output += end + "}"
        default: output += rendered
        }
    }

    static func integer(_ value: Int) -> CanonicalJSON { .integer(Int64(value)) }

    /// An object of counts; keys are made from the names.
    static func counts<Name: Hashable>(
        _ counts: [Name: Int], by name: (Name) -> String
    ) -> CanonicalJSON {
        .object(
            Dictionary(counts.map { (name($0.key), .integer(Int64($0.value))) }) { _, new in new })
    }
}
