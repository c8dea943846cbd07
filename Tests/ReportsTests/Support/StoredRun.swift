import Reports
import Subscriptions

/// A concluded run in memory.
struct StoredRun: RunRecord {
    var runSummary: RunSummary
    var findings: [ReportedFinding] = []
    var corrections: [LedgerEntry] = []
    var planned: [(PlannedCorrection, CorrectionFate)] = []
    var undecided: [UndecidedRow] = []
    var notFound: [NotFoundAccount] = []
    var notifications: [NotificationAudit] = []
    var entitlements: [EntitlementChange] = []
    var unowned: [UnownedPurchase] = []
    var evidence: [SignedPayload] = []
    var earlier: [EarlierRun] = []

    func summary() throws -> RunSummary { runSummary }

    func forEachFinding(_ body: (ReportedFinding) throws -> Void) throws {
        for finding in findings { try body(finding) }
    }

    func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws {
        for entry in corrections { try body(entry) }
    }

    func forEachEvidencedCorrection(
        where isNeeded: (LedgerEntry) -> Bool, _ body: (ReportedCorrection) throws -> Void
    ) throws -> Int {
        func find(_ digest: EvidenceDigest) -> ReportedEvidence? {
            evidence.first { $0.digest == digest }.map { .payload($0) }
        }
        for entry in corrections where !entry.isPlainNewPeriod && isNeeded(entry) {
            guard entry.statedStatus != nil else {
                try body(ReportedCorrection(entry: entry))
                continue
            }
            try body(
                ReportedCorrection(
                    entry: entry, transaction: find(entry.evidence),
                    renewal: entry.evidenceRenewal.flatMap(find)))
        }
        return corrections.count(where: \.isPlainNewPeriod)
    }

    func forEachPlanned(_ body: (PlannedCorrection, CorrectionFate) throws -> Void) throws {
        for (correction, fate) in planned { try body(correction, fate) }
    }

    func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws {
        for row in undecided { try body(row) }
    }

    func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws {
        for account in notFound { try body(account) }
    }

    func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws {
        for notification in notifications { try body(notification) }
    }

    func forEachEntitlementChange(_ body: (EntitlementChange) throws -> Void) throws {
        for change in entitlements { try body(change) }
    }

    func forEachUnowned(_ body: (UnownedPurchase) throws -> Void) throws {
        for purchase in unowned { try body(purchase) }
    }

    func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws {
        for payload in evidence { try body(.payload(payload)) }
    }

    func forEachEarlierRun(since first: Timestamp, _ body: (EarlierRun) throws -> Void) throws {
        for run in earlier where run.started >= first { try body(run) }
    }
}
