import Subscriptions

/// The runs of a report folder in the order in which each follows the one before.
///
/// Every manifest states the digest of the one before it, so a run that was deleted, written anew,
/// inserted or moved breaks the chain where it stood.
struct RunChain {
    struct Link {
        let folder: String
        let manifest: ManifestRecord
    }

    /// From the oldest to the newest.
    private(set) var links: [Link] = []
    /// What is wrong, with the run it shows at.
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
        findReversals()
    }

    private static func isEarlier(_ left: Link, _ right: Link) -> Bool {
        (left.manifest.started, left.folder) < (right.manifest.started, right.folder)
    }

    /// Only the oldest run may follow one that is no longer there.
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

    /// The lock lets a run begin only after the one before has ended; only a rehearsal's clock may
    /// be set back.
    private mutating func findReversals() {
        for (before, link) in zip(links, links.dropFirst())
        where link.manifest.previous == before.manifest.digest
            && link.manifest.started < before.manifest.started
            && link.manifest.isProduction && before.manifest.isProduction
        {
            problems.append(
                (link.folder, "it began before \(before.folder), the run that it follows"))
        }
    }
}
