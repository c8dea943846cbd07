import Reports
import Subscriptions

/// A small run with something in every file.
enum Samples {
    static let app = AppIdentity(bundleID: "com.example.app", environment: .production)
    static let started = time("2026-11-20T03:17:04Z")
    static let digest = String(repeating: "ab", count: 32)
    static let renewalDigest = String(repeating: "cd", count: 32)

    static func time(_ text: String) -> Timestamp {
        Timestamp(rfc3339: text) ?? Timestamp(unixMilliseconds: 0)
    }

    static func key(_ id: String) -> SubscriptionKey {
        SubscriptionKey(app: app, originalTransactionID: id)
    }

    static func header(_ runID: String = "20261120T031704Z-7f3c9a") -> RunHeader {
        RunHeader(
            runID: runID, job: "nightly", mode: .apply, started: started, apps: [app],
            actor: "job@host", toolVersion: "1.0.0",
            settingsDigest: String(repeating: "5e", count: 32), filters: [],
            notFoundConfirmations: 3)
    }

    static func summary(_ runID: String = "20261120T031704Z-7f3c9a") -> RunSummary {
        var totals = RunTotals()
        totals.matched = 1950
        totals.discrepant = 37
        totals.undecided = [.rateLimited: 2, .inFlight: 1]
        totals.excluded = [.inFlight: 10]
        var summary = RunSummary(
            header: header(runID),
            conclusion: RunConclusion(
                ended: time("2026-11-20T03:19:40.250Z"), statuses: [.findings, .incomplete],
                messages: ["Apple answered 429 for 12 s; the rate was halved."],
                limits: ["retry budget of subscription_statuses"],
                calls: [
                    CallCount(endpoint: "subscription_statuses", result: "ok", calls: 1987),
                    CallCount(endpoint: "subscription_statuses", result: "rate_limited", calls: 6),
                    CallCount(endpoint: "notification_history", result: "ok", calls: 12),
                ],
                closesPass: true),
            resumedFrom: nil, totals: totals,
            findings: [
                FindingCount(kind: .accessMissing, severity: .critical, state: .new, findings: 8),
                FindingCount(
                    kind: .accessMissing, severity: .critical, state: .corrected, findings: 1200),
                FindingCount(kind: .notFound, severity: .high, state: .open, findings: 3),
                FindingCount(kind: .product, severity: .high, state: .recurring, findings: 1),
            ],
            money: [
                MoneyTotal(
                    currency: "USD", direction: .companyLoses, amount: 1_234_560, findings: 12),
                MoneyTotal(currency: "EUR", direction: .customerLoses, amount: 9_990, findings: 1),
            ],
            corrections: [.applied: 31, .stale: 1], ledgerHead: String(repeating: "1e", count: 32))
        summary.business = BusinessRecord(
            counts: [
                EventCount(
                    app: app, day: started.dayNumber - 1, productID: "pro.monthly", kind: .renewal,
                    events: 41)
            ],
            reads: [
                EventRead(
                    app: app, from: time("2026-11-18T18:00:00Z"),
                    through: time("2026-11-20T03:00:00Z"))
            ])
        return summary
    }

    static var finding: ReportedFinding {
        var row = LocalSubscription(key: key("2000000000000001"))
        row.customerID = "customer-1"
        row.productID = "pro.monthly"
        row.latestTransactionID = "2000000000000009"
        row.signedDate = time("2026-11-01T00:00:00Z")
        var finding = Finding(kind: .accessMissing, severity: .critical, row: row)
        finding.field = "status"
        finding.localValue = .integer(2)
        finding.appleValue = .integer(1)
        finding.appleAsOf = time("2026-11-20T03:17:05.123Z")
        finding.direction = .customerLoses
        finding.amount = 9_990
        finding.currency = "USD"
        finding.cause = "a renewal was missed"
        finding.evidence = EvidenceDigest(hexadecimal: digest)
        finding.action = .corrected
        return ReportedFinding(
            findingID: "f-1", runID: header().runID, state: .corrected, firstSeen: started,
            finding: finding)
    }

    /// A finding that concerns no subscription.
    static var bareFinding: ReportedFinding {
        ReportedFinding(
            findingID: "f-2", runID: header().runID, state: .new, firstSeen: started,
            finding: Finding(
                kind: .unknownValue, severity: .info, bundleID: app.bundleID,
                environment: "Production"))
    }

    static var update: PlannedCorrection {
        PlannedCorrection(
            target: .update(key("2000000000000001"), expectedRowVersion: 4),
            changes: .subscription([
                .status: FieldChange(before: .integer(2), after: .integer(1)),
                .expiresDate: FieldChange(
                    before: .time(time("2026-11-18T00:00:00Z")),
                    after: .time(time("2026-12-18T00:00:00Z"))),
            ]),
            kinds: [.accessMissing, .expiry], evidence: EvidenceDigest(hexadecimal: digest),
            evidenceRenewal: EvidenceDigest(hexadecimal: renewalDigest),
            appleSignedDate: time("2026-11-20T03:17:05.123Z"), reason: "Apple says it is active.")
    }

