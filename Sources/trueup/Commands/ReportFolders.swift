import Reports
import Subscriptions

/// The report folders of several workers, shown as one: `--reports DIR` of `trueup report night`.
struct ReportFolders {
    private let directories: [String]

    init(_ directories: [String]) { self.directories = directories }

    /// The runs of a UTC day in all of them; a folder that is named twice is read once.
    ///
    /// - Parameter day: As `yyyy-MM-dd`.
    /// - Returns: The runs in the order in which they began, and what could not be read.
    /// - Throws: 69 where nothing could be read, 64 where no run began.
    func night(_ day: String) throws(CommandFailure) -> (summary: NightSummary, isWhole: Bool) {
        let paths = directories.map(FileSystemFacts.realPath).uniqued()
        let nights = paths.map { StoredNight(of: day, in: $0) }
        let gaps = nights.flatMap(\.gaps)
        let gap =
            gaps.isEmpty
            ? nil
            : "Runs may be missing: " + gaps.prefix(3).joined(separator: " ")
                + (gaps.count > 3 ? " And \(gaps.count - 3) more." : "")
        var runs = nights.flatMap(\.runs).map { NightSummary.Run($0) }
        guard !runs.isEmpty else {
            if let gap { throw CommandFailure(.unavailable, gap) }
            throw CommandFailure(
                .usage,
                "No run of these report folders began on \(day) (UTC): "
                    + paths.map(PlainText.of).joined(separator: ", "))
        }
        runs.sort {
            ($0.listing.started, $0.listing.runID) < ($1.listing.started, $1.listing.runID)
        }
        return (NightSummary(day: day, runs: runs, gap: gap), gap == nil)
    }
}
