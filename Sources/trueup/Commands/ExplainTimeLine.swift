import Subscriptions

/// What happened to one subscription, from all sides in the order of time: what Apple signed and tried
/// to deliver, what reached us, what runs did, found and wrote.
struct ExplainTimeLine {
    private struct Event {
        var at: Timestamp?
        var what: String
        var text: String
    }

    private let events: [Event]

    init(_ explanation: SubscriptionExplanation) {
        // Of the same moment: first what was the reason for the other.
        var events = Self.words(of: explanation)
        events += explanation.notifications.flatMap(Self.events)
        events += explanation.nights.map(Self.event)
        events += explanation.findings.flatMap(Self.events)
        events += explanation.corrections.map(Self.event)
        self.events = events.enumerated().sorted { left, right in
            let (first, second) = (left.element.at, right.element.at)
            guard let first, let second, first != second else {
                return first == second ? left.offset < right.offset : first == nil
            }
            return first < second
        }.map(\.element)
    }

    var isEmpty: Bool { events.isEmpty }

    var rows: [[String]] {
        events.map { [$0.at?.rfc3339 ?? "time unknown", $0.what, $0.text] }
    }

    /// When Apple signed what the row and the last check rest on.
    private static func words(of explanation: SubscriptionExplanation) -> [Event] {
        let row = explanation.row?.signedDate
        let check = explanation.check?.check.signedDate
        var events: [Event] = []
        if let row {
            let both = row == check ? " and the last check rest" : " rests"
            events.append(
                Event(at: row, what: "Apple", text: "signed what our row\(both) on"))
        }
        if let check, check != row {
            events.append(
                Event(at: check, what: "Apple", text: "signed what the last check rests on"))
        }
        return events
    }

    private static func events(_ notification: StoredNotification) -> [Event] {
        let words = [notification.notificationType, notification.subtype].compactMap(\.self)
        let name = PlainText.of(
            words.isEmpty ? notification.notificationUUID : words.joined(separator: " "))
        var events = [
            Event(
                at: notification.signedDate ?? notification.receivedAt, what: "notification",
                text: "Apple signed \(name)"
                    + (notification.verdict.map { ": " + PlainText.of($0) } ?? "")
                    + (notification.evidence.map { "; evidence " + PlainText.of($0) } ?? ""))
        ]
        let count = notification.attempts.count
        for (index, attempt) in notification.attempts.enumerated() {
            events.append(
                Event(
                    at: attempt.attemptDate, what: "delivery",
                    text: "attempt \(index + 1) of \(count) of \(name): "
                        + PlainText.of(attempt.result)))
        }
        if let received = notification.receivedAt {
            events.append(
                Event(at: received, what: "received", text: "\(name) reached our endpoint"))
        }
        if let recovered = notification.recoveredAt {
            events.append(
                Event(
                    at: recovered, what: "recovered",
                    text: "a run read \(name) in Apple's history"))
        }
        return events
    }

    private static func events(_ known: RememberedFinding) -> [Event] {
        var text = "\(known.kind) (\(known.severity)) first reported"
        if let finding = known.finding {
            text +=
                ": \(finding.field.map { PlainText.of($0) + ", " } ?? "")ours "
                + "\(ExplainReport.shown(finding.localValue)), Apple's "
                + ExplainReport.shown(finding.appleValue)
        }
        let first = Event(at: known.firstSeen, what: "finding", text: text)
        guard known.lastSeen > known.firstSeen else { return [first] }
        return [
            first,
            Event(
                at: known.lastSeen, what: "finding",
                text: "\(known.kind) last reported; it is \(known.state)"),
        ]
    }

    private static func event(_ entry: LedgerEntry) -> Event {
        let changes = entry.changes.named.map { name, change in
            "\(PlainText.of(name)) \(ExplainReport.shown(change.before)) → "
                + ExplainReport.shown(change.after)
        }
        let rules = entry.kinds.map(\.rawValue).joined(separator: ", ")
        return Event(
            at: entry.writtenAt, what: "correction",
            text: "entry \(entry.number) of run \(entry.runID)"
                + (entry.undoOf.map { ", takes back entry \($0)" } ?? "")
                + (rules.isEmpty ? "" : ", by the rules of \(rules)")
                + (entry.transactionID.map { ", period \(PlainText.of($0))" } ?? "") + ": "
                + changes.joined(separator: ", ")
                + "; Apple signed it at \(entry.appleSignedDate.rfc3339), evidence "
                + entry.evidence.hexadecimal)
    }

    private static func event(_ night: SubscriptionNight) -> Event {
        let status = night.exitStatus.map { "ended with \($0.code)" } ?? "not ended"
        let scope = night.narrowing.isEmpty ? "" : ", narrowed"
        return Event(
            at: night.started, what: "run",
            text: "\(night.runID) (\(PlainText.of(night.job)), \(night.mode)\(scope), \(status)): "
                + night.look.sentence)
    }
}

extension NextQuestion {
    /// In a sentence, for people.
    var sentence: String {
        guard let reason else {
            return "none of its own: a new notification, a write to the row, the sample or the "
                + "sweep of the job would bring it up"
        }
        guard let from else {
            return "by the next run with the step walk, because of \"\(reason.rawValue)\""
        }
        return "by the first run after \(from.rfc3339), when Apple's last word has ended by itself "
            + "(\"\(reason.rawValue)\"); before that only a new notification, a write to the row, "
            + "the sample or the sweep of the job"
    }
}
