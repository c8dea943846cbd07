import ReconciliationRun
import Reports
import Subscriptions
import Synchronization

/// A concluded run whose report is written while people watch how many lines are done.
final class WatchedRecord: RunRecord {
    private let record: any RunRecord
    private let show: @Sendable (RunProgress) -> Void
    private let done = Atomic<Int>(0)
    private let total: Int

    /// One look at the clock for so many lines.
    private static let linesBetweenLooks = 500
    /// How many files have a line for each correction: list, table, statuses, undo and page.
    private static let filesOfCorrections = 5
    /// How many have one for each finding: list, table, workbook and page.
    private static let filesOfFindings = 4

    /// - Parameters:
    ///   - record: The run.
    ///   - show: Takes how far the report is.
    /// - Throws: What reading the record throws.
    init(
        _ record: any RunRecord, _ show: @escaping @Sendable (RunProgress) -> Void
    ) throws {
        self.record = record
        self.show = show
        let summary = try record.summary()
        let findings = summary.findings.reduce(0) { $0 + $1.findings }
        total =
            Self.filesOfCorrections * (summary.corrections[.applied] ?? 0)
            + summary.corrections.values.reduce(0, +) + Self.filesOfFindings * findings
            + summary.evidence.statements
        show(RunProgress(stage: .report, done: 0, total: total))
    }

    private func count(_ more: Int = 1) {
        let (before, lines) = done.add(more, ordering: .relaxed)
        guard before / Self.linesBetweenLooks < lines / Self.linesBetweenLooks else { return }
        show(RunProgress(stage: .report, done: lines, total: max(lines, total)))
    }

    private func counted<Line>(_ line: Line, _ body: (Line) throws -> Void) rethrows {
        try body(line)
        count()
    }

    func summary() throws -> RunSummary { try record.summary() }

    func forEachFinding(_ body: (ReportedFinding) throws -> Void) throws {
        try record.forEachFinding { try counted($0, body) }
    }

    func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws {
        try record.forEachCorrection { try counted($0, body) }
    }

    func forEachEvidencedCorrection(
        where isNeeded: (LedgerEntry) -> Bool, _ body: (ReportedCorrection) throws -> Void
    ) throws -> Int {
        let newPeriods = try record.forEachEvidencedCorrection(
            where: {
                count()
                return isNeeded($0)
            }, body)
        count(newPeriods)
        return newPeriods
    }

    func forEachPlanned(_ body: (PlannedCorrection, CorrectionFate) throws -> Void) throws {
        try record.forEachPlanned {
            try body($0, $1)
            count()
        }
    }

    func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws {
        try record.forEachUndecided(body)
    }

    func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws {
        try record.forEachNotFound(body)
    }

    func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws {
        try record.forEachNotification(body)
    }

    func forEachEntitlementChange(_ body: (EntitlementChange) throws -> Void) throws {
        try record.forEachEntitlementChange { try counted($0, body) }
    }

    func forEachUnowned(_ body: (UnownedPurchase) throws -> Void) throws {
        try record.forEachUnowned { try counted($0, body) }
    }

    func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws {
        try record.forEachEvidence { try counted($0, body) }
    }

    func forEachEarlierRun(
        since first: Timestamp, _ body: (EarlierRun) throws -> Void
    ) throws {
        try record.forEachEarlierRun(since: first, body)
    }
}
