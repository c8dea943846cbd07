import Crypto
import FoundationEssentials
package import Subscriptions

/// `index.csv` of the report folder: a line per run, and the end of the chain of manifests.
///
/// A run that was killed after its folder got its final name is on the disk but not in the index.
/// Such folders are adopted from their manifests, so that neither the index nor the chain gets a
/// hole; a lost index is made again the same way. A line that was cut is replaced by that of its
/// manifest; where the run's folder is gone as well, the line is set aside.
struct RunIndex {
    static let fileName = "index.csv"
    /// Where lines are kept that were cut and cannot be made again.
    static let damagedName = "index.csv.damaged"

    private let directory: String
    private var lines: [String] = []
    private(set) var newestManifest: String?
    private var folders: Set<String> = []
    private var damaged: [String] = []

    private init(directory: String) { self.directory = directory }

    /// Reads the index and adopts complete folders that it lacks.
    ///
    /// - Throws: Where it cannot be written later: a run must not learn that at its end.
    static func read(in directory: String) throws(ReportError) -> RunIndex {
        var index = RunIndex(directory: directory)
        let path = directory + "/" + fileName
        for file in [path, index.draftPath] where FileSystem.entry(at: file) == .folder {
            throw .notWritten("\(file) is a folder, in the way of the index; move it away")
        }
        if let bytes = FileSystem.contents(of: path) {
            let text = String(decoding: bytes, as: UTF8.self)
            // Cut in its first line, it holds no run.
            guard
                text.hasPrefix(Line.table.csvHeader)
                    || Line.table.csvHeader.utf8.starts(with: text.utf8)
            else {
                throw .notWritten(
                    "\(path) does not begin with the columns of this version; move it away, "
                        + "it is made again from the manifests")
            }
            let body = text.dropFirst(Line.table.csvHeader.count).split(separator: "\r\n")
            for (place, line) in body.enumerated() {
                let isEnded = place + 1 < body.count || text.hasSuffix("\r\n")
                index.take(up: String(line), isEnded: isEnded)
            }
        }
        index.takeUpUnlisted()
        return index
    }

    mutating func append(_ line: Line) {
        var bytes: [UInt8] = []
        Line.table.appendCSV(line, to: &bytes)
        lines.append(String(decoding: bytes.dropLast(2), as: UTF8.self))
        folders.insert(line.folder)
        newestManifest = line.manifestDigest
    }

    /// Writes the new index next to the old one.
    func writeDraft() throws(ReportError) {
        var file = try OutputFile(creating: draftPath)
        try file.write(Line.table.csvHeader)
        for line in lines { try file.write(line + "\r\n") }
        _ = try file.close(named: Self.fileName)
        guard !damaged.isEmpty else { return }
        let path = directory + "/" + Self.damagedName
        let earlier = FileSystem.contents(of: path) ?? []
        var aside = try OutputFile(creating: path)
        try aside.write(String(decoding: earlier, as: UTF8.self))
        for line in damaged { try aside.write(line + "\r\n") }
        _ = try aside.close(named: Self.damagedName)
    }

    /// Replaces the old index by the draft.
    func publishDraft() throws(ReportError) {
        try FileSystem.rename(draftPath, to: directory + "/" + Self.fileName)
    }

    private var draftPath: String {
        directory + "/" + Self.fileName + ReportFolder.partialSuffix
    }

    /// Keeps a whole line unchanged; its first three fields are never quoted.
    private mutating func take(up line: String, isEnded: Bool) {
        let isWhole = Line.isWhole(line)
        guard isWhole, isEnded else {
            let folders = folders(behind: line)
            if folders.count == 1, let stored = storedLine(of: folders[0]) {
                return append(stored)
            }
            // Perhaps only its end was lost.
            if isWhole { return keep(line) }
            // A part of a run's id tells nothing: the runs that it may be of are adopted by
            // themselves.
            if folders.isEmpty { damaged.append(line) }
            return
        }
        keep(line)
    }

    private mutating func keep(_ line: String) {
        lines.append(line)
        let fields = line.split(separator: ",", maxSplits: 3, omittingEmptySubsequences: false)
        guard fields.count == 4, fields[2].utf8.count == 64 else { return }
        folders.insert(String(fields[1]))
        newestManifest = String(fields[2])
    }

    /// The folders of the runs whose line may have been cut: the run's id begins it, or is cut
    /// itself.
    private func folders(behind line: String) -> [String] {
        let id = line.prefix { $0 != "," }
        return runFolders.filter { folder in
            let run = folder.split(separator: "/").last ?? ""
            return !folders.contains(folder)
                && (line.contains(",") ? run == id : run.hasPrefix(id) || id.hasPrefix(run))
        }
    }

    private var runFolders: [String] {
        FileSystem.names(in: directory).filter(\.isDay).flatMap { day in
            FileSystem.names(in: directory + "/" + day).filter(\.isPlainName).map {
                day + "/" + $0
            }
        }
    }

    private func storedLine(of folder: String) -> Line? {
        FileSystem.contents(of: directory + "/" + folder + "/" + ReportFile.manifest).flatMap {
            Line(folder: folder, manifest: $0)
        }
    }

