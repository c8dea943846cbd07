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

    private let lines: EvidenceLines
    private let verifier: EvidenceVerifier
    private var statements: [String: EvidenceStatement] = [:]

    /// What is known of a file that was checked.
    struct Checked: Sendable {
        var tombstones = 0
        /// Tombstones that are dated after the run had ended.
        var datedLater = 0
        /// Where lines stand; `nil` where they are not in order.
        var guide: DigestGuide? = DigestGuide()
    }

    init(
        folder: String, guide: DigestGuide?, verifier: EvidenceVerifier
    ) throws(UnreadableFile) {
        lines = try EvidenceLines(folder: folder, guide: guide)
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
                digest.isDigest, record.isCanonical,
                EvidenceLines.key(of: line)?.isSame(as: digest) == true,
                record["jws"]?.textBytes != nil || EvidenceLines.erasure(of: record) != nil
            else {
                report(file.lineNumber, "it is not a payload with its digest")
                checked.guide = nil
                continue
            }
            if let erased = EvidenceLines.erasure(of: record) {
                checked.tombstones += 1
                if let endOfRun, erased > endOfRun { checked.datedLater += 1 }
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

    /// When a payload was erased; `nil` when it was not, or was never there.
    func erasure(of digest: String) throws(UnreadableFile) -> Timestamp? {
        try lines.erasure(of: digest)
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
            if try erasure(of: digest) != nil { return .erased }
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
        try lines.payload(digest)
    }
}
