import Crypto
import FoundationEssentials
import Glibc
import Subscriptions

/// The few operations on folders and links that a report needs, each with a sentence on failure.
package enum FileSystem {
    /// The kind of an entry of a folder.
    enum Entry {
        case nothing, folder, link, other
    }

    static func entry(at path: String) -> Entry {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return .nothing }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return .folder
        case S_IFLNK: return .link
        default: return .other
        }
    }

    /// A path without links; `nil` where nothing is.
    static func realPath(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }

    /// Whether two paths lead to two different files; `false` where one of them leads nowhere.
    static func isAnotherFile(_ path: String, than other: String) -> Bool {
        var first = stat()
        var second = stat()
        guard unsafe stat(path, &first) == 0, unsafe stat(other, &second) == 0 else { return false }
        return (first.st_dev, first.st_ino) != (second.st_dev, second.st_ino)
    }

    /// Makes a folder and those above it.
    static func makeFolders(_ path: String) throws(ReportError) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/") {
            partial += component
            if unsafe mkdir(partial, 0o750) != 0 {
                let code = errno
                // The last component may be a link to a folder: stat follows it.
                var status = stat()
                guard code == EEXIST, unsafe stat(partial, &status) == 0,
                    status.st_mode & S_IFMT == S_IFDIR
                else { throw .cannotCreate(sentence("cannot create the folder", partial, code)) }
            }
            partial += "/"
        }
    }

    /// Names of a folder's entries, sorted by their bytes; empty when it cannot be read.
    static func names(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Removes what an earlier run left unfinished.
    static func removeTree(_ path: String) throws(ReportError) {
        guard let (place, code) = remainder(afterRemoving: path) else { return }
        throw .cannotCreate(sentence("cannot remove the leftover of an earlier run", place, code))
    }

    /// The first entry that could not be removed, and why; `nil` once all of them are gone.
    private static func remainder(afterRemoving path: String) -> (place: String, code: Int32)? {
        guard entry(at: path) == .folder else {
            return unsafe unlink(path) == 0 ? nil : (path, errno)
        }
        for name in names(in: path) {
            if let remainder = remainder(afterRemoving: path + "/" + name) { return remainder }
        }
        guard unsafe rmdir(path) != 0 else { return nil }
        let code = errno
        // What a folder that cannot be read holds was not seen above.
        guard code == ENOTEMPTY, unsafe access(path, R_OK | X_OK) != 0 else { return (path, code) }
        return (path, EACCES)
    }

    static func rename(_ source: String, to target: String) throws(ReportError) {
        guard unsafe Glibc.rename(source, target) == 0 else {
            throw .notWritten(sentence("cannot rename \(source) to", target, errno))
        }
    }

    /// Makes renames and new entries of a folder last through a power cut.
    static func synchronize(folder: String) throws(ReportError) {
        try FileDescriptor(folder, O_RDONLY | O_DIRECTORY, orSay: "cannot open").synchronize()
    }

    /// Points a link to a target: readers see the old one or the new one, never none.
    static func replaceLink(at path: String, target: String) throws(ReportError) {
        let draft = path + ReportFolder.partialSuffix
        _ = unsafe unlink(draft)
        guard unsafe symlink(target, draft) == 0 else {
            throw .notWritten(sentence("cannot create the link", draft, errno))
        }
        try rename(draft, to: path)
    }

    /// All bytes of a small file; `nil` when there is none.
    static func contents(of path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path).map { Array($0) }
    }

    /// Seals a file of lines that another program wrote, reading it piece by piece.
    ///
    /// A last line without its line feed was torn while it was written, and is cut off: a report
    /// consists of whole lines.
    static func seal(_ path: String, named name: String) throws(ReportError) -> FileSeal {
        let descriptor = try FileDescriptor(path, O_RDWR, orSay: "cannot open")
        var hash = SHA256()
        var seal = FileSeal(name: name, sha256: "", bytes: 0, lines: 0)
        // What follows the last line feed so far; a whole line follows it, or it was torn.
        var rest: [UInt8] = []
        while let bytes = try descriptor.read() {
            rest += bytes
            guard let end = rest.lastIndex(of: 0x0A) else { continue }
            let whole = Array(rest[...end])
            rest.removeFirst(whole.count)
            hash.update(data: whole)
            seal.bytes += whole.count
            seal.lines += whole.lineFeeds
        }
        if !rest.isEmpty { try descriptor.cut(at: seal.bytes) }
        try descriptor.synchronize()
        seal.sha256 = hash.finalize().hexadecimal
        return seal
    }

    /// For example `cannot write reports/x: No space left on device`.
    static func sentence(_ what: String, _ path: String, _ code: Int32) -> String {
        let reason = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        let advice =
            switch code {
            case ENOSPC, EDQUOT: "; free space and run again"
            case EEXIST: "; move away what is there, or change report.directory"
            case EACCES, EPERM, EROFS: "; let the job's user write there or set report.directory"
            default: ""
            }
        return "\(what) \(path): \(reason)\(advice)"
    }
}
