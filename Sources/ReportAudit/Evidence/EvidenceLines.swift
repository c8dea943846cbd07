import Crypto
import JSONWebSignature
import Subscriptions

/// The lines of `evidence.jsonl` of one run, looked up by digest; signatures are not looked at.
///
/// The lines are sorted by digest, so a line is found by binary search in the file.
struct EvidenceLines {
    /// The text around the digest at the end of a line.
    private static let tail = (open: "\"sha256\":\"", close: "\"}")

    private let lines: SortedLines
    private let guide: DigestGuide?

    init(folder: String, guide: DigestGuide? = nil) throws(UnreadableFile) {
        lines = try SortedLines(folder + "/" + EvidenceFile.name)
        self.guide = guide
    }

    /// When a payload was erased; `nil` when it was not, or was never there.
    func erasure(of digest: String) throws(UnreadableFile) -> Timestamp? {
        try record(of: digest).flatMap(Self.erasure)
    }

    /// The payload of a digest as received; `nil` when it is not there.
    func payload(_ digest: String) throws(UnreadableFile) -> [UInt8]? {
        guard let jws = try record(of: digest)?["jws"]?.textBytes,
            SHA256.hash(data: jws).hexadecimal.isSame(as: digest)
        else { return nil }
        return Array(jws)
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

    /// When the payload of a tombstone was erased; `nil` for other lines.
    static func erasure(of record: JSONRecord) -> Timestamp? {
        guard record["jws"] == nil else { return nil }
        return record.text("erased_at").flatMap { Timestamp(rfc3339: $0) }
    }

    /// The digest at the end of a line, without reading all of it as JSON.
    static func key(of line: [UInt8]) -> String? {
        let open = Array(tail.open.utf8)
        let close = Array(tail.close.utf8)
        let text = line.suffix(open.count + 64 + close.count)
        guard text.starts(with: open), text.suffix(close.count).elementsEqual(close) else {
            return nil
        }
        return String(decoding: text.dropFirst(open.count).dropLast(close.count), as: UTF8.self)
    }
}
