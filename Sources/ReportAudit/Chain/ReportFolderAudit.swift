import JSONWebSignature
import Subscriptions

/// Audits a report folder: each run, the chain from run to run, the index and the link `latest`.
struct ReportFolderAudit {
    static let latest = "latest"
    private static let secondsPerDay: Int64 = 24 * 60 * 60
    /// The files of a report folder besides the runs; reports of comparisons are a chain of their own, and
    /// name the sales reports that they read with their digests.
    private static let own: Set<String> = [
        IndexFile.name, latest, databaseNote, ".lock", CompareCheck.folderName,
        "sales-reports",
    ]

    let directory: String
    /// The names in the folder.
    let names: [String]
    let anchors: [String]
    let database: DatabaseReading?
    let progress: AuditProgress
    private(set) var result = AuditResult(isWholeFolder: true)

    mutating func audit(
        trust: AuditTrust, _ perRun: (RunAudit) throws -> Void
    ) async throws -> AuditResult {
        let folders = runFolders()
        var readable: [RunChain.Link] = []
        var broken: [RunAuditor] = []
        for folder in folders {
            let auditor = RunAuditor(
                path: directory + "/" + folder, folder: folder, progress: progress)
            if let manifest = auditor.manifest {
                readable.append((folder, manifest))
            } else {
                broken.append(auditor)
            }
        }
        guard !folders.isEmpty || names.contains(IndexFile.name) else {
            throw AuditFailure.noReport("\(directory) holds no complete run")
        }
        let index = readIndex()
        let chain = RunChain(readable, index: index)
        progress.begin(
            chain.links.reduce(0) {
                $0.addingReportingOverflow($1.manifest.auditedLines).partialValue
            })
        for problem in chain.problems {
            result.add(FileCheck.manifest, of: problem.folder, problem.text)
        }
        checkPlaces(chain)
        noteFront(chain, index)
        checkIndex(index, chain, broken.map(\.folder))
        checkLatest(chain)
        checkDatabase(chain)
        var trail = LedgerTrail()
        var known: [String?] = [chain.links.first?.manifest.previous]
        var apps = KnownApps(startingWith: chain.links.first?.manifest)
        for auditor in broken {
            try take(await auditor.audit(trust: trust, apps: apps, trail: &trail), perRun)
        }
        let breaks = chain.links.flatMap(\.manifest.breaks)
        trail = LedgerTrail(declared: breaks)
        for link in chain.links {
            let auditor = RunAuditor(
                path: directory + "/" + link.folder, folder: link.folder, progress: progress)
            apps.add(link.manifest)
            let run = await auditor.audit(trust: trust, apps: apps, trail: &trail)
            known += [run.manifestDigest, run.ledgerHead]
            result.newest = run
            try take(run, perRun)
        }
        known.append(trail.firstPrevious)
        tell(of: breaks, trail, isFromTheBeginning: chain.links.first?.manifest.previous == nil)
        if let database { try result.check(database, against: trail) }
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
        result.add(file, line: line, text)
    }

