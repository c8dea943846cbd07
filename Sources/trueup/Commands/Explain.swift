import ArgumentParser
import SubscriptionStore
import Subscriptions

/// `trueup explain ID`: everything that is known about one subscription.
struct Explain: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Show one subscription: both sides, its history, and its next check.",
        discussion: """
            ID is an original transaction id or a customer_id. The command shows every subscription, in \
            every app and environment, that has it. It reads the database and changes nothing.
            """)

    /// The newest runs that are shown.
    private static let nights = 14

    @Argument(
        help: ArgumentHelp(
            "The original transaction id, or a customer_id.", valueName: "id"))
    var id: String

    @Option(
        help: ArgumentHelp(
            "Show the state as of this time (RFC 3339); with a loopback endpoint only.",
            valueName: "time"))
    var now: Timestamp?

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database], [.ok: "shown", .data: "trueup knows nothing of the id"])

    func validate() throws {
        try refuse(
            if: id.allSatisfy(\.isWhitespace),
            "ID is empty; give an original transaction id or a customer_id.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let now = try invocation.clock(startingAt: now, settings: settings)()
        let store = try Books(settings).openToRead(at: invocation.now())
        let explanations = try store.explanations(
            of: id, apps: settings.identities, nights: Self.nights, at: now)
        guard !explanations.isEmpty else {
            throw CommandFailure(
                .data,
                "trueup knows nothing of \(PlainText.of(id)). No row, one-time purchase, check, "
                    + "finding, correction or notification has this original transaction id, and no "
                    + "row, purchase or finding has it as customer_id. If it is the id of a renewal, "
                    + "give the original transaction id."
            )
        }
        let isCustomer = !explanations.contains { $0.key.originalTransactionID == id }
        try common.show(
            .object([
                "customer_id": isCustomer ? .string(id) : .null,
                "original_transaction_id": isCustomer ? .null : .string(id),
                "subscriptions": .array(explanations.map { $0.json(at: now) }),
            ]),
            Array(
                explanations.map { $0.lines(at: now) }
                    .joined(separator: [""])), in: invocation)
        return .ok
    }
}

/// The output of `explain` about one subscription, for people.
extension SubscriptionExplanation {
    func lines(at now: Timestamp) -> [String] {
        var lines = [
            (isPurchase ? "One-time purchase " : "Subscription ")
                + "\(PlainText.of(key.originalTransactionID)) of "
                + "\(PlainText.of(key.bundleID)), \(PlainText.of(key.environment))",
            "",
            (isPurchase ? "Stored row in purchases" : "Stored row")
                + (rowTable.isEmpty ? ": none" : ""),
        ]
        lines += TerminalLines.table(rowTable) + [""]
        // Of a purchase no check is recorded, so there is none to tell.
        lines += TerminalLines.table(
            [
                isPurchase ? nil : ["last check", checkText], ["pending check", pendingText],
                absence.map { ["not found", text($0)] },
                nextQuestionInWords(at: now).map { ["next check", $0] },
            ].compactMap(\.self))
        lines += ["", "Findings" + (findings.isEmpty ? ": none" : "")]
        lines += findingLines
        let timeLine = timeLine
        lines += ["", "Time line" + (timeLine.isEmpty ? ": nothing" : "")]
        lines += TerminalLines.table(timeLine)
        return lines
    }

    // MARK: As it stands

    private var rowTable: [[String]] {
        if isPurchase {
            return TransactionTable.purchases.fields.compactMap {
                Self.line(of: $0.rawValue, purchase?.value(of: $0))
            }
        }
        return SubscriptionField.allCases.compactMap {
            Self.line(of: $0.rawValue, row?.value(of: $0))
        }
    }

    /// A column with its value; `nil` without one.
    private static func line(of column: String, _ value: FieldValue?) -> [String]? {
        guard let value, !value.isEmpty else { return nil }
        return [column, PlainText.of(value.plainText)]
    }

