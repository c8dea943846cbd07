/// Compares the files of a run's folder with `manifest.json` and `SHA256SUMS`.
struct FileCheck {
    static let manifest = "manifest.json"
    static let sums = "SHA256SUMS"
    /// The files of every report (docs/report-files.md), also when the manifest lists fewer.
    static let expected: Set<String> = [
        "README.txt", "corrections.csv", "corrections.jsonl", "discrepancies.csv",
        "discrepancies.jsonl", "evidence.jsonl", "not_found.csv", "notifications.csv", "plan.json",
        "run.log.jsonl", "summary.json", "summary.txt", "undecided.csv", "undo.json",
    ]
    private static let limitBytes = 1 << 22

    let folder: String
    /// `nil` when it cannot be read, which is a problem of its own.
    let manifest: ManifestRecord?

    /// - Parameter report: Takes the file and what is wrong with it.
    func check(_ report: (_ file: String, _ text: String) -> Void) {
        guard let names = Folder.names(in: folder) else {
            report(Self.manifest, "the folder cannot be read")
            return
        }
        let sums = sums(report)
        let stated = manifest.map { Set($0.files.keys) } ?? []
        let known = Set(names).union(stated).union(sums.keys)
        // A large file is packed, and then the plain one is not there.
        let expected = Self.expected.filter { !known.contains($0 + ContentFile.packedSuffix) }
        let all = known.union(expected).union([Self.manifest]).subtracting([Self.sums])
        for name in names where names.contains(name + ContentFile.packedSuffix) {
            report(name, "it is there twice, plain and packed")
        }
        for name in all.sorted() {
            check(name, isThere: names.contains(name), sum: sums[name], report)
        }
    }

    private func check(
        _ name: String, isThere: Bool, sum: String?, _ report: (String, String) -> Void
    ) {
        guard isThere else {
            report(name, "the file is missing")
            return
        }
        let seal: FileSeal
        do throws(UnreadableFile) {
            seal = try FileSeal.ofFile(at: folder + "/" + name)
        } catch {
            report(name, "it cannot be read: \(error.reason)")
            return
        }
        let stated = manifest?.files[name]
        if let manifest, name != Self.manifest, stated == nil {
            report(name, "it is no part of the report of \(manifest.runID): manifest.json lacks it")
        }
        if sum == nil { report(name, "\(Self.sums) lacks it") }
        var differing: [String] = []
        if let stated, stated.sha256 != seal.sha256 { differing.append("manifest.json") }
        if let sum, sum != seal.sha256 { differing.append(Self.sums) }
        if !differing.isEmpty {
            report(
                name,
                "it is not as it was written: its digest \(seal.sha256) is not the one in "
                    + differing.joined(separator: " and ") + sizes(seal, stated))
        } else if let stated, stated != seal {
            report(name, "manifest.json counts it wrongly" + sizes(seal, stated))
        }
    }

    private func sizes(_ seal: FileSeal, _ stated: FileSeal?) -> String {
        guard let stated, (stated.bytes, stated.lines) != (seal.bytes, seal.lines) else {
            return ""
        }
        return " (\(seal.bytes) bytes and \(seal.lines) lines instead of \(stated.bytes) and "
            + "\(stated.lines))"
    }

    /// The digests of `SHA256SUMS` by file.
    private func sums(_ report: (String, String) -> Void) -> [String: String] {
        let bytes: [UInt8]
        do throws(UnreadableFile) {
            bytes = try PlainFile.contents(of: folder + "/" + Self.sums, limit: Self.limitBytes)
        } catch {
            report(Self.sums, "it cannot be read: \(error.reason)")
            return [:]
        }
        var sums: [String: String] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let digest = String(line.prefix(64))
            let name = String(line.dropFirst(66))
            guard digest.isDigest, line.dropFirst(64).hasPrefix("  "), !name.isEmpty,
                sums.updateValue(digest, forKey: name) == nil
            else {
                report(Self.sums, "the line \"\(line.prefix(100))\" is no sum of one file")
                continue
            }
        }
        return sums
    }
}
