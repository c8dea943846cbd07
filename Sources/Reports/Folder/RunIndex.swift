import Subscriptions

/// `index.csv` of the report folder: a line per run, and the end of the chain of manifests.
///
/// A run that was killed after its folder got its final name stands on the disk but not in the
/// index. Such folders are taken up from their manifests, so that neither the index nor the chain
/// gets a hole; a lost index is made anew the same way. A line that was cut is replaced by that of its
/// manifest; where the run's folder is gone, too, the line is set aside.
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

    /// Reads the index and takes up complete folders that it lacks.
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
                        + "it is made anew from the manifests")
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

    /// Writes the new index beside the old one.
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
            if folders.count == 1, let stored = manifest(in: folders[0]) {
                return append(stored.line)
            }
            // Perhaps only its end was lost.
            if isWhole { return keep(line) }
            // A part of a run's id tells nothing: the runs that it may be of are taken up by themselves.
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

    /// The folders of the runs whose line may have been cut: the run's id begins it, or is cut itself.
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

    private func manifest(in folder: String) -> StoredManifest? {
        StoredManifest(
            folder: folder,
            bytes: FileSystem.contents(of: directory + "/" + folder + "/" + ReportFile.manifest))
    }

    /// Follows the chain of manifests from the last listed run; where it breaks off, the order of run ids.
    private mutating func takeUpUnlisted() {
        var unlisted = runFolders.filter { !folders.contains($0) }.compactMap(manifest)
        while !unlisted.isEmpty {
            let next = unlisted.firstIndex { $0.previous == newestManifest } ?? 0
            append(unlisted.remove(at: next).line)
        }
    }
}

extension RunIndex {
    /// What `index.csv` says of one run; all of it stands in the run's manifest too.
    struct Line {
        var runID: String
        /// From the report folder, for example `2026-11-20/20261120T031704Z-7f3c9a`.
        var folder: String
        var manifestDigest: String
        var job: String
        var mode: String
        var started: String
        var ended: String
        var exitStatus: Int64
        var outcome: String
        var inScope: Int
        var matched: Int
        var discrepant: Int
        var undecided: Int
        var excluded: Int
        var findings: Int
        var correctionsApplied: Int
        /// Every narrowing in words; empty when the whole job ran.
        var scope: [String]
        var toolVersion: String

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
            ("run_id", { .own($0.runID) }),
            ("folder", { .own($0.folder) }),
            ("manifest_sha256", { .own($0.manifestDigest) }),
            ("job", { .text($0.job) }),
            ("mode", { .own($0.mode) }),
            ("started", { .own($0.started) }),
            ("ended", { .own($0.ended) }),
            ("exit_status", { .integer($0.exitStatus) }),
            ("outcome", { .own($0.outcome) }),
            ("in_scope", { Cell($0.inScope) }),
            ("matched", { Cell($0.matched) }),
            ("discrepant", { Cell($0.discrepant) }),
            ("undecided", { Cell($0.undecided) }),
            ("excluded", { Cell($0.excluded) }),
            ("findings", { Cell($0.findings) }),
            ("corrections_applied", { Cell($0.correctionsApplied) }),
            ("scope", { .text($0.scope.joined(separator: "; ")) }),
            ("tool_version", { .text($0.toolVersion) }),
        ])
    }
}

extension RunIndex.Line {
    init(folder: String, manifestDigest: String, summary: RunSummary, toolVersion: String) {
        self.init(
            runID: summary.header.runID, folder: folder, manifestDigest: manifestDigest,
            job: summary.header.job, mode: summary.header.mode.rawValue,
            started: summary.header.started.rfc3339, ended: summary.conclusion.ended.rfc3339,
            exitStatus: Int64(summary.conclusion.exitStatus.code),
            outcome: summary.conclusion.exitStatus.name, inScope: summary.totals.inScope,
            matched: summary.totals.matched, discrepant: summary.totals.discrepant,
            undecided: summary.totals.undecidedCount, excluded: summary.totals.excludedCount,
            findings: summary.findings.reduce(0) { $0 + $1.findings },
            correctionsApplied: summary.corrections[.applied] ?? 0,
            scope: summary.header.narrowing, toolVersion: toolVersion)
    }
}
