import FoundationEssentials
import Glibc
import Subscriptions

/// What the operating system says of the place where a file lies; nothing is created or changed.
enum FileSystemFacts {
    /// With less than the first `doctor` fails, with less than the second it warns: evidence,
    /// reports and SQLite's log all grow during a run.
    static let leastFreeBytes: UInt64 = 100 << 20
    static let comfortableFreeBytes: UInt64 = 1 << 30

    /// Bytes that this user may still write there.
    static func freeBytes(at path: String) -> UInt64? {
        var facts = statvfs()
        guard unsafe statvfs(path, &facts) == 0 else { return nil }
        let (bytes, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(
            by: UInt64(facts.f_frsize))
        return overflow ? .max : bytes
    }

    /// Which file system holds it; `nil` where nothing stands.
    static func device(of path: String) -> UInt64? {
        var facts = stat()
        return unsafe stat(path, &facts) == 0 ? UInt64(facts.st_dev) : nil
    }

    /// Whether two paths name one file, by whatever links; `false` where one of them names none.
    static func isSameFile(_ one: String, _ other: String) -> Bool {
        var first = stat()
        var second = stat()
        guard unsafe stat(one, &first) == 0, unsafe stat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// What tells a folder from every other one of the machine, containers included: the numbers of its
    /// file system and of its inode; `nil` where there is none.
    static func number(of folder: String) -> String? {
        var facts = stat()
        guard unsafe stat(folder, &facts) == 0 else { return nil }
        return "\(facts.st_dev):\(facts.st_ino)"
    }

    /// The size of the files of one folder; `nil` where there is none.
    static func bytes(ofFilesIn folder: String) -> Int64? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return nil
        }
        return names.reduce(0) { sum, name in
            var facts = stat()
            guard unsafe stat(folder + "/" + name, &facts) == 0 else { return sum }
            let (total, overflow) = sum.addingReportingOverflow(Int64(facts.st_size))
            return overflow ? .max : total
        }
    }

    /// Why files cannot be made in a folder; `nil` when they can.
    static func obstacle(toFilesIn folder: String) -> String? {
        var facts = stat()
        guard unsafe stat(folder, &facts) == 0 else { return SettingsFile.reason(errno) }
        guard facts.st_mode & S_IFMT == S_IFDIR else { return SettingsFile.reason(ENOTDIR) }
        return unsafe access(folder, W_OK | X_OK) == 0 ? nil : SettingsFile.reason(errno)
    }

    /// Why the path cannot be written; `nil` when it can.
    static func obstacle(toWriting path: String) -> String? {
        unsafe access(path, W_OK) == 0 ? nil : SettingsFile.reason(errno)
    }

    /// Absolute, without symbolic links; the path itself when that cannot be learned.
    static func realPath(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Whether something stands there that is no file.
    static func isNoFile(_ path: String) -> Bool {
        var facts = stat()
        return unsafe stat(path, &facts) == 0 && facts.st_mode & S_IFMT != S_IFREG
    }

    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// The path itself, or the nearest folder above it that exists.
    static func nearestExisting(_ path: String) -> String {
        var path = path
        while !exists(path) {
            let above = SettingsPath.directory(of: path)
            guard above != path else { break }
            path = above
        }
        return path
    }
}

/// Which file system holds a path, from the kernel's own table.
///
/// Source: proc_pid_mountinfo(5).
package struct MountTable {
    private let mounts: [(place: String, type: String)]

    /// - Parameter text: The contents of `/proc/self/mountinfo`.
    package init(mountinfo text: String) {
        mounts = text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 6, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
            else { return nil }
            return (Self.unescaped(fields[4]), String(fields[dash + 1]))
        }
    }

    /// The table of this machine; empty where there is none.
    static func current() -> MountTable {
        let data = FileManager.default.contents(atPath: "/proc/self/mountinfo")
        return MountTable(mountinfo: String(decoding: data ?? Data(), as: UTF8.self))
    }

    /// The type of the network file system that holds an absolute path; `nil` for a local one.
    package func networkFileSystem(of path: String) -> String? {
        // Of two mounts at one place the later one hides the earlier.
        var best: (place: String, type: String)?
        for mount in mounts where Self.holds(mount.place, path) {
            if mount.place.utf8.count >= best?.place.utf8.count ?? 0 { best = mount }
        }
        return best.flatMap { Self.isNetwork($0.type) ? $0.type : nil }
    }

    private static func holds(_ place: String, _ path: String) -> Bool {
        place == "/" || path == place || path.hasPrefix(place + "/")
    }

    private static func isNetwork(_ type: String) -> Bool {
        let known: Set<String> = [
            "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "coda", "lustre", "ncpfs",
            "glusterfs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone",
        ]
        return known.contains(type)
    }

    /// Blanks stand in the table as three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        var text = String(field)
        for (escape, character) in [("\\040", " "), ("\\011", "\t"), ("\\134", "\\")] {
            text = text.split(separator: escape, omittingEmptySubsequences: false)
                .joined(separator: character)
        }
        return text
    }
}
