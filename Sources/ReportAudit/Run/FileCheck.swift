import Crypto
import Subscriptions

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
    /// The files of the report of a comparison.
    static let expectedOfCompare: Set<String> = [
        CompareCheck.lineFile, CompareCheck.csvFile, CompareCheck.summaryFile, "report.html",
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
        let isCompare = manifest?.isCompare ?? false
        let wanted = isCompare ? Self.expectedOfCompare : Self.expected
        let expected = wanted.filter { !known.contains($0 + ContentFile.packedSuffix) }
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
            report(
                name, "it is not part of the report of \(manifest.runID): manifest.json lacks it")
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
                report(Self.sums, "the line \"\(line.prefix(100))\" is not a sum of one file")
                continue
            }
        }
        return sums
    }
}

/// The lists to check next to the corrections of a run: its findings and its plan.
///
/// Both rest on the same evidence as the corrections, but on no earlier run, so a second processor
/// can check them.
struct ListedContents: Sendable {
    /// The problems of the findings.
    private(set) var findings = ProblemList()
    /// The problems of the plan.
    private(set) var plan = ProblemList()
    private(set) var counts = RunCounts()
    /// The roots of the verified evidence, as `EvidenceVerifier` has them.
    private(set) var roots: Set<String> = []
    private(set) var rehearsalRoots: Set<String> = []

    /// Checks findings and plan.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - guide: Where payloads are in the file of evidence.
    /// - Returns: The counts and problems.
    @concurrent
    static func audit(_ run: RunFolder, guide: DigestGuide?) async -> ListedContents {
        var result = ListedContents()
        let findings = run.problems()
        let plan = run.problems()
        do throws(UnreadableFile) {
            let evidence = try EvidenceFile(of: run, guide: guide)
            await findings.reading(FindingCheck.name) { () async throws(UnreadableFile) in
                try await FindingCheck(evidence: evidence, problems: findings)
                    .check(counts: &result.counts)
            }
            await plan.reading(PlanCheck.name) { () async throws(UnreadableFile) in
                try await PlanCheck(evidence: evidence, problems: plan)
                    .check(counts: &result.counts)
            }
            result.roots = evidence.verifier.roots
            result.rehearsalRoots = evidence.verifier.rehearsalRoots
        } catch {
            findings.add(EvidenceFile.name, error.reason)
        }
        result.findings = findings.list
        result.plan = plan.list
        return result
    }
}

/// Reads `plan.json` and `undo.json`: a head, one item a line, and in the last line the digest of
/// all lines before it.
final class SealedList: RecordReader {
    private let lines: LineFile
    private let report: (_ line: Int, _ text: String) -> Void
    private var hash = SHA256()
    /// The next line, read ahead because the last line is the seal.
    private var ahead: [UInt8]?

    /// The head without the list; `nil` when the first line is not a head.
    let head: JSONRecord?

    /// Opens a file and reads its head.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - report: Takes what is wrong with an item or with the seal, and its line.
    /// - Throws: When it cannot be read.
    init(
        _ path: String, report: @escaping (_ line: Int, _ text: String) -> Void
    ) throws(UnreadableFile) {
        self.report = report
        lines = try LineFile(path)
        let first = try lines.next() ?? []
        hash.update(data: first + [0x0A])
        head = JSONRecord(first + Array("]}".utf8))
        ahead = try lines.next()
    }

    var lineNumber: Int { lines.lineNumber - 1 }

    /// The next item; `nil` at the end, after which the seal has been checked.
    func next() throws(UnreadableFile) -> JSONRecord? {
        while let line = ahead {
            ahead = try lines.next()
            guard ahead != nil else {
                checkSeal(line)
                return nil
            }
            hash.update(data: line + [0x0A])
            let isLast = line.last != UInt8(ascii: ",")
            let text = isLast ? line : Array(line[..<(line.count - 1)])
            if let item = JSONRecord(text) { return item }
            report(lineNumber, "it is not an item of the list")
        }
        return nil
    }

    private func checkSeal(_ last: [UInt8]) {
        let digest = hash.finalize().hexadecimal
        if !last.elementsEqual("],\"sha256\":\"\(digest)\"}".utf8) {
            report(
                lines.lineNumber,
                "the last line does not state the digest of the lines before it: the list was "
                    + "edited or cut")
        }
    }
}

/// Reads the records of a file one by one.
protocol RecordReader: AnyObject {
    associatedtype Record

    /// The line of the record that was returned last.
    var lineNumber: Int { get }

    func next() throws(UnreadableFile) -> Record?
}

/// A file that is read side by side with another one, whose order it has.
///
/// It is not read further where it ends too early or cannot be read. `FileCheck` reports a file that
/// is missing.
final class SideFile<Reader: RecordReader> {
    private let name: String
    private let problems: RunProblems
    /// `nil` where the file cannot be read further.
    private(set) var reader: Reader?

    init(_ name: String, _ reader: Reader?, problems: RunProblems) {
        self.name = name
        self.reader = reader
        self.problems = problems
    }

    /// A CSV file of a run's folder.
    convenience init(
        _ name: String, in run: RunFolder, problems: RunProblems
    ) where Reader == CSVRecords {
        self.init(name, try? CSVRecords(run.file(name)), problems: problems)
    }

    /// Returns what is read; `nil` where the file cannot be read, which is reported.
    func read<Value>(_ body: (Reader) throws(UnreadableFile) -> Value) -> Value? {
        guard let reader else { return nil }
        do throws(UnreadableFile) {
            return try body(reader)
        } catch {
            problems.add(name, error.reason)
            leave()
            return nil
        }
    }

    /// The next record; `nil` where there is none, which is reported.
    ///
    /// - Parameters:
    ///   - line: The line of the other file that it belongs to.
    ///   - list: The other file.
    /// - Returns: The record.
    func next(beside line: Int, of list: String) -> Reader.Record? {
        let record = read { reader throws(UnreadableFile) in try reader.next() }
        if case .some(.none) = record {
            problems.add(name, "it ends before line \(line) of \(list)")
            leave()
        }
        return record ?? nil
    }

    /// Reports a problem of the record that was read last.
    func report(_ text: String, entry: Int64? = nil) {
        problems.add(name, line: reader?.lineNumber, entry: entry, text)
    }

    /// Reads no further.
    func leave() { reader = nil }

    /// Checks that no record follows.
    ///
    /// - Parameter problem: What it is where one does.
    func checkEnd(_ problem: String) {
        let record = read { reader throws(UnreadableFile) in try reader.next() }
        if case .some(.some) = record { report(problem) }
    }
}
