import Crypto
import Subscriptions

/// The digest and size of a file.
struct FileSeal: Hashable {
    private static let chunkBytes = 1 << 20

    var sha256: String
    var bytes: Int
    /// Line feeds of the content, as `wc -l` counts.
    var lines: Int
    /// The size of a packed file's content; `nil` for a plain file.
    var contentBytes: Int?

    /// Reads a file from its beginning to its end, piece by piece.
    static func ofFile(at path: String) throws(UnreadableFile) -> FileSeal {
        guard path.hasSuffix(ContentFile.packedSuffix) else { return try ofPlainFile(at: path) }
        var seal = try ofPlainFile(at: path)
        let content = try ContentFile(opening: path, isPacked: true)
        seal.contentBytes = content.bytes
        seal.lines = 0
        var offset = 0
        while offset < content.bytes {
            let chunk = try content.read(upTo: chunkBytes, at: offset)
            guard !chunk.isEmpty else { break }
            offset += chunk.count
            var start = 0
            while let end = chunk.firstLineFeed(from: start) {
                seal.lines += 1
                start = end + 1
            }
        }
        return seal
    }

    private static func ofPlainFile(at path: String) throws(UnreadableFile) -> FileSeal {
        let file = try PlainFile(path)
        var hash = SHA256()
        var seal = FileSeal(sha256: "", bytes: 0, lines: 0)
        while true {
            let chunk = try file.read(upTo: chunkBytes, at: seal.bytes)
            if chunk.isEmpty { break }
            hash.update(data: chunk)
            seal.bytes += chunk.count
            var start = 0
            while let end = chunk.firstLineFeed(from: start) {
                seal.lines += 1
                start = end + 1
            }
        }
        seal.sha256 = hash.finalize().hexadecimal
        return seal
    }
}

extension String {
    /// 64 lowercase hexadecimal digits.
    var isDigest: Bool {
        utf8.count == 64
            && utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// Whether two texts have the same bytes; `==` also treats canonically equivalent ones as
    /// equal.
    func isSame(as other: String?) -> Bool {
        // Texts with the same bytes are equal; between texts in ASCII the converse holds as well.
        guard let other, self == other else { return false }
        return utf8Span.isKnownASCII && other.utf8Span.isKnownASCII
            || utf8.elementsEqual(other.utf8)
    }
}
