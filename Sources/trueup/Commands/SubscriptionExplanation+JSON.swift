import Subscriptions

/// What `explain --json` prints.
extension SubscriptionExplanation {
    func json(at now: Timestamp) -> CanonicalJSON {
        .object([
            "bundle_id": .string(key.bundleID), "environment": .string(key.environment),
            "row": row.map { row in
                .object(
                    Dictionary(
                        SubscriptionField.allCases.map { ($0.rawValue, row.value(of: $0).json) },
                        uniquingKeysWith: { first, _ in first }))
            } ?? .null,
            "last_check": check.map { record in
                .object([
                    "run_started": .time(record.askedAt),
                    "signed_date": .time(record.check.signedDate),
                    "clock": .time(record.check.clock),
                    "row_written_since": .boolean(wasWrittenSince),
                ])
            } ?? .null,
            "agenda": owed.map { owed in
                .object([
                    "reason": .string(owed.reason.rawValue), "since": .time(owed.since),
                    "rests_on": .time(owed.restsOn), "attempts": .integer(Int64(owed.attempts)),
                ])
            } ?? .null,
            "not_found": absence.map { record in
                .object([
                    "first_day": .string(record.firstDay), "last_day": .string(record.lastDay),
                    "distinct_days": .integer(Int64(record.distinctDays)),
                ])
            } ?? .null,
            "next_question": nextQuestion(at: now).map { next in
                .object(["from": .time(next.from), "reason": .text(next.reason?.rawValue)])
            } ?? .null,
            "findings": .array(findings.map(\.json)),
            "corrections": .array(corrections.map(\.canonical)),
            "notifications": .array(notifications.map(\.json)),
            "nights": .array(nights.map(\.json)),
        ])
    }
}

extension RememberedFinding {
    fileprivate var json: CanonicalJSON {
        .object([
            "finding_id": .string(findingID), "kind": .string(kind), "severity": .string(severity),
            "state": .string(state), "first_seen": .time(firstSeen), "last_seen": .time(lastSeen),
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

extension SubscriptionNight {
    fileprivate var json: CanonicalJSON {
        .object([
            "run_id": .string(runID), "job": .string(job), "mode": .string(mode),
            "started": .time(started),
            "exit_status": exitStatus.map { .integer(Int64($0.code)) } ?? .null,
            "narrowing": .array(narrowing.map { .string($0) }), "look": .string(look.name),
            "asked_because": .text(look.because?.rawValue), "reason": .text(look.reason),
        ])
    }
}

extension SubscriptionNight.Look {
    fileprivate var name: String {
        switch self {
        case .asked: "asked"
        case .judged: "judged"
        case .undecided: "undecided"
        case .inFlight: "in_flight"
        case .carried: "carried"
        case .notAsked: "not_asked"
        case .unknown: "unknown"
        }
    }

    fileprivate var because: QuestionReason? {
        if case .asked(let because) = self { because } else { nil }
    }

    fileprivate var reason: String? {
        if case .undecided(let reason) = self { reason } else { nil }
    }
}
