import Subscriptions

/// Reads finished reports and finds what is wrong with them.
///
/// It shares no code with what writes reports, ledger and corrections, so that an error there is
/// not repeated here. It needs no key, no network and no database, writes nothing, and its memory
/// does not grow with the size of a report.
///
/// Two manipulations cannot be seen in the folder itself: the newest runs were removed with all
/// their traces, or everything was written again from some run on. Both are found by an anchor, a
/// digest that was recorded elsewhere before.
package struct ReportAudit {
    private let trust: AuditTrust
    private let anchors: [String]
    private let database: DatabaseReading?
    private let progress: AuditProgress

    /// - Parameters:
    ///   - trust: The trusted roots.
    ///   - anchors: Digests of manifests, or hashes of ledger entries, that must be in the chain.
    ///   - database: Reads the chains in the database, if these are to be checked as well.
    ///   - progress: Is told how far the audit is.
    /// - Throws: `.anchor` for an anchor that is not a digest.
    package init(
        trust: AuditTrust, anchors: [String], database: DatabaseReading? = nil,
        progress: AuditProgress = AuditProgress()
    ) throws(AuditFailure) {
        for anchor in anchors where !anchor.isDigest {
            throw .anchor(
                "The anchor \(anchor) is not a digest, which has 64 lowercase hexadecimal digits. Nothing was "
                    + "checked.")
        }
        self.trust = trust
        self.anchors = anchors
        self.database = database
        self.progress = progress
    }

    /// Audits the folder of one run, or a report folder with all its runs from the oldest to the
    /// newest; the contents of the folder decide which.
    ///
    /// - Parameters:
    ///   - directory: The folder.
    ///   - perRun: Takes each run as soon as it has been audited.
    /// - Returns: The result of all runs together.
    /// - Throws: `.noReport` when there is nothing to audit, `.unreadable` when the system does not read a file.
    package func audit(
        _ directory: String, perRun: (RunAudit) throws -> Void
    ) async throws -> AuditResult {
        let faults = ReadFaults()
        return try await ReadFaults.$current.withValue(faults) {
            do {
                let result = try await auditContents(of: directory) { run in
                    try faults.refuse()
                    try perRun(run)
                }
                try faults.refuse()
                return result
            } catch {
                // What follows from a fault is not the reason.
                try faults.refuse()
                throw error
            }
        }
    }

    private func auditContents(
        of directory: String, perRun: (RunAudit) throws -> Void
    ) async throws -> AuditResult {
        guard let names = Folder.names(in: directory) else {
            throw AuditFailure.noReport(
                "There is no folder \(directory), or it cannot be read. Nothing was checked. Name the folder "
                    + "of a run, or a report folder.")
        }
        if names.contains(where: RunAuditor.signs.contains) {
            return try await auditRun(directory, perRun)
        }
        guard names.contains(where: { Folder.isDay($0) || $0 == IndexFile.name }) else {
            throw AuditFailure.noReport(
                "\(directory) is neither the folder of a run nor a report folder. Nothing was checked. Name "
                    + "one of these.")
        }
        var folder = ReportFolderAudit(
            directory: directory, names: names, anchors: anchors, database: database,
            progress: progress)
        return try await folder.audit(trust: trust, perRun)
    }

    private func auditRun(
        _ directory: String, _ perRun: (RunAudit) throws -> Void
    ) async throws -> AuditResult {
        var path = Substring(directory)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let name = path.split(separator: "/").last.map(String.init) ?? directory
        let auditor = RunAuditor(path: directory, folder: name, progress: progress)
        progress.begin(auditor.manifest?.auditedLines ?? 0)
        let breaks = auditor.manifest?.breaks ?? []
        var trail = LedgerTrail(declared: breaks)
        var apps = KnownApps(startingWith: auditor.manifest)
        if let manifest = auditor.manifest { apps.add(manifest) }
        let run = await auditor.audit(trust: trust, apps: apps, trail: &trail)
        try perRun(run)
        var result = AuditResult(isWholeFolder: false)
        result.take(run)
        result.newest = run
        result.breaks = breaks
        result.notes += breaks.map(\.description)
        result.notes.append(
            "this is one run alone; only the whole report folder shows whether it is in its chain")
        if let database { try result.check(database, against: trail) }
        let known = [
            run.manifestDigest, run.ledgerHead, auditor.manifest?.previous, trail.firstPrevious,
        ]
        result.check(anchors: anchors, known: Set(known.compactMap(\.self)))
        return result
    }
}

extension AuditResult {
    mutating func add(
        _ file: String?, of run: String? = nil, line: Int? = nil, entry: Int64? = nil,
        _ text: String
    ) {
        let problem = AuditProblem(
            run: run, file: file, line: line, ledgerEntry: entry, text: text)
        problems.append(problem)
        counts.problems.append(problem)
    }

    /// Every anchor must be the manifest or the ledger head of an existing run, or what the oldest
    /// run follows.
    mutating func check(anchors: [String], known: Set<String>) {
        for anchor in anchors where !known.contains(anchor) {
            add(
                nil,
                "the anchor \(anchor) is neither the manifest nor the ledger head of any run here: "
                    + "the newest runs were removed, or the chain was written again")
        }
    }
}

/// How far an audit is, for people who watch it: lines of findings, corrections and plans.
package struct AuditProgress: Sendable {
    /// Takes how many lines the manifests state, before the first one is checked.
    let begin: @Sendable (_ lines: Int) -> Void
    /// Is called for each line, from several threads.
    let reachLine: @Sendable () -> Void

    package init(
        begin: @escaping @Sendable (_ lines: Int) -> Void = { _ in },
        reachLine: @escaping @Sendable () -> Void = {}
    ) {
        self.begin = begin
        self.reachLine = reachLine
    }
}

/// The reason why nothing could be audited at all.
package enum AuditFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The path is not a readable folder, or contains no report.
    case noReport(String)
    /// A file could not be read, for a reason that is not in the report.
    case unreadable(String)
    /// A given root is not a certificate.
    case certificate(String)
    /// A given anchor is not a digest.
    case anchor(String)

    package var description: String {
        switch self {
        case .noReport(let text), .unreadable(let text), .certificate(let text), .anchor(let text):
            text
        }
    }
}
