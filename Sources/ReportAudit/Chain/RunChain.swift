import Subscriptions

/// The runs of a report folder, in the order of their chain.
///
/// Every manifest states the digest of the previous one, so a run that was deleted, replaced,
/// inserted or moved breaks the chain at its place.
struct RunChain {
    struct Link {
        let folder: String
        let manifest: ManifestRecord
    }

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
                                    + "or written anew"
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
                        ? "\(folder) was written anew since" : "\(folder) was deleted or changed"
                } ?? "a run before it was deleted or written anew"
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
    /// A clock that was set back is no sign of tampering: the order of the chain is that of its
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

/// Checks that `database.json` and the manifests of a report folder name one database: two
/// databases never share a folder.
enum DatabaseNote {
    static let name = "database.json"
    private static let limitBytes = 1 << 16

    static func problems(in directory: String, _ chain: RunChain) -> [AuditProblem] {
        var problems: [AuditProblem] = []
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
                problems.append(
                    AuditProblem(
                        run: link.folder, file: FileCheck.manifest,
                        text: "its database is \(database), the runs before are of \(known)"))
            }
            known = database
        }
        guard let known, Folder.entry(at: directory + "/" + name) != .nothing else {
            return problems
        }
        let bytes = try? PlainFile.contents(of: directory + "/" + name, limit: limitBytes)
        let stated = bytes.flatMap { JSONRecord($0) }?.text("database")
        if !known.isSame(as: stated) {
            problems.append(
                AuditProblem(
                    file: name,
                    text: "it names the database \(stated ?? "of nobody"), the newest run is of "
                        + known))
        }
        return problems
    }
}
