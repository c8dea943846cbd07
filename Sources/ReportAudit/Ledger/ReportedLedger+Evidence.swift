package import Subscriptions

extension ReportedLedger {
    /// A run whose report shows an entry.
    package struct Shower: Sendable {
        package let runID: String
        fileprivate let folder: String
    }

    /// What a report has of a signed payload.
    package enum ShownPayload: Hashable, Sendable {
        /// As received; it has its digest.
        case jws(String)
        case erased(Timestamp)
    }

    /// The run whose report shows an entry with this hash.
    ///
    /// - Parameters:
    ///   - number: The entry's.
    ///   - hash: As the ledger has it.
    /// - Returns: `nil` where no report at hand shows it.
    package func shower(ofEntry number: Int64, hash: String) -> Shower? {
        guard self.hash(ofEntry: number)?.isSame(as: hash) == true,
            let path = path(ofEntry: number), path.hasSuffix("/" + CorrectionCheck.name)
        else { return nil }
        let folder = String(path.dropLast(CorrectionCheck.name.count + 1))
        guard let name = folder.split(separator: "/").last else { return nil }
        return Shower(runID: String(name), folder: folder)
    }

    /// A payload in a run's report.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 in hexadecimal.
    ///   - shower: The run.
    /// - Returns: `nil` where its report has neither the payload nor a tombstone.
    package func payload(_ digest: String, shownBy shower: Shower) -> ShownPayload? {
        guard let lines = try? EvidenceLines(folder: shower.folder) else { return nil }
        if let jws = try? lines.payload(digest) {
            return .jws(String(decoding: jws, as: UTF8.self))
        }
        return (try? lines.erasure(of: digest)).flatMap(\.self).map(ShownPayload.erased)
    }
}
