import Reports
import SubscriptionStore

/// Finds reports that the database knows to be published and that the report folder does not hold:
/// the folder was deleted, moved, or another one is named by the settings now.
///
/// Retention deletes the oldest reports only, so the newest one tells. Once the run that notices it
/// has published its own report, that one is the newest.
struct EarlierReports {
    /// What the folder lacks.
    struct Missing {
        /// SHA-256 of the newest missing report's manifest, on which the chain goes on; `nil` where
        /// it was published elsewhere and older ones stand here.
        var manifest: String?
        /// What a run says of it.
        var notice: String
    }

    /// How many of the newest runs are looked at: those that were killed before their report was
    /// published have noted none.
    private static let lookedAt = 8

    private let directory: String

    /// - Parameter directory: The report folder of the settings.
    init(in directory: String) { self.directory = directory }

    /// Compares the newest report of the database with the folder.
    ///
    /// - Parameter store: The database, which knows which reports were published.
    /// - Returns: What is missing; `nil` where nothing is, or the database cannot tell.
    /// - Throws: `StoreError` when the database cannot be read.
    func missing(from store: SQLiteStore) throws -> Missing? {
        for (runID, text) in try store.newestReportContexts(Self.lookedAt) {
            guard let context = try? ReportContext(text: text), let manifest = context.manifest
            else { continue }
            return missing(runID, manifest, publishedIn: context.shownDirectory ?? directory)
        }
        return nil
    }

    private func missing(
        _ runID: String, _ manifest: String, publishedIn known: String
    ) -> Missing? {
        guard !ReportFolder.isPublished(runID, in: directory) else { return nil }
        let newest = ReportFolder.newestRun(in: directory)
        // A database that was restored may be behind the reports; runs of one second have no order.
        if let newest, Self.second(of: runID) < Self.second(of: newest) { return nil }
        let place =
            known == directory
            ? "It was published there"
            : "It was published in \(known), which report.directory named then"
        let missing =
            "The database has published the report of run \(runID), and the report folder "
            + "\(directory) does not hold it. \(place). "
        guard let newest else {
            return Missing(
                manifest: manifest,
                notice: missing
                    + "The folder holds no report at all, so the chain of reports begins anew "
                    + "with this run, behind the missing ones: \"trueup verify\" says that older "
                    + "reports were removed, and cannot show what they corrected. Put the missing "
                    + "reports back beside this one (docs/backup.md), or keep the folder that they "
                    + "are in.")
        }
        guard known == directory else {
            return Missing(
                manifest: nil,
                notice: missing
                    + "The chain of reports goes on from the newest one that is here, of run "
                    + "\(newest), as if there had been none between: where a missing report shows "
                    + "corrections, \"trueup verify\" takes the gap in the ledger for tampering. "
                    + "Keep the missing reports where they are.")
        }
        return Missing(
            manifest: manifest,
            notice: missing
                + "The newest one that is there is of run \(newest). The chain of reports goes on "
                + "behind the missing ones, and \"trueup verify\" takes the gap for tampering "
                + "until they stand here again. Put them back beside the others "
                + "(docs/backup.md).")
    }

    /// When a run began, as its id says.
    private static func second(of runID: String) -> Substring { runID.prefix { $0 != "-" } }
}
