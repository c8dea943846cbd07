import Crypto
import FoundationEssentials
import Glibc
import Subscriptions

/// Reads folders.
enum Folder {
    enum Entry {
        case nothing, file, folder, link, other
    }

    /// The kind of a path; links are not followed.
    static func entry(at path: String) -> Entry {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            ReadFaults.note(errno, of: path)
            return .nothing
        }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .folder
        case S_IFLNK: .link
        default: .other
        }
    }

    /// Names sorted by their bytes; `nil` when the folder cannot be read.
    static func names(in folder: String) -> [String]? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            // Foundation does not say why.
            let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            ReadFaults.note(descriptor < 0 ? errno : EIO, of: folder)
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Where a link points.
    static func target(ofLinkAt path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }

    /// Whether a name is that of a draft, which is being written or was left by a killed run.
    static func isPartial(_ name: String) -> Bool { name.hasSuffix(".partial") }

    /// `yyyy-MM-dd`: the folders that hold runs.
    static func isDay(_ name: String) -> Bool {
        name.utf8.count == 10
            && name.utf8.enumerated().allSatisfy { index, byte in
                index == 4 || index == 7
                    ? byte == UInt8(ascii: "-")
                    : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }
}

/// The folder of a run whose manifest could be read, and what all checks of it use.
struct RunFolder {
    let path: String
    /// The folder's name in messages.
    let name: String
    let manifest: ManifestRecord
    /// The trusted roots.
    let trust: AuditTrust
    /// The apps of this run and of those that it follows.
    let apps: KnownApps
    /// Is told of each line.
    let progress: AuditProgress

    /// Collects the problems of a part of the checks.
    func problems() -> RunProblems { RunProblems(folder: name, manifest: manifest) }

    /// The path of one of its files.
    func file(_ name: String) -> String { path + "/" + name }
}

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
            seal.lines += chunk.lineFeeds
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
            seal.lines += chunk.lineFeeds
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
