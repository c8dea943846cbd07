/// Everything that the database holds about one subscription of one app and environment.
package struct SubscriptionExplanation: Hashable, Sendable {
    package var key: SubscriptionKey
    /// The company's row; `nil` where there is none.
    package var row: LocalSubscription?
    /// The company's one-time purchase with this id; `nil` where there is none.
    package var purchase: LocalTransaction?
    package var check: CheckRecord?
    package var pending: PendingQuestion?
    package var absence: AbsenceRecord?
    /// Oldest first, as everything below.
    package var findings: [RememberedFinding] = []
    /// The findings as last reported, by their ids; not those of runs whose lists were deleted.
    package var lastReported: [String: Finding] = [:]
    package var corrections: [LedgerEntry] = []
    package var notifications: [StoredNotification] = []
    /// The part of each of the last runs in it.
    package var nights: [SubscriptionRun] = []

    package init(key: SubscriptionKey) { self.key = key }

    /// Whether the row's compared values are no longer those that were agreed at the last check.
    package var wasWrittenSince: Bool {
        guard let row, let check else { return false }
        return ValuesDigest(of: row) != check.check.values
    }

    /// Whether the id is that of a one-time purchase: it has no row of a subscription, and neither
    /// checks nor questions of its own.
    package var isPurchase: Bool {
        guard row == nil, check == nil else { return false }
        return purchase != nil || findings.contains { $0.kind.hasPrefix("purchase_") }
            || corrections.contains { $0.changes.transactionTable == .purchases }
    }

    /// Whether anything at all is known.
    package var isEmpty: Bool {
        row == nil && purchase == nil && check == nil && pending == nil && absence == nil
            && findings.isEmpty && corrections.isEmpty && notifications.isEmpty
    }
}

/// A durable line of the queue: it stands until what follows from an answer is done.
package struct PendingQuestion: Hashable, Sendable {
    package var reason: QuestionReason
    package var since: Timestamp
    /// When Apple signed the notification that it rests on.
    package var restsOn: Timestamp?
    /// Runs that asked, or were to write, and did not settle it.
    package var attempts: Int

    package init(reason: QuestionReason, since: Timestamp, restsOn: Timestamp?, attempts: Int) {
        self.reason = reason
        self.since = since
        self.restsOn = restsOn
        self.attempts = attempts
    }
}

/// A notification about the subscription, as the inbox holds it.
package struct StoredNotification: Hashable, Sendable {
    package var notificationUUID: String
    package var notificationType: String?
    package var subtype: String?
    package var signedDate: Timestamp?
    /// When the company received it, and when a run found it in Apple's history.
    package var receivedAt: Timestamp?
    package var recoveredAt: Timestamp?
    /// `missed`, `lost`, `received`, `delivered` or `retrying`.
    package var verdict: String?
    package var evidence: String?
    /// Apple's attempts to deliver it, oldest first, as its history told them last.
    package var attempts: [SendAttempt] = []

    package init(
        notificationUUID: String, notificationType: String?, subtype: String?,
        signedDate: Timestamp?, receivedAt: Timestamp?, recoveredAt: Timestamp?, verdict: String?,
        evidence: String?
    ) {
        self.notificationUUID = notificationUUID
        self.notificationType = notificationType
        self.subtype = subtype
        self.signedDate = signedDate
        self.receivedAt = receivedAt
        self.recoveredAt = recoveredAt
        self.verdict = verdict
        self.evidence = evidence
    }
}

/// The part of one run in the history of a subscription, as far as its records show.
package struct SubscriptionRun: Hashable, Sendable {
    package enum Look: Hashable, Sendable {
        /// Asked about, with a verdict or a finding; the reason where a record of it is kept.
        case asked(because: QuestionReason?)
        /// Checked by it: Apple was asked, or a notification's own signed statement agreed.
        case judged
        /// Not checked, for a stated reason.
        case undecided(String)
        /// Left out, because the company had written the row so shortly before that Apple's
        /// statement may still be on its way.
        case inFlight
        /// Only an earlier run's open finding was carried on.
        case carried
        /// The last check is older and nothing else is recorded: no reason named it in that run.
        case notAsked
        /// Not kept: only the last check and what was reported are.
        case unknown
    }

    package var runID: String
    package var job: String
    package var mode: String
    package var started: Timestamp
    /// `nil` for a run that is active, or was killed.
    package var exitStatus: ExitStatus?
    /// How the run was limited, if it was.
    package var filters: [String]
    package var look: Look

    package init(
        runID: String, job: String, mode: String, started: Timestamp, exitStatus: ExitStatus?,
        filters: [String], look: Look
    ) {
        self.runID = runID
        self.job = job
        self.mode = mode
        self.started = started
        self.exitStatus = exitStatus
        self.filters = filters
        self.look = look
    }
}