    private var checkText: String {
        guard let record = check else {
            return "none: no run that writes has checked it, so the next one with the step walk "
                + "does"
        }
        let clock =
            record.check.clock.map { "its due time is \($0.rfc3339)" }
            ?? "it has no due time"
        return "by the run of \(record.askedAt.rfc3339); "
            + (record.check.signedDate.map { "Apple signed its statement at \($0.rfc3339)" }
                ?? "without a signed statement of Apple's")
            + "; " + clock
            + (wasWrittenSince
                ? "; the row was written to since, so the next run with the step walk checks it"
                : "")
    }

    private var pendingText: String {
        guard let pending else { return "nothing is pending" }
        return "\(pending.reason.rawValue) since \(pending.since.rfc3339)"
            + (pending.restsOn.map { ", by a notification signed at \($0.rfc3339)" } ?? "")
            + ", \(pending.attempts.counted("attempt"))"
    }

    private func text(_ record: AbsenceRecord) -> String {
        "by Apple on \(record.distinctDays.counted("day")), from \(record.firstDay) to "
            + record.lastDay
    }

    private var findingLines: [String] {
        findings.flatMap { known -> [String] in
            var lines = [
                "  \(known.kind) (\(known.severity)): \(known.stateName), first seen "
                    + "\(known.firstSeen.rfc3339), last \(known.lastSeen.rfc3339), "
                    + known.findingID
            ]
            guard let finding = lastReported[known.findingID] else {
                return lines + ["    the values are no longer stored"]
            }
            lines.append(
                "    " + Self.values(of: finding, fieldEnding: ": ")
                    + (finding.evidence.map { ", evidence \($0.hexadecimal)" } ?? ""))
            if let cause = finding.cause { lines.append("    " + PlainText.of(cause)) }
            return lines
        }
    }

    /// The field, with what ends its name, and both values.
    private static func values(of finding: Finding, fieldEnding ending: String) -> String {
        "\(finding.field.map { PlainText.of($0) + ending } ?? "")stored "
            + "\(shown(finding.localValue)), Apple's \(shown(finding.appleValue))"
    }

    private static func shown(_ value: FieldValue) -> String {
        value.isEmpty ? "nothing" : PlainText.of(value.plainText)
    }
}

extension SubscriptionRun.Look {
    /// The run's part in one sentence, and no more than is known.
    var sentence: String {
        switch self {
        case .asked(because: .some(let reason)): "asked, because of \"\(reason.rawValue)\""
        case .asked(because: nil): "checked, and a finding was reported; the reason is not stored"
        case .judged: "checked: Apple was asked, or a notification agreed"
        case .undecided(let reason): "not checked: \(PlainText.of(reason))"
        case .inFlight: "excluded as in flight: Apple signed the row less than \"settle\" before"
        case .carried: "not checked; an open finding of an earlier run was reported again"
        case .notAsked: "not checked: nothing is recorded, and the last check is older"
        case .unknown: "not known: of matches only the last check is stored"
        }
    }
}

/// The history of one subscription, from all sides in the order of time: what Apple signed and
/// tried to deliver, what was received, what runs did, found and wrote.
extension SubscriptionExplanation {
    private typealias Event = (at: Timestamp?, what: String, text: String)

    private var timeLine: [[String]] {
        // Of the same moment: first what was the reason for the other.
        var events = statements
        events += notifications.flatMap(Self.events)
        // Of a purchase no check is stored, so nothing is left of a match.
        events += nights.filter { !isPurchase || $0.look != .unknown }.map(Self.event)
        events += findings.flatMap {
            Self.events($0, lastReported[$0.findingID])
        }
        events += corrections.map(Self.event)
        let inOrder = events.enumerated().sorted { left, right in
            let (first, second) = (left.element.at, right.element.at)
            guard let first, let second, first != second else {
                return first == second ? left.offset < right.offset : first == nil
            }
            return first < second
        }
        return inOrder.map { _, event in
            [event.at?.rfc3339 ?? "time unknown", event.what, event.text]
        }
    }

