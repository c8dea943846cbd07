import Crypto
import JSONWebSignature
import Subscriptions

/// `evidence.jsonl` of one run: checked line by line, then looked up by digest.
///
/// Memory does not depend on the number of payloads: the lines are sorted by digest, so a line is
/// found by binary search in the file.
final class EvidenceFile {
    static let name = "evidence.jsonl"
    private static let keptStatements = 256
    /// The text around the digest at the end of a line.
    private static let tail = (open: "\"sha256\":\"", close: "\"}")

    private let lines: SortedLines
    private let guide: DigestGuide?
    private let verifier: EvidenceVerifier
    private var statements: [String: EvidenceStatement] = [:]

    /// What is known of a file that was checked.
    struct Checked: Sendable {
        var tombstones = 0
        /// Where lines stand; `nil` where they are not in order.
        var guide: DigestGuide? = DigestGuide()
    }

    init(
        folder: String, guide: DigestGuide?, verifier: EvidenceVerifier
    ) throws(UnreadableFile) {
        lines = try SortedLines(folder + "/" + Self.name)
        self.guide = guide
        self.verifier = verifier
    }

    /// Checks that each line is a payload with its digest, or a tombstone, in order; reports
    /// problems.
    ///
    /// - Returns: The number of tombstones, and where lines stand.
    static func check(
        folder: String, endOfRun: Timestamp?, _ report: (_ line: Int, _ text: String) -> Void
    ) throws(UnreadableFile) -> Checked {
        let file = try LineFile(folder + "/" + name)
        var previous = ""
        var checked = Checked()
        while let line = try file.next() {
            guard let record = JSONRecord(line), let digest = record.text("sha256"),
                digest.isDigest, record.isCanonical, key(of: line)?.isSame(as: digest) == true,
                record["jws"]?.textBytes != nil || erasure(of: record) != nil
            else {
                report(file.lineNumber, "it is not a payload with its digest")
                checked.guide = nil
                continue
            }
            if let erased = erasure(of: record) {
                checked.tombstones += 1
                if let endOfRun, erased > endOfRun {
                    report(
                        file.lineNumber,
                        "the payload \(digest) is said to be erased after the run had ended")
                }
            }
            if let jws = record["jws"]?.textBytes,
                !SHA256.hash(data: jws).hexadecimal.isSame(as: digest)
            {
                report(file.lineNumber, "the payload does not have the digest \(digest)")
            }
            if digest <= previous {
                report(file.lineNumber, "the digest \(digest) is not in order, or stands twice")
                checked.guide = nil
            }
            previous = digest
            checked.guide?.note(digest, start: file.lineStart)
        }
        return checked
    }

    /// When the payload of a tombstone was erased; `nil` for other lines.
    private static func erasure(of record: JSONRecord) -> Timestamp? {
        guard record["jws"] == nil else { return nil }
        return record.text("erased_at").flatMap { Timestamp(rfc3339: $0) }
    }

    /// The line of a digest; `nil` when it is not there.
    private func record(of digest: String) throws(UnreadableFile) -> JSONRecord? {
        let part = guide?.part(for: digest, ofBytes: lines.bytes)
        let line = try lines.line(in: part) { line in
            guard let key = Self.key(of: line) else { return .after }
            return key.isSame(as: digest) ? .here : digest < key ? .before : .after
        }
        return line.flatMap { JSONRecord($0) }
    }

    /// When a payload was erased; `nil` when it was not, or was never there.
    func erasure(of digest: String) throws(UnreadableFile) -> Timestamp? {
        try record(of: digest).flatMap(Self.erasure)
    }

    /// The verified statement with a digest, or that it was erased.
    ///
    /// - Throws: When the payload is missing or not valid.
    func statement(
        of digest: String, for app: ManifestRecord.App
    ) async throws(UnreadableFile) -> EvidenceStatement {
        let name = "\(digest) \(app.identity.environment.rawValue) \(app.identity.bundleID)"
        if let known = statements[name] { return known }
        guard let jws = try payload(digest) else {
            if let erased = try erasure(of: digest) { return .erased(erased) }
            throw UnreadableFile("the evidence \(digest) is not in \(Self.name)")
        }
        let statement: EvidenceStatement
        do throws(UnreadableFile) {
            statement = try await verifier.statement(of: jws, for: app)
        } catch {
            throw UnreadableFile("the evidence \(digest) does not hold: \(error.reason)")
        }
        if statements.count >= Self.keptStatements { statements.removeAll() }
        statements[name] = statement
        return statement
    }

    /// The payload of a digest as received; `nil` when it is not there.
    func payload(_ digest: String) throws(UnreadableFile) -> [UInt8]? {
        guard let jws = try record(of: digest)?["jws"]?.textBytes,
            SHA256.hash(data: jws).hexadecimal.isSame(as: digest)
        else { return nil }
        return Array(jws)
    }

    /// The digest at the end of a line, without reading all of it as JSON.
    private static func key(of line: [UInt8]) -> String? {
        let open = Array(tail.open.utf8)
        let close = Array(tail.close.utf8)
        let text = line.suffix(open.count + 64 + close.count)
        guard text.starts(with: open), text.suffix(close.count).elementsEqual(close) else {
            return nil
        }
        return String(decoding: text.dropFirst(open.count).dropLast(close.count), as: UTF8.self)
    }
}