    /// Follows the chain of manifests from the last listed run.
    ///
    /// Where it breaks off, it goes on with the first run, by its id, whose own chain begins there:
    /// ids are of a clock, which may have been set back.
    private mutating func takeUpUnlisted() {
        var unlisted = runFolders.filter { !folders.contains($0) }.compactMap(storedLine)
        var left = Set(unlisted.map(\.manifestDigest))
        while !unlisted.isEmpty {
            let next =
                unlisted.firstIndex { $0.manifest.previous == newestManifest }
                ?? unlisted.firstIndex { $0.manifest.previous.map(left.contains) != true } ?? 0
            let line = unlisted.remove(at: next)
            left.remove(line.manifestDigest)
            append(line)
        }
    }
}

extension RunIndex {
    /// The line of one run in `index.csv`: what its manifest says.
    struct Line {
        /// From the report folder, for example `2026-11-20/20261120T031704Z-7f3c9a`.
        let folder: String
        let manifestDigest: String
        let manifest: StoredManifest

        /// `nil` where the bytes are not a manifest: `trueup verify` says so, the index does
        /// without.
        init?(folder: String, manifest bytes: [UInt8]) {
            guard
                let manifest = try? JSONDecoder().decode(StoredManifest.self, from: Data(bytes)),
                manifest.runID.isPlainName
            else { return nil }
            self.folder = folder
            manifestDigest = SHA256.hash(data: bytes).hexadecimal
            self.manifest = manifest
        }

        /// Whether a line has each field, and none of them is cut.
        static func isWhole(_ line: String) -> Bool {
            var fields = 1
            var isQuoted = false
            for byte in line.utf8 {
                switch byte {
                case UInt8(ascii: "\""): isQuoted.toggle()
                case UInt8(ascii: ",") where !isQuoted: fields += 1
                default: break
                }
            }
            let digest = line.split(separator: ",", maxSplits: 3, omittingEmptySubsequences: false)
                .dropFirst(2).first
            return !isQuoted && fields == columns && digest?.utf8.count == 64
        }

        private static let columns = table.csvHeader.split(separator: ",").count

        static let table = Table<Line>([
            ("run_id", { .own($0.manifest.runID) }),
            ("folder", { .own($0.folder) }),
            ("manifest_sha256", { .own($0.manifestDigest) }),
            ("job", { .text($0.manifest.job) }),
            ("mode", { .own($0.manifest.mode) }),
            ("started", { .own($0.manifest.started) }),
            ("ended", { .own($0.manifest.ended) }),
            ("exit_status", { .integer($0.manifest.outcome.exitStatus) }),
            ("outcome", { .own($0.manifest.outcome.name) }),
            ("in_scope", { Cell($0.manifest.totals.inScope) }),
            ("matched", { Cell($0.manifest.totals.matched) }),
            ("discrepant", { Cell($0.manifest.totals.discrepant) }),
            ("undecided", { Cell($0.manifest.totals.undecided) }),
            ("excluded", { Cell($0.manifest.totals.excluded) }),
            ("findings", { Cell($0.manifest.findings) }),
            ("corrections_applied", { Cell($0.manifest.correctionsApplied) }),
            ("scope", { .text(($0.manifest.scope ?? []).joined(separator: "; ")) }),
            ("tool_version", { .text($0.manifest.toolVersion) }),
        ])
    }
}

/// A manifest as far as the index needs it.
struct StoredManifest: Decodable {
    let runID: String
    let job: String
    let mode: String
    let started: String
    let ended: String
    let outcome: Outcome
    let totals: Totals
    let findings: Int
    let correctionsApplied: Int
    /// Every filter in words; `nil` when the whole job ran.
    let scope: [String]?
    let toolVersion: String
    let previous: String?

    enum CodingKeys: String, CodingKey {
        case job, mode, started, ended, outcome, totals, findings, scope, previous
        case runID = "run_id"
        case correctionsApplied = "corrections_applied"
        case toolVersion = "tool_version"
    }

    struct Outcome: Decodable {
        let exitStatus: Int64
        let name: String

        enum CodingKeys: String, CodingKey {
            case name
            case exitStatus = "exit_status"
        }
    }

    struct Totals: Decodable {
        let inScope: Int
        let matched: Int
        let discrepant: Int
        let undecided: Int
        let excluded: Int

        enum CodingKeys: String, CodingKey {
            case matched, discrepant, undecided, excluded
            case inScope = "in_scope"
        }
    }
}

/// The runs of one UTC day as a report folder tells them, without the database that they are of.
///
/// It is read from each report's `summary.json` alone and proves nothing: a report is verified for
/// itself. A run that left no report, as one that was killed, is not among them.
package struct StoredDay: Sendable {
    /// Oldest first; the worker of each is its report folder.
    package private(set) var runs: [WorkerRun] = []
    /// The parts that could not be read, a sentence each.
    package private(set) var gaps: [String] = []

    /// - Parameters:
    ///   - day: As `yyyy-MM-dd`.
    ///   - directory: A report folder.
    package init(of day: String, in directory: String) {
        guard let path = FileSystem.realPath(directory), FileSystem.entry(at: path) == .folder
        else {
            gaps = ["\(directory.onOneLine) is not a folder that can be read."]
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
        let outcome: StoredManifest.Outcome
        let totals: StoredManifest.Totals
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

        /// Whether no count is one that a run cannot have: the file is of another machine, and
        /// counts are added.
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

    private struct Money: Decodable {
        let amount: Int64
        let currency: String
        let direction: String
        let findings: Int
    }
}
