import Crypto
import JSONWebSignature
import Subscriptions

/// `evidence.jsonl` of one run: checked line by line, then looked up by digest.
///
/// Memory stays the same however many payloads there are: the lines stand in the order of their
/// digests, so one is found by halving the file.
final class EvidenceFile {
    static let name = "evidence.jsonl"
    private static let keptStatements = 256
    /// What stands around the digest at the end of a line.
    private static let tail = (open: "\"sha256\":\"", close: "\"}")

    private let lines: SortedLines
    private let verifier: EvidenceVerifier
    private var statements: [String: EvidenceStatement] = [:]

    init(folder: String, verifier: EvidenceVerifier) throws(UnreadableFile) {
        lines = try SortedLines(folder + "/" + Self.name)
        self.verifier = verifier
    }

    /// Checks that each line is a payload under its own digest, in order; hands out problems.
    static func check(
        folder: String, _ report: (_ line: Int, _ text: String) -> Void
    ) throws(UnreadableFile) {
        let file = try LineFile(folder + "/" + name)
        var previous = ""
        while let line = try file.next() {
            guard let record = JSONRecord(line), let digest = record.text("sha256"),
                digest.isDigest, let jws = record["jws"]?.textBytes, record.isCanonical,
                key(of: line)?.isSame(as: digest) == true
            else {
                report(file.lineNumber, "it is not a payload with its digest")
                continue
            }
            if !SHA256.hash(data: jws).hexadecimal.isSame(as: digest) {
                report(file.lineNumber, "the payload does not have the digest \(digest)")
            }
            if digest <= previous {
                report(file.lineNumber, "the digest \(digest) is not in order, or stands twice")
            }
            previous = digest
        }
    }

    /// The verified statement of a digest.
    ///
    /// - Throws: When the payload is not there, or why it cannot be believed.
    func statement(
        of digest: String, for app: ManifestRecord.App
    ) async throws(UnreadableFile) -> EvidenceStatement {
        let name = "\(digest) \(app.identity.environment.rawValue) \(app.identity.bundleID)"
        if let known = statements[name] { return known }
        guard let jws = try payload(digest) else {
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
        let line = try lines.line { line in
            guard let key = Self.key(of: line) else { return .after }
            return key.isSame(as: digest) ? .here : digest < key ? .before : .after
        }
        guard let line, let jws = JSONRecord(line)?["jws"]?.textBytes,
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
