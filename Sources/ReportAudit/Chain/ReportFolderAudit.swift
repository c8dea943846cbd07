import Subscriptions

/// Audits a report folder: each run, the chain from run to run, the index and the link `latest`.
struct ReportFolderAudit {
    static let latest = "latest"
    private static let secondsPerDay: Int64 = 24 * 60 * 60
    /// The files of a report folder besides the runs.
    private static let own: Set<String> = [IndexFile.name, latest, DatabaseNote.name, ".lock"]

    private let directory: String
    private let names: [String]
    private let anchors: [String]
    private let database: DatabaseReading?
    private var result = AuditResult(isWholeFolder: true)

    init(directory: String, names: [String], anchors: [String], database: DatabaseReading?) {
        self.directory = directory
        self.names = names
        self.anchors = anchors
        self.database = database
    }

    mutating func audit(
        trust: AuditTrust, _ perRun: (RunAudit) throws -> Void
    ) async throws -> AuditResult {
        let folders = runFolders()
        var readable: [RunChain.Link] = []
        var broken: [RunAuditor] = []
        for folder in folders {
            let auditor = RunAuditor(path: directory + "/" + folder, folder: folder)
            if let manifest = auditor.manifest {
                readable.append(RunChain.Link(folder: folder, manifest: manifest))
            } else {
                broken.append(auditor)
            }
        }
        guard !folders.isEmpty || names.contains(IndexFile.name) else {
            throw AuditFailure.noReport("\(directory) holds no complete run")
        }
        let index = readIndex()
        let chain = RunChain(readable, index: index)
        for problem in chain.problems {
            result.add(
                AuditProblem(run: problem.folder, file: FileCheck.manifest, text: problem.text))
        }
        checkPlaces(chain)
        noteFront(chain, index)
        checkIndex(index, chain, broken.map(\.folder))
        checkLatest(chain)
        for problem in DatabaseNote.problems(in: directory, chain) { result.add(problem) }
        var trail = LedgerTrail()
        var known: [String?] = [chain.links.first?.manifest.previous]
        var apps = KnownApps(startingWith: chain.links.first?.manifest)
        for auditor in broken {
            try take(await auditor.audit(trust: trust, apps: apps, trail: &trail), perRun)
        }
        let breaks = chain.links.flatMap(\.manifest.breaks)
        trail = LedgerTrail(declared: breaks)
        for link in chain.links {
            let auditor = RunAuditor(path: directory + "/" + link.folder, folder: link.folder)
            apps.add(link.manifest)
            let run = await auditor.audit(trust: trust, apps: apps, trail: &trail)
            known += [run.manifestDigest, run.ledgerHead]
            result.newest = run
            try take(run, perRun)
        }
        known.append(trail.firstPrevious)
        tell(of: breaks, trail, isFromTheBeginning: chain.links.first?.manifest.previous == nil)
        if let database {
            try result.take(
                LedgerCheck(trail: trail, head: result.newest?.ledgerHead, isWholeFolder: true)
                    .check(database.ledger))
            result.take(try DecisionCheck.check(database))
        }
        result.check(anchors: anchors, known: Set(known.compactMap(\.self)))
        return result
    }

    /// Reports declared breaks, and those that the reports do not show.
    private mutating func tell(
        of breaks: [DeclaredBreak], _ trail: LedgerTrail, isFromTheBeginning: Bool
    ) {
        result.breaks = breaks
        result.notes += breaks.map(\.description)
        guard isFromTheBeginning else { return }
        for unmet in trail.declared {
            add(
                nil,
                "the run \(unmet.runID) declares that the ledger went back to entry "
                    + "\(unmet.keptEntry), but the reports do not show that")
        }
    }

    private mutating func take(_ run: RunAudit, _ perRun: (RunAudit) throws -> Void) throws {
        result.take(run)
        try perRun(run)
    }

    private mutating func add(_ file: String?, line: Int? = nil, _ text: String) {
        result.add(AuditProblem(file: file, line: line, text: text))
    }

