import ReportAudit
import SubscriptionStore
import Subscriptions

/// Books of the company's own table that were put back to an earlier state: the corrections since
/// then are taken over from the ledger beside the table, and the reports show what became of them.
///
/// An entry that a report shows is not reported again, and the payloads that it rests on come back
/// from that report. What no report shows is reported by the next run; where its payloads are gone
/// with the books, tombstones say so.
struct BooksBehind {
    private static let entriesPerPage = 100

    let settings: Settings

    /// What was found.
    private struct Counts {
        var shown: ClosedRange<Int64>?
        var lastRun: String?
        var lostPayloads = 0
    }

    /// Notes what reports show of entries that the books do not know to be reported.
    ///
    /// - Parameters:
    ///   - store: The books, which have taken over what the company's ledger has.
    ///   - started: When the run began, by its own clock; `nil` outside of a run.
    /// - Returns: What a run says of it; `nil` where the books lacked nothing.
    /// - Throws: `StoreError` when the books cannot be read or written.
    func catchUp(_ store: SQLiteStore, at started: Timestamp?) async throws -> String? {
        var page = try await store.unreportedEntries(after: nil, limit: Self.entriesPerPage)
        guard let first = page.first?.entry.number else { return nil }
        let head = ReportedLedger.newestHead(in: settings.reportDirectory)
        let shownThrough = try head.flatMap { try store.ledgerEntry(withHash: $0) } ?? 0
        // All reports are read in that case only.
        let reports =
            first <= shownThrough ? try? ReportedLedger(settings.reportDirectory) : nil
        var counts = Counts()
        var noticed = started ?? Timestamp(unixMilliseconds: 0)
        while let last = page.last?.entry.number {
            // Not before a correction was written: then its payload was still there. And by no other
            // clock than the run's, whose report is held against it.
            noticed = page.map(\.entry.writtenAt).reduce(noticed, max)
            let time = noticed
            let recovered = page.compactMap { unreported in
                let shown = unreported.entry.number <= shownThrough
                return recover(unreported, from: shown ? reports : nil, at: time, &counts)
            }
            if !recovered.isEmpty { try await store.keep(recovered) }
            page = try await store.unreportedEntries(after: last, limit: Self.entriesPerPage)
        }
        try await store.noteDeclarationsShown()
        return notice(of: counts)
    }

    /// What is known of an entry; `nil` where there is nothing to keep.
    ///
    /// `reports` are given for an entry up to which all were reported.
    private func recover(
        _ unreported: UnreportedEntry, from reports: ReportedLedger?, at time: Timestamp,
        _ counts: inout Counts
    ) -> RecoveredEntry? {
        let entry = unreported.entry
        guard reports != nil || !unreported.lacking.isEmpty else { return nil }
        let shower = reports?.shower(ofEntry: entry.number, hash: entry.hash)
        // A report that retention has removed was most likely that of the run that wrote it.
        var recovered = RecoveredEntry(
            entry: entry, shownBy: reports == nil ? nil : shower?.runID ?? entry.runID)
        if reports != nil {
            let start = counts.shown?.lowerBound ?? entry.number
            counts.shown = start...max(start, entry.number)
            counts.lastRun = shower?.runID ?? counts.lastRun
        }
        for digest in unreported.lacking {
            let found = shower.flatMap { reports?.payload(digest.hexadecimal, shownBy: $0) }
            switch found {
            case .jws(let jws): recovered.payloads.append(SignedPayload(digest: digest, jws: jws))
            case .erased(let time): recovered.tombstones.append(tombstone(digest, at: time))
            case nil:
                counts.lostPayloads += 1
                recovered.tombstones.append(tombstone(digest, at: time))
            }
        }
        return recovered
    }

    private func tombstone(_ digest: EvidenceDigest, at time: Timestamp) -> EvidenceTombstone {
        EvidenceTombstone(digest: digest, erasedAt: time, reason: SQLiteStore.lostEvidence)
    }

    private func notice(of counts: Counts) -> String? {
        let lost =
            counts.lostPayloads == 0
            ? ""
            : " \(counts.lostPayloads) of the signed payloads that taken-over corrections rest on "
                + "are gone with the books and stand in no report: \"trueup verify\" counts them "
                + "as erased."
        guard let shown = counts.shown else {
            return lost.isEmpty
                ? nil
                : "The books \(settings.booksURL) were behind the ledger beside your table: an "
                    + "earlier state of them was put back.\(lost)"
        }
        let entries =
            shown.count == 1
            ? "entry \(shown.lowerBound) of the ledger"
            : "entries \(shown.lowerBound) to \(shown.upperBound) of the ledger"
        let through = counts.lastRun.map { ", the last one that of run \($0)" } ?? ""
        return
            "The books \(settings.booksURL) were behind: an earlier state of them was put back. "
            + "\(shown.count == 1 ? "1 correction" : "\(shown.count) corrections") (\(entries)) "
            + "stood in the ledger beside your table and in reports\(through), and were taken over "
            + "from there. They are not reported again.\(lost) Findings and notifications that the "
            + "books had noted since are found anew; acknowledge again what was acknowledged since."
    }
}

/// Entries of the ledger as the reports show them; the reports are read with the first question.
final class ShownEntries {
    private let directory: String
    private lazy var ledger = try? ReportedLedger(directory)

    init(directory: String) { self.directory = directory }

    func line(ofEntry number: Int64) -> String? { ledger?.line(ofEntry: number) }
}
