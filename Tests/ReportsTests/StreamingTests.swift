import Foundation
import Reports
import Subscriptions
import Synchronization
import Testing

@Suite struct `A report of very many findings` {
    /// Makes findings as they are asked for, and looks how far the file has come meanwhile.
    final class Flood: RunRecord {
        let count: Int
        let file: String
        /// Findings handed over and bytes in the file at that moment.
        let progress = Mutex<[(findings: Int, bytes: Int)]>([])

        init(count: Int, file: String) {
            self.count = count
            self.file = file
        }

        func summary() throws -> RunSummary { Samples.summary() }

        func forEachFinding(_ body: (ReportedFinding) throws -> Void) throws {
            var reported = Samples.bareFinding
            for number in 0..<count {
                // All of one length, so that all lines are.
                reported.findingID = String(1_000_000 + number)
                try body(reported)
                guard number % 5_000 == 0 else { continue }
                let attributes = try? FileManager.default.attributesOfItem(atPath: file)
                let bytes = (attributes?[.size] as? Int) ?? 0
                progress.withLock { $0.append((number + 1, bytes)) }
            }
        }

        func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws {}
        func forEachEvidencedCorrection(
            where isNeeded: (LedgerEntry) -> Bool, _ body: (ReportedCorrection) throws -> Void
        ) throws -> Int { 0 }
        func forEachPlanned(_ body: (PlannedCorrection, CorrectionFate) throws -> Void) throws {}
        func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws {}
        func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws {}
        func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws {}
        func forEachEntitlementChange(_ body: (EntitlementChange) throws -> Void) throws {}
        func forEachUnowned(_ body: (UnownedPurchase) throws -> Void) throws {}
        func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws {}
        func forEachEarlierRun(
            since first: Timestamp, _ body: (EarlierRun) throws -> Void
        ) throws {}
    }

    @Test func `is written while it is read, a buffer's worth behind`() throws {
        let folder = try TemporaryFolder()
        let report = try ReportFolder.begin(
            in: folder.path, runID: Samples.header().runID, started: Samples.started)
        let file = report.logPath.replacing("run.log.jsonl", with: "discrepancies.jsonl")
        let flood = Flood(count: 50_000, file: file)
        let finished = try report.finish(flood, context: Samples.context)
        let counted = try shell(
            "wc -l < discrepancies.jsonl; wc -l < discrepancies.csv; wc -c < discrepancies.jsonl",
            in: finished.path)
        let numbers = counted.output.split(separator: "\n").compactMap { Int($0) }
        try #require(numbers.count == 3)
        #expect(numbers[0] == 50_000)
        #expect(numbers[1] == 50_001)
        let lineBytes = numbers[2] / 50_000
        // The first pass over the findings is that of report.html, the second that of
        // discrepancies.jsonl.
        let progress = flood.progress.withLock { $0.dropFirst(10).prefix(10) }
        for (findings, bytes) in progress {
            #expect(findings * lineBytes - bytes <= OutputFile.bufferBytes + lineBytes)
        }
        #expect(progress.count == 10)
    }
}