    /// The folders of complete runs; other files are noted.
    private mutating func runFolders() -> [String] {
        var folders: [String] = []
        for day in names where !Folder.isPartial(day) {
            guard Folder.isDay(day) else {
                if !Self.own.contains(day) {
                    result.notes.append("\(day) is no part of the reports")
                }
                continue
            }
            guard Folder.entry(at: directory + "/" + day) == .folder,
                let runs = Folder.names(in: directory + "/" + day)
            else {
                add(day, "it is no folder that can be read, but stands where a day's runs do")
                continue
            }
            for run in runs where !Folder.isPartial(run) {
                let folder = day + "/" + run
                switch Folder.entry(at: directory + "/" + folder) {
                case .folder: folders.append(folder)
                case .link: add(folder, "it is a link, not the folder of a run")
                default: result.notes.append("\(folder) is no part of the reports")
                }
            }
        }
        return folders
    }

    private mutating func readIndex() -> IndexFile? {
        do throws(UnreadableFile) {
            return try IndexFile(directory + "/" + IndexFile.name)
        } catch {
            // A run killed at its last step leaves its index as a draft.
            if names.contains(IndexFile.name + ".partial"), !names.contains(IndexFile.name) {
                return nil
            }
            add(IndexFile.name, "it cannot be read: \(error.reason)")
            return nil
        }
    }

    /// Checks that each folder is named after its run and is below the day on which the run began.
    private mutating func checkPlaces(_ chain: RunChain) {
        for link in chain.links {
            let expected = link.manifest.started.utcDay + "/" + link.manifest.runID
            if !link.folder.isSame(as: expected) {
                add(link.folder, "the run in it belongs into \(expected): it was moved or renamed")
            }
        }
        for reversal in chain.reversals {
            result.notes.append(
                "\(reversal.folder) began before \(reversal.before), the run that it follows: the "
                    + "clock was set back")
        }
    }

    /// Says which runs are missing at the front, and whether the retention that the newest run
    /// recorded is the reason.
    ///
    /// Who removed them is nowhere recorded: what is older than the retention may have been removed
    /// by hand, too.
    private mutating func noteFront(_ chain: RunChain, _ index: IndexFile?) {
        guard let first = chain.links.first, let previous = first.manifest.previous,
            let newest = chain.links.last
        else { return }
        let lines = index?.lines ?? []
        let end = lines.firstIndex { $0.folder == first.folder } ?? 0
        let removed = lines[..<end]
        let compared: String
        if let seconds = newest.manifest.record.integer("retention_seconds") {
            let days = seconds / Self.secondsPerDay
            let kept = days == 1 ? "1 day" : "\(days) days"
            let (span, isPast) = seconds.multipliedReportingOverflow(by: 1000)
            let limit = newest.manifest.started.adding(milliseconds: isPast ? .min : -span)
            let began = removed.map { Timestamp(rfc3339: $0.fields["started"] ?? "") }
            let younger = began.count { $0.map { $0 >= limit } ?? true }
            compared =
                if removed.isEmpty {
                    "\(IndexFile.name) no longer lists them, so that their age cannot be compared "
                        + "with the retention of \(kept) that the newest run recorded"
                } else if younger == 0 {
                    "all \(removed.count) are older than the retention of \(kept) that the newest "
                        + "run recorded"
                } else {
                    "\(younger) of \(removed.count) are younger than the retention of \(kept) that "
                        + "the newest run recorded: these were removed by hand"
                }
        } else {
            compared = "the newest run recorded no retention to compare with"
        }
        result.notes.append(
            "older runs were removed from the front, by retention or by hand: the chain begins "
                + "with \(first.folder), which follows the manifest \(previous); \(compared)")
    }

