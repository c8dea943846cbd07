import JSONWebSignature
package import Subscriptions

/// The ledger as the reports of a folder show it; the reports are not checked.
///
/// It shows which entries a restored or rebuilt database lacks.
package struct ReportedLedger {
    private let trail: LedgerTrail
    /// The digest of the newest run's manifest.
    package let newestManifest: String
    /// The hash of the newest entry.
    package let head: String

    /// - Throws: `.noReport` when there is no report, or one cannot be read.
    package init(_ directory: String) throws(AuditFailure) {
        let links = Self.links(in: directory)
        guard let newest = links.last else {
            throw .noReport("\(directory) holds no report that can be read")
        }
        var trail = LedgerTrail(declared: links.flatMap(\.manifest.breaks))
        for link in links {
            for declaration in link.manifest.declarations {
                _ = trail.take(declaration: declaration)
            }
            let path = directory + "/" + link.folder + "/" + CorrectionCheck.name
            do throws(UnreadableFile) {
                let lines = try LineFile(path)
                while let line = try lines.next() {
                    guard let entry = JSONRecord(line), let number = entry.integer("ledger_entry"),
                        let previous = entry.text("ledger_previous"),
                        let hash = entry.text("ledger_hash")
                    else { continue }
                    _ = trail.take(number, previous: previous, hash: hash)
                }
            } catch {
                throw .noReport("\(path) cannot be read: \(error.reason)")
            }
            _ = trail.close(path: path, head: link.manifest.ledgerHead)
        }
        self.trail = trail
        newestManifest = newest.manifest.digest
        head = trail.hash ?? newest.manifest.ledgerHead
    }

    /// The newest entry's hash, read only from the newest manifest; `nil` where that cannot be
    /// read.
    package static func newestHead(in directory: String) -> String? {
        let path = directory + "/" + ReportFolderAudit.latest + "/" + FileCheck.manifest
        return (try? ManifestRecord(ofFileAt: path))?.ledgerHead
    }

    /// The number of the newest entry, where it is known.
    package var number: Int64? { trail.number }

    /// Losses of ledger entries that no one declared.
    package var breaks: [UndeclaredBreak] { trail.undeclared }

    /// The hash of an entry; `nil` where no report shows it.
    package func hash(ofEntry number: Int64) -> String? {
        trail.entry(number)?.text("ledger_hash")
    }

    /// An entry as a report shows it: its canonical line; `nil` where none does.
    package func line(ofEntry number: Int64) -> String? { trail.entry(number)?.text() }

    /// Looks for an entry with this hash in all reports, also where a declared break lost it since.
    ///
    /// - Parameters:
    ///   - number: The entry's.
    ///   - hash: As the ledger has it.
    /// - Returns: Whether one shows it.
    package func hasShown(_ number: Int64, hash: String) -> Bool {
        trail.hasShown(number, hash: hash)
    }

    private static func links(in directory: String) -> [RunChain.Link] {
        var links: [RunChain.Link] = []
        for day in Folder.names(in: directory) ?? [] where Folder.isDay(day) {
            for run in Folder.names(in: directory + "/" + day) ?? [] where !Folder.isPartial(run) {
                let folder = day + "/" + run
                guard Folder.entry(at: directory + "/" + folder) == .folder else { continue }
                let path = directory + "/" + folder + "/" + FileCheck.manifest
                guard let manifest = try? ManifestRecord(ofFileAt: path) else { continue }
                links.append((folder, manifest))
            }
        }
        return RunChain(links, index: nil).links
    }
}

extension ReportedLedger {
    /// A run whose report shows an entry, and its folder.
    package typealias ShowingReport = (runID: String, folder: String)

    /// The part of a signed payload that a report has.
    package enum ShownPayload: Hashable, Sendable {
        /// As received; it has its digest.
        case jws(String)
        case erased(Timestamp)
    }

    /// The report that shows an entry with this hash.
    ///
    /// - Parameters:
    ///   - number: The entry's.
    ///   - hash: As the ledger has it.
    /// - Returns: `nil` where no report at hand shows it.
    package func report(showingEntry number: Int64, hash: String) -> ShowingReport? {
        guard self.hash(ofEntry: number)?.isSame(as: hash) == true,
            let path = trail.path(ofEntry: number), path.hasSuffix("/" + CorrectionCheck.name)
        else { return nil }
        let folder = String(path.dropLast(CorrectionCheck.name.count + 1))
        guard let name = folder.split(separator: "/").last else { return nil }
        return (String(name), folder)
    }

    /// A payload in a run's report.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 in hexadecimal.
    ///   - shower: The run.
    /// - Returns: `nil` where its report has neither the payload nor a tombstone.
    package func payload(_ digest: String, shownBy shower: ShowingReport) -> ShownPayload? {
        guard let lines = try? EvidenceLines(folder: shower.folder) else { return nil }
        if let jws = try? lines.payload(digest) {
            return .jws(String(decoding: jws, as: UTF8.self))
        }
        return (try? lines.erasure(of: digest)).flatMap(\.self).map(ShownPayload.erased)
    }
}
