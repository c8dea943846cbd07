import Subscriptions

/// A notification from Apple's history, together with our inbox's record of it.
struct NotificationCase: Sendable {
    let notification: RecordedNotification
    let inbox: InboxRecord?
    /// Whether the company imports what its endpoint received; otherwise none can be called lost.
    let inboxIsKept: Bool
    let app: AppIdentity

    /// Test notifications concern no subscription.
    var isTest: Bool { notification.notificationType == "TEST" }

    var wasDelivered: Bool { notification.sendAttempts.contains(where: \.isSuccess) }

    /// Whether it is known already: received by the company, or recovered by an earlier run.
    var isKnown: Bool { inbox?.receivedAt != nil || inbox?.recoveredAt != nil }

    /// A finding about it, with the action `recovered`: the run stores the notification and settles
    /// the subscription by a status call.
    func finding(_ kind: FindingKind, cause: String) -> Finding {
        var finding = Finding(
            kind: kind, severity: .high, bundleID: app.bundleID,
            environment: app.environment.rawValue)
        finding.key = notification.originalTransactionID.map {
            SubscriptionKey(app: app, originalTransactionID: $0)
        }
        finding.field = notification.notificationUUID
        let subtype = notification.subtype.map { ".\($0)" } ?? ""
        finding.appleValue = .text(notification.notificationType + subtype)
        finding.appleAsOf = notification.signedDate
        finding.cause = cause
        finding.evidence = notification.evidence.digest
        finding.action = .recovered
        return finding
    }

    /// Findings about values of the notification that this version does not know, also where the
    /// company received it.
    var unknownValues: [Finding] {
        Dictionary(grouping: notification.unknowns, by: \.field)
            .sorted { $0.key < $1.key }
            .map { field, met in
                var finding = finding(.unknownValue, cause: "unknown to this version")
                finding.severity = .info
                finding.action = .none
                finding.field = field
                let values = Set(met.compactMap(\.value)).sorted()
                finding.appleValue = values.isEmpty ? .null : .text(values.joined(separator: ", "))
                return finding
            }
    }
}