    private mutating func checkIndex(
        _ index: IndexFile?, _ chain: RunChain, _ broken: [String]
    ) {
        let lines = index?.lines ?? []
        for column in index?.missing ?? [] {
            add(IndexFile.name, line: 1, "the column \(column) was taken out")
        }
        if let unknown = index?.unknown, !unknown.isEmpty {
            result.notes.append(
                "\(IndexFile.name) has columns that no manifest vouches for: "
                    + unknown.joined(separator: ", "))
        }
        let places = Dictionary(
            chain.links.enumerated().map { ($0.element.folder, $0.offset) }
        ) { first, _ in first }
        var listed: Set<String> = []
        var last = -1
        for line in lines {
            if !listed.insert(line.folder).inserted {
                add(IndexFile.name, line: line.number, "\(line.folder) stands twice")
                continue
            }
            guard let place = places[line.folder] else {
                guard !broken.contains(line.folder) else { continue }
                if last >= 0 || chain.links.isEmpty {
                    add(
                        IndexFile.name, line: line.number,
                        "the run \(line.folder) was deleted, but not from the front of the chain")
                }
                continue
            }
            if place < last {
                add(
                    IndexFile.name, line: line.number,
                    "\(line.folder) is not where the chain of manifests has it")
            }
            last = max(last, place)
            if let column = IndexFile.otherColumn(line, chain.links[place].manifest) {
                add(
                    IndexFile.name, line: line.number,
                    "its \(column) is not what the manifest of \(line.folder) says")
            }
        }
        checkFront(lines, chain, places)
        checkUnlisted(chain, listed, isReadable: index != nil)
    }

    /// Checks that the oldest existing run follows the last deleted run in the index.
    private mutating func checkFront(
        _ lines: [IndexFile.Line], _ chain: RunChain, _ places: [String: Int]
    ) {
        guard let first = chain.links.first,
            let start = lines.firstIndex(where: { $0.folder == first.folder })
        else { return }
        let before = start > 0 ? lines[start - 1] : nil
        if let before, places[before.folder] == nil,
            before.manifestDigest != first.manifest.previous
        {
            add(
                IndexFile.name, line: before.number,
                "\(first.folder) does not follow the manifest of \(before.folder)")
        }
    }

    /// Only the newest run may be missing from the index, and only if the draft of the index has
    /// it.
    private mutating func checkUnlisted(
        _ chain: RunChain, _ listed: Set<String>, isReadable: Bool
    ) {
        let draft = try? IndexFile(directory + "/" + IndexFile.name + ".partial")
        for (place, link) in chain.links.enumerated() where !listed.contains(link.folder) {
            let isDrafted =
                draft?.lines.contains {
                    $0.folder == link.folder && $0.manifestDigest == link.manifest.digest
                } ?? false
            if isDrafted, place == chain.links.count - 1 {
                result.notes.append(
                    "\(link.folder) is not in \(IndexFile.name) yet: its run was stopped at the "
                        + "last step; the next run mends it")
            } else if isReadable || chain.links.count > 1 {
                add(IndexFile.name, "the run \(link.folder) is not listed")
            }
        }
    }

    private mutating func checkLatest(_ chain: RunChain) {
        guard let newest = chain.links.last else { return }
        let path = directory + "/" + Self.latest
        if Folder.entry(at: path) == .folder { return checkCopy(of: newest, at: path) }
        guard Folder.entry(at: path) == .link, let target = Folder.target(ofLinkAt: path) else {
            add(Self.latest, "there is no link to the newest run, \(newest.folder)")
            return
        }
        if !target.isSame(as: newest.folder) {
            add(Self.latest, "it points to \(target), the newest run is \(newest.folder)")
        }
    }

    /// Who copies a report folder to where links cannot stand gets a copy of the newest run in its place.
    private mutating func checkCopy(of newest: RunChain.Link, at path: String) {
        guard let seal = try? FileSeal.ofFile(at: path + "/" + FileCheck.manifest),
            seal.sha256 == newest.manifest.digest
        else {
            add(
                Self.latest,
                "it is a folder, and no copy of the newest run, \(newest.folder)")
            return
        }
        var problems: [(file: String, text: String)] = []
        FileCheck(folder: path, manifest: newest.manifest).check { problems.append(($0, $1)) }
        for (file, text) in problems { add(Self.latest + "/" + file, text) }
        guard problems.isEmpty else { return }
        result.notes.append(
            "\(Self.latest) is a copy of \(newest.folder) and no link to it: the folder was copied "
                + "without links")
    }
}
