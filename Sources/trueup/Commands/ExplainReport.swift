import Subscriptions

/// What `explain` shows of one subscription, for people.
struct ExplainReport {
    private let explanation: SubscriptionExplanation
    private let now: Timestamp

    init(_ explanation: SubscriptionExplanation, at now: Timestamp) {
        self.explanation = explanation
        self.now = now
    }

    var text: String {
        let key = explanation.key
        var lines = [
            "Subscription \(PlainText.of(key.originalTransactionID)) of "
                + "\(PlainText.of(key.bundleID)), \(PlainText.of(key.environment))",
            "", "Our row" + (row.isEmpty ? ": none" : ""),
        ]
        lines += TextTable.lines(row, rightAligned: []) + [""]
        lines += TextTable.lines(
            [
                ["last check", check], ["agenda", agenda],
                explanation.absence.map { ["not found", absence($0)] },
                explanation.nextQuestion(at: now).map { ["next question", $0.sentence] },
            ].compactMap(\.self), rightAligned: [])
        lines += ["", "Findings" + (explanation.findings.isEmpty ? ": none" : "")]
        lines += findings
        let timeLine = ExplainTimeLine(explanation)
        lines += ["", "Time line" + (timeLine.isEmpty ? ": nothing" : "")]
        lines += TextTable.lines(timeLine.rows, rightAligned: [])
        return lines.map(PlainText.of).joined(separator: "\n")
    }

    // MARK: As it stands

    private var row: [[String]] {
        guard let row = explanation.row else { return [] }
        return SubscriptionField.allCases.compactMap { field in
            let value = row.value(of: field)
            return value.isEmpty ? nil : [field.rawValue, PlainText.of(value.plainText)]
        }
    }

    private var check: String {
        guard let record = explanation.check else {
            return "none: no run has judged it, so the next one with the step walk asks about it"
        }
        let clock =
            record.check.clock.map { "that word ends by itself at \($0.rfc3339)" }
            ?? "that word never ends by itself"
        return "by the run of \(record.askedAt.rfc3339); "
            + (record.check.signedDate.map { "Apple signed its word at \($0.rfc3339)" }
                ?? "no signed word of Apple's")
            + "; " + clock
            + (explanation.wasWrittenSince
                ? "; somebody wrote to the row since, so the next run with the step walk asks" : "")
    }

    private var agenda: String {
        guard let owed = explanation.owed else { return "nothing is owed" }
        return "\(owed.reason.rawValue) since \(owed.since.rfc3339)"
            + (owed.restsOn.map { ", by a notification signed at \($0.rfc3339)" } ?? "")
            + ", \(owed.attempts) \(owed.attempts == 1 ? "attempt" : "attempts")"
    }

    private func absence(_ record: AbsenceRecord) -> String {
        "by Apple on \(record.distinctDays) \(record.distinctDays == 1 ? "day" : "days"), from "
            + "\(record.firstDay) to \(record.lastDay)"
    }

    private var findings: [String] {
        explanation.findings.flatMap { known -> [String] in
            var lines = [
                "  \(known.kind) (\(known.severity)): \(known.state), first seen "
                    + "\(known.firstSeen.rfc3339), last \(known.lastSeen.rfc3339), "
                    + known.findingID
            ]
            guard let finding = known.finding else {
                return lines + ["    both sides are no longer kept"]
            }
            lines.append(
                "    \(finding.field.map { PlainText.of($0) + ": " } ?? "")"
                    + "ours \(Self.shown(finding.localValue)), Apple's "
                    + Self.shown(finding.appleValue)
                    + (finding.evidence.map { ", evidence \($0.hexadecimal)" } ?? ""))
            if let cause = finding.cause { lines.append("    " + PlainText.of(cause)) }
            return lines
        }
    }

    static func shown(_ value: FieldValue) -> String {
        value.isEmpty ? "nothing" : PlainText.of(value.plainText)
    }
}

extension SubscriptionNight.Look {
    /// What is known of the night, and no more.
    var sentence: String {
        switch self {
        case .asked(because: .some(let reason)): "asked, because of \"\(reason.rawValue)\""
        case .asked(because: nil): "looked at, and a finding was reported; the reason is not kept"
        case .judged: "judged: asked, or settled by a notification that agreed"
        case .undecided(let reason): "not judged: \(PlainText.of(reason))"
        case .inFlight: "left out as in flight: the row was signed less than \"settle\" before"
        case .carried: "not judged; an open finding of an earlier night was carried on"
        case .notAsked: "not judged: nothing is recorded, and the last check is older"
        case .unknown: "not known: of matches only the last check is kept"
        }
    }
}
