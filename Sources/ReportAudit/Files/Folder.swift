import FoundationEssentials
import Glibc

/// Reads folders.
enum Folder {
    enum Entry {
        case nothing, file, folder, link, other
    }

    /// The kind of a path; links are not followed.
    static func entry(at path: String) -> Entry {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return .nothing }
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
