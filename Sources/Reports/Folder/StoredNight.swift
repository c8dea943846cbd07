import FoundationEssentials
package import Subscriptions

/// The runs of one UTC day as a report folder tells them, without the database that they are of.
///
/// It is read from each report's `summary.json` alone and proves nothing: a report is verified for
/// itself. A run that left no report, as one that was killed, is not among them.
package struct StoredNight: Sendable {
    /// Oldest first; the worker of each is its report folder.
    package private(set) var runs: [WorkerRun] = []
    /// What could not be read, a sentence each.
    package private(set) var gaps: [String] = []

    /// - Parameters:
    ///   - day: As `yyyy-MM-dd`.
    ///   - directory: A report folder.
    package init(of day: String, in directory: String) {
        guard let path = FileSystem.realPath(directory), FileSystem.entry(at: path) == .folder
        else {
            gaps = ["\(directory.onOneLine) is no folder that can be read."]
            return
        }
        for name in FileSystem.names(in: path + "/" + day) where name.isPlainName {
            let report = "\(path)/\(day)/\(name)"
            guard FileSystem.entry(at: report) == .folder,
                !name.hasSuffix(ReportFolder.partialSuffix)
            else { continue }
            if let run = Self.run(ofReport: report, in: path) {
                runs.append(run)
            } else {
                gaps.append("\(report.onOneLine)/summary.json cannot be read.")
            }
        }
        runs.sort {
            ($0.listing.started, $0.listing.runID) < ($1.listing.started, $1.listing.runID)
        }
    }

    private static func run(ofReport path: String, in directory: String) -> WorkerRun? {
        guard let bytes = FileSystem.contents(of: path + "/" + ReportFile.summaryJSON.name),
            let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)),
            let started = Timestamp(rfc3339: content.started), content.hasPossibleCounts
        else { return nil }
        var totals = RunTotals()
        totals.matched = content.totals.matched
        totals.discrepant = content.totals.discrepant
        for (name, rows) in content.undecided {
            guard let reason = UndecidedReason(rawValue: name) else { return nil }
            totals.undecided[reason] = rows
        }
        for (name, rows) in content.excluded {
            guard let reason = ExclusionReason(rawValue: name) else { return nil }
            totals.excluded[reason] = rows
        }
        let status = ExitStatus.allCases.first { $0.name == content.outcome.name }
        return WorkerRun(
            books: directory, worker: directory,
            apps: content.apps.map { "\($0.app)/\($0.environment.lowercased())" },
            listing: RunListing(
                runID: content.runID, job: content.job,
                mode: RunMode(rawValue: content.mode) ?? .check, started: started,
                ended: Timestamp(rfc3339: content.ended), exitStatus: status, totals: totals),
            report: path, figures: content.sums)
    }

    private struct Content: Decodable {
        let runID: String
        let job: String
        let mode: String
        let started: String
        let ended: String
        let apps: [App]
        let outcome: Outcome
        let totals: Totals
        let undecided: [String: Int]
        let excluded: [String: Int]
        let states: [String: [String: Int]]
        let corrections: [String: Int]
        let money: [Money]

        enum CodingKeys: String, CodingKey {
            case job, mode, started, ended, apps, outcome, totals, corrections, money
            case runID = "run_id"
            case undecided = "undecided_reasons"
            case excluded = "excluded_reasons"
            case states = "finding_states"
        }

        /// Whether no count is one that a run cannot have: the file is of another machine, and counts
        /// are added.
        var hasPossibleCounts: Bool {
            var counts = [totals.matched, totals.discrepant] + money.map(\.findings)
            counts += undecided.values
            counts += excluded.values
            counts += corrections.values
            for states in states.values { counts += states.values }
            return counts.allSatisfy((0...1_000_000_000_000).contains)
        }

        var sums: RunSums {
            RunSums(
                corrected: corrections[CorrectionFate.applied.rawValue] ?? 0,
                open: count(of: WorstFindings.openStates), new: count(of: [.new]),
                money: money.compactMap { total in
                    Direction(rawValue: total.direction).map {
                        MoneyTotal(
                            currency: total.currency, direction: $0, amount: total.amount,
                            findings: total.findings)
                    }
                })
        }

        private func count(of wanted: Set<FindingState>) -> Int {
            states.values.flatMap(\.self).filter { state, _ in
                FindingState(rawValue: state).map(wanted.contains) ?? false
            }.reduce(0) { $0.addingReportingOverflow($1.value).partialValue }
        }
    }

    private struct App: Decodable {
        let app: String
        let environment: String
    }

    private struct Outcome: Decodable {
        let name: String
    }

    private struct Totals: Decodable {
        let matched: Int
        let discrepant: Int
    }

    private struct Money: Decodable {
        let amount: Int64
        let currency: String
        let direction: String
        let findings: Int
    }
}
