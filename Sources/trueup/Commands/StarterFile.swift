import FoundationEssentials
import Glibc
import Subscriptions

/// Writing a file for somebody to start from, never over one that is there.
enum StarterFile {
    /// Writes a file that does not exist yet; `false` when it does.
    static func write(_ text: String, to path: String) throws(CommandFailure) -> Bool {
        try createFolder(of: path)
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            if errno == EEXIST { return false }
            throw failure(path, errno)
        }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                let code = errno
                // Half a file would be kept as if it were somebody's own the next time.
                unsafe unlink(path)
                throw failure(path, code)
            }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Makes the folder of a file, and those above it, where they are missing.
    static func createFolder(of path: String) throws(CommandFailure) {
        let folder = SettingsPath.directory(of: path)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "\(folder): this folder cannot be created; check the rights above it"
            )
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> CommandFailure {
        CommandFailure(
            .cannotCreate, "\(path): cannot be created: \(SettingsFile.reason(code))")
    }
}