    static var insert: PlannedCorrection {
        PlannedCorrection(
            target: .insert(key("2000000000000002")),
            changes: .subscription([.status: FieldChange(before: .null, after: .integer(1))]),
            kinds: [.missingLocally], evidence: EvidenceDigest(hexadecimal: digest),
            evidenceRenewal: nil, appleSignedDate: started, reason: "We did not hold it.")
    }

    /// Entries with hashes that hold.
    static func ledger() throws -> [LedgerEntry] {
        var entries: [LedgerEntry] = []
        for correction in [update, insert] {
            var entry = LedgerEntry(
                number: Int64(entries.count) + 1,
                previousHash: entries.last?.hash ?? LedgerEntry.firstPreviousHash,
                runID: header().runID, correction: correction, writtenAt: started,
                actor: "job@host")
            entry.hash = try sha256(entry.previousHash + entry.canonicalWithoutHash.rendered)
            entries.append(entry)
        }
        return entries
    }

    static func run(_ runID: String = "20261120T031704Z-7f3c9a") throws -> StoredRun {
        StoredRun(
            runSummary: summary(runID), findings: [finding, bareFinding], corrections: try ledger(),
            planned: [(update, .applied), (insert, .stale)],
            undecided: [
                UndecidedRow(key: key("2000000000000003"), customerID: nil, reason: .rateLimited)
            ],
            notFound: [
                NotFoundAccount(
                    key: key("2000000000000004"), customerID: "customer-4",
                    absence: AbsenceRecord(
                        firstDay: "2026-11-18", lastDay: "2026-11-20", distinctDays: 3),
                    isConfirmed: true, status: 1, lastGoodAsOf: time("2026-10-01T00:00:00Z"),
                    lastGoodEvidence: EvidenceDigest(hexadecimal: digest))
            ],
            notifications: [
                NotificationAudit(
                    app: app, notificationUUID: "0d3cd8c4-0000-4000-8000-000000000001",
                    notificationType: "DID_RENEW", subtype: nil, signedDate: started,
                    originalTransactionID: "2000000000000001", attempts: 6,
                    lastAttemptResult: "TIMED_OUT", verdict: "missed",
                    evidence: EvidenceDigest(hexadecimal: digest))
            ],
            entitlements: [
                EntitlementChange(
                    bundleID: app.bundleID, environment: app.environment.rawValue,
                    customerID: "=customer-1", entitlement: "pro", isNew: false, wasUntil: nil,
                    until: started, graceUntil: nil, originalTransactionID: "2000000000000001",
                    productID: "gold.monthly", willRenew: false, asOf: started,
                    ownership: "PURCHASED"),
                EntitlementChange(
                    bundleID: app.bundleID, environment: app.environment.rawValue,
                    customerID: "customer-2", entitlement: "pro", isNew: true, wasUntil: nil,
                    until: nil, graceUntil: nil, originalTransactionID: "2000000000000002",
                    productID: "gold.life", willRenew: nil, asOf: nil, ownership: nil),
            ],
            unowned: unowned,
            evidence: [
                SignedPayload(
                    digest: EvidenceDigest(hexadecimal: try sha256("a.b.c")), jws: "a.b.c")
            ])
    }

    private static var unowned: [UnownedPurchase] {
        var changed = UnownedPurchase(
            bundleID: app.bundleID, environment: app.environment.rawValue,
            originalTransactionID: "2000000000000001", reason: .tokenChanged)
        changed.productID = "gold.monthly"
        changed.customerID = "=customer-1"
        changed.appAccountToken = "token-1"
        changed.appleAccountToken = "token-2"
        changed.speaksFor = "customer-2"
        changed.because = .sameToken
        changed.evidence = EvidenceDigest(hexadecimal: digest)
        var coins = UnownedPurchase(
            bundleID: app.bundleID, environment: app.environment.rawValue,
            originalTransactionID: "2000000000000090", reason: .noToken)
        coins.transactionID = "2000000000000091"
        return [changed, coins]
    }

    /// The plan of a run as the store would have sealed it, made by a check before it.
    static func seal(of run: StoredRun) throws -> PlanSeal {
        let head = PlanHead(
            database: String(repeating: "d0", count: 16), plannedBy: "the-check", job: "nightly",
            scope: [])
        let lines = [head.canonical] + run.planned.map { .object($0.0.planMembers) }
        return PlanSeal(
            sha256: try sha256(lines.map { $0.rendered + "\n" }.joined()), head: head,
            changes: run.planned.count)
    }

    static let context = ReportContext(
        toolVersion: "1.0.0", apps: [ReportedApp(identity: app, appAppleID: 1_234_567_890)],
        trustedRoots: [TrustedRoot(fingerprint: digest, isApple: true, certificatePEM: nil)],
        isPlanOnly: false, shownDirectory: "reports")

    /// The same with another root beside Apple's.
    static var rehearsal: ReportContext {
        var context = context
        context.trustedRoots.append(
            TrustedRoot(fingerprint: renewalDigest, isApple: false, certificatePEM: "PEM\n"))
        return context
    }
}