    /// When Apple signed what the row and the last check rest on.
    private var statements: [Event] {
        let row = row?.signedDate
        let check = check?.check.signedDate
        var events: [Event] = []
        if let row {
            let both = row == check ? " and the last check rest" : " rests"
            events.append((row, "Apple", "signed the statement that the row\(both) on"))
        }
        if let check, check != row {
            events.append((check, "Apple", "signed the statement that the last check rests on"))
        }
        return events
    }

    private static func events(_ notification: StoredNotification) -> [Event] {
        let words = [notification.notificationType, notification.subtype].compactMap(\.self)
        let name = PlainText.of(
            words.isEmpty ? notification.notificationUUID : words.joined(separator: " "))
        var events: [Event] = [
            (
                notification.signedDate ?? notification.receivedAt, "notification",
                "Apple signed \(name)"
                    + (notification.verdict.map { ": " + PlainText.of($0) } ?? "")
                    + (notification.evidence.map { "; evidence " + PlainText.of($0) } ?? "")
            )
        ]
        let count = notification.attempts.count
        for (index, attempt) in notification.attempts.enumerated() {
            let text = "attempt \(index + 1) of \(count) of \(name): "
            events.append((attempt.attemptDate, "delivery", text + PlainText.of(attempt.result)))
        }
        if let received = notification.receivedAt {
            events.append((received, "received", "\(name) reached your endpoint"))
        }
        if let recovered = notification.recoveredAt {
            events.append((recovered, "recovered", "a run read \(name) in Apple's history"))
        }
        return events
    }

    private static func events(_ known: RememberedFinding, _ finding: Finding?) -> [Event] {
        var text = "\(known.kind) (\(known.severity)) first reported"
        if let finding {
            text += ": " + values(of: finding, fieldEnding: ", ")
        }
        let first: Event = (known.firstSeen, "finding", text)
        guard known.lastSeen > known.firstSeen else { return [first] }
        return [
            first,
            (known.lastSeen, "finding", "\(known.kind) last reported; it is \(known.stateName)"),
        ]
    }

    private static func event(_ entry: LedgerEntry) -> Event {
        let changes = entry.changes.named.map { name, change in
            "\(PlainText.of(name)) \(Self.shown(change.before)) → "
                + Self.shown(change.after)
        }
        let rules = entry.kinds.map(\.rawValue).joined(separator: ", ")
        return (
            entry.writtenAt, "correction",
            "entry \(entry.number) of run \(entry.runID)"
                + (entry.undoOf.map { ", reverts entry \($0)" } ?? "")
                + (rules.isEmpty ? "" : ", by the rules of \(rules)")
                + (entry.transactionID.map {
                    ", \(entry.changes.nameOfTransaction) \(PlainText.of($0))"
                } ?? "") + ": "
                + changes.joined(separator: ", ")
                + "; Apple signed it at \(entry.appleSignedDate.rfc3339), evidence "
                + entry.evidence.hexadecimal
        )
    }

    private static func event(_ night: SubscriptionRun) -> Event {
        let status = night.exitStatus.map { "exit status \($0.code)" } ?? "not ended"
        let isWhole = night.filters.isEmpty || RunHeader.isForAppsAlone(night.filters)
        let scope = isWhole ? "" : ", partial"
        return (
            night.started, "run",
            "\(night.runID) (\(PlainText.of(night.job)), \(night.mode)\(scope), \(status)): "
                + night.look.sentence
        )
    }
}

extension SubscriptionExplanation {
    /// The next question in a sentence, for people.
    fileprivate func nextQuestionInWords(at now: Timestamp) -> String? {
        guard let next = nextQuestion(at: now) else { return nil }
        guard let reason = next.reason else {
            return
                "none is due: only a new notification, a write to the row, the sample or the sweep "
                + "leads to one"
        }
        guard let from = next.from else {
            return "by the next run with the step walk, because of \"\(reason.rawValue)\""
        }
        return
            "by the first run after \(from.rfc3339), when Apple's last statement has ended by itself "
            + "(\"\(reason.rawValue)\"); before that only a new notification, a write to the row, "
            + "the sample or the sweep leads to one"
    }
}