    /// The folders of complete runs; other files are noted.
    private mutating func runFolders() -> [String] {
        var folders: [String] = []
        for day in names where !Folder.isPartial(day) {
            guard Folder.isDay(day) else {
                if !Self.own.contains(day) {
                    result.notes.append("\(day) is not part of the reports")
                }
                continue
            }
            guard Folder.entry(at: directory + "/" + day) == .folder,
                let runs = Folder.names(in: directory + "/" + day)
            else {
                add(day, "it is not a folder that can be read, but has the name of a day's folder")
                continue
            }
            for run in runs where !Folder.isPartial(run) {
                let folder = day + "/" + run
                switch Folder.entry(at: directory + "/" + folder) {
                case .folder: folders.append(folder)
                case .link: add(folder, "it is a link, not the folder of a run")
                default: result.notes.append("\(folder) is not part of the reports")
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
    /// by hand as well.
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
                add(IndexFile.name, line: line.number, "\(line.folder) is listed twice")
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
                        + "last step; the next run adds it")
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

    /// Who copies a report folder to where links cannot stand gets a copy of the newest run in its
    /// place.
    private mutating func checkCopy(of newest: RunChain.Link, at path: String) {
        guard let seal = try? FileSeal.ofFile(at: path + "/" + FileCheck.manifest),
            seal.sha256 == newest.manifest.digest
        else {
            add(
                Self.latest,
                "it is a folder, but not a copy of the newest run, \(newest.folder)")
            return
        }
        var problems: [(file: String, text: String)] = []
        FileCheck(folder: path, manifest: newest.manifest).check { problems.append(($0, $1)) }
        for (file, text) in problems { add(Self.latest + "/" + file, text) }
        guard problems.isEmpty else { return }
        result.notes.append(
            "\(Self.latest) is a copy of \(newest.folder), not a link to it: the folder was copied "
                + "without links")
    }
}

/// `index.csv` of the report folder: a line per run, deleted ones included.
struct IndexFile {
    static let name = "index.csv"
    /// Columns that the manifest has under another name or inside an object.
    private static let places: [String: (object: String, member: String)] = [
        "exit_status": ("outcome", "exit_status"), "outcome": ("outcome", "name"),
        "in_scope": ("totals", "in_scope"), "matched": ("totals", "matched"),
        "discrepant": ("totals", "discrepant"), "undecided": ("totals", "undecided"),
        "excluded": ("totals", "excluded"),
    ]
    /// Columns that are not in the manifest.
    private static let own: Set<String> = ["folder", "manifest_sha256"]
    /// Columns that every index has, so that none can be removed to hide its values.
    private static let required = [
        "run_id", "folder", "manifest_sha256", "job", "mode", "started", "ended", "exit_status",
        "outcome", "in_scope", "matched", "discrepant", "undecided", "excluded", "findings",
        "corrections_applied", "scope", "tool_version",
    ]

    typealias Line = (
        number: Int, folder: String, manifestDigest: String, fields: [String: String]
    )

    var lines: [Line] = []
    /// Columns that it lacks.
    let missing: [String]
    /// Columns that this version does not know and cannot check.
    let unknown: [String]

    /// - Throws: When it cannot be read, or a line has no meaning.
    init(_ path: String) throws(UnreadableFile) {
        let file = try CSVRecords(path)
        missing = Self.required.filter { !file.columns.contains($0) }
        unknown = file.columns.filter { !Self.required.contains($0) }
        while let record = try file.next() {
            guard let folder = record["folder"], !folder.isEmpty,
                let digest = record["manifest_sha256"], digest.isDigest
            else { throw UnreadableFile("line \(file.lineNumber) names no folder and manifest") }
            lines.append((file.lineNumber, folder, digest, record.byColumn))
        }
    }

    /// The first column in which a line differs from the manifest of its run.
    static func otherColumn(_ line: Line, _ manifest: ManifestRecord) -> String? {
        if !line.manifestDigest.isSame(as: manifest.digest) { return "manifest_sha256" }
        return line.fields.keys.sorted().first { column in
            guard !own.contains(column), required.contains(column) else { return false }
            let said = line.fields[column] ?? ""
            guard column != "scope" else { return !says(said, scope: manifest.record["scope"]) }
            let value =
                if let place = places[column] {
                    manifest.record.record(place.object)?[place.member]
                } else {
                    manifest.record[column]
                }
            return !said.agrees(with: value)
        }
    }

    /// Whether a field names every filter of a run; it is empty when there is none.
    private static func says(_ field: String, scope: JSONValue?) -> Bool {
        guard let scope, !scope.isNull else { return field.isEmpty }
        let text = scope.elements.compactMap(\.text).joined(separator: "; ")
        return field.agrees(withText: text)
    }
}

/// The runs of a report folder, in the order of their chain.
///
/// Every manifest states the digest of the previous one, so a run that was deleted, replaced,
/// inserted or moved breaks the chain at its place.
struct RunChain {
    typealias Link = (folder: String, manifest: ManifestRecord)

    /// From the oldest to the newest.
    private(set) var links: [Link] = []
    /// The problems of the chain, each with the folder of its run.
    private(set) var problems: [(folder: String, text: String)] = []

    init(_ runs: [Link], index: IndexFile?) {
        var byDigest: [String: [Link]] = [:]
        for run in runs { byDigest[run.manifest.digest, default: []].append(run) }
        for twins in byDigest.values where twins.count > 1 {
            for twin in twins.dropFirst() {
                problems.append((twin.folder, "it is a copy of \(twins[0].folder)"))
            }
        }
        var following: [String: [Link]] = [:]
        var beginnings: [Link] = []
        for run in byDigest.values.compactMap(\.first) {
            if let previous = run.manifest.previous, byDigest[previous] != nil {
                following[previous, default: []].append(run)
            } else {
                beginnings.append(run)
            }
        }
        for begin in beginnings.sorted(by: Self.isEarlier) {
            var pending = [begin]
            while let link = pending.popLast() {
                links.append(link)
                let next = (following[link.manifest.digest] ?? []).sorted(by: Self.isEarlier)
                if next.count > 1 {
                    for other in next {
                        problems.append(
                            (
                                other.folder,
                                "\(next.count) runs follow \(link.folder): one of them was inserted "
                                    + "or written again"
                            ))
                    }
                }
                pending += next.reversed()
            }
        }
        findBreaks(index)
    }

    private static func isEarlier(_ left: Link, _ right: Link) -> Bool {
        (left.manifest.started, left.folder) < (right.manifest.started, right.folder)
    }

    /// Only the oldest run may follow one that no longer exists.
    private mutating func findBreaks(_ index: IndexFile?) {
        for (before, link) in zip(links, links.dropFirst())
        where link.manifest.previous != before.manifest.digest {
            guard let previous = link.manifest.previous else {
                problems.append(
                    (link.folder, "it calls itself the first run, but \(before.folder) is earlier"))
                continue
            }
            // Two runs that follow one are named already.
            guard !links.contains(where: { $0.manifest.digest == previous }) else { continue }
            let named = index?.lines.first { $0.manifestDigest == previous }?.folder
            let cause =
                named.map { folder in
                    links.contains { $0.folder == folder }
                        ? "\(folder) was written again since" : "\(folder) was deleted or changed"
                } ?? "a run before it was deleted or written again"
            problems.append(
                (
                    link.folder,
                    "it follows the manifest \(previous), which no run here has: \(cause) "
                        + "(the run before it is \(before.folder))"
                ))
        }
    }

    /// Runs that began before the one that they follow, by their clocks.
    ///
    /// A clock that was set back is not a sign of tampering: the order of the chain is that of its
    /// digests. Because of the lock a run begins only after the previous one has ended. A rehearsal
    /// has a clock of its own.
    var reversals: [(folder: String, before: String)] {
        zip(links, links.dropFirst()).filter { before, link in
            link.manifest.previous == before.manifest.digest
                && link.manifest.started < before.manifest.started
                && link.manifest.isProduction && before.manifest.isProduction
        }.map { before, link in (link.folder, before.folder) }
    }
}

extension ReportFolderAudit {
    private static let databaseNote = "database.json"
    private static let databaseNoteLimitBytes = 1 << 16

    /// Checks that `database.json` and the manifests of a report folder name one database: two
    /// databases never share a folder.
    private mutating func checkDatabase(_ chain: RunChain) {
        var known: String?
        var ledgerHead = LedgerTrail.beginning
        for link in chain.links {
            let before = ledgerHead
            ledgerHead = link.manifest.ledgerHead
            guard let database = link.manifest.database else { continue }
            if let known, !known.isSame(as: database), link.manifest.breaks.isEmpty,
                // A database that was recreated before its first ledger entry has lost nothing.
                before != LedgerTrail.beginning
            {
                result.add(
                    FileCheck.manifest, of: link.folder,
                    "its database is \(database), the runs before are of \(known)")
            }
            known = database
        }
        let path = directory + "/" + Self.databaseNote
        guard let known, Folder.entry(at: path) != .nothing else { return }
        let bytes = try? PlainFile.contents(of: path, limit: Self.databaseNoteLimitBytes)
        let stated = bytes.flatMap { JSONRecord($0) }?.text("database")
        if !known.isSame(as: stated) {
            add(
                Self.databaseNote,
                (stated.map { "it names the database \($0)" } ?? "it names no database")
                    + ", the newest run is of \(known)")
        }
    }
}