/// The output of `explain --json`.
extension SubscriptionExplanation {
    func json(at now: Timestamp) -> CanonicalJSON {
        .object([
            "bundle_id": .string(key.bundleID), "environment": .string(key.environment),
            "row": row.map { row in
                .object(
                    ofMembers: SubscriptionField.allCases.map {
                        ($0.rawValue, row.value(of: $0).json)
                    })
            } ?? .null,
            "purchase": purchase.map { row in
                .object(
                    ofMembers: TransactionTable.purchases.fields.map {
                        ($0.rawValue, row.value(of: $0).json)
                    })
            } ?? .null,
            "last_check": check.map { record in
                .object([
                    "run_started": .time(record.askedAt),
                    "signed_date": .time(record.check.signedDate),
                    "clock": .time(record.check.clock),
                    "row_written_since": .boolean(wasWrittenSince),
                ])
            } ?? .null,
            "agenda": pending.map { pending in
                .object([
                    "reason": .string(pending.reason.rawValue), "since": .time(pending.since),
                    "rests_on": .time(pending.restsOn),
                    "attempts": .count(pending.attempts),
                ])
            } ?? .null,
            "not_found": absence.map { record in
                .object([
                    "first_day": .string(record.firstDay), "last_day": .string(record.lastDay),
                    "distinct_days": .count(record.distinctDays),
                ])
            } ?? .null,
            "next_question": nextQuestion(at: now).map { next in
                .object(["from": .time(next.from), "reason": .text(next.reason?.rawValue)])
            } ?? .null,
            "findings": .array(findings.map { $0.json(lastReported[$0.findingID]) }),
            "corrections": .array(corrections.map(\.canonical)),
            "notifications": .array(notifications.map(\.json)),
            "nights": .array(nights.map(\.json)),
        ])
    }
}

extension RememberedFinding {
    fileprivate func json(_ finding: Finding?) -> CanonicalJSON {
        .object([
            "finding_id": .string(findingID), "kind": .string(kind), "severity": .string(severity),
            "state": .string(stateName), "first_seen": .time(firstSeen),
            "last_seen": .time(lastSeen),
            "field": .text(finding?.field), "local_value": finding?.localValue.json ?? .null,
            "apple_value": finding?.appleValue.json ?? .null,
            "evidence": .text(finding?.evidence?.hexadecimal), "cause": .text(finding?.cause),
            "asked_because": .text(finding?.askedBecause?.rawValue),
        ])
    }
}

extension StoredNotification {
    fileprivate var json: CanonicalJSON {
        .object([
            "notification_uuid": .string(notificationUUID),
            "notification_type": .text(notificationType), "subtype": .text(subtype),
            "signed_date": .time(signedDate), "received_at": .time(receivedAt),
            "recovered_at": .time(recoveredAt), "verdict": .text(verdict),
            "evidence": .text(evidence),
            "attempts": .array(
                attempts.map { attempt in
                    .object([
                        "attempt_date": .time(attempt.attemptDate),
                        "result": .string(attempt.result),
                    ])
                }),
        ])
    }
}

extension SubscriptionRun {
    fileprivate var json: CanonicalJSON {
        .object([
            "run_id": .string(runID), "job": .string(job), "mode": .string(mode),
            "started": .time(started),
            "exit_status": .exitStatus(exitStatus),
            "narrowing": .strings(filters), "look": .string(look.named.name),
            "asked_because": .text(look.named.because?.rawValue),
            "reason": .text(look.named.reason),
        ])
    }
}

extension SubscriptionRun.Look {
    fileprivate var named: (name: String, because: QuestionReason?, reason: String?) {
        switch self {
        case .asked(let because): ("asked", because, nil)
        case .judged: ("judged", nil, nil)
        case .undecided(let reason): ("undecided", nil, reason)
        case .inFlight: ("in_flight", nil, nil)
        case .carried: ("carried", nil, nil)
        case .notAsked: ("not_asked", nil, nil)
        case .unknown: ("unknown", nil, nil)
        }
    }
}
