import Foundation
import GRDB
import Subscriptions

/// Makes a database beside its place and moves it there whole.
///
/// So there is never a file of no bytes that could be ours, and an empty file can be taken for what
/// it is: a database that lost its content.
struct NewDatabase {
    let path: String

    private var draft: String { path + "-new" }

    func make() throws(StoreError) {
        do {
            for leftover in [draft, draft + "-wal", draft + "-shm"] {
                try? FileManager.default.removeItem(atPath: leftover)
            }
            let connection = try DatabaseFile(path: draft).connectToWrite()
            try SchemaCheck(path: path).migrate(connection)
            try SchemaCheck(path: path).verify(connection)
            try connection.close()
            guard unsafe rename(draft, path) == 0 else {
                throw StoreError.notWritten(
                    "The database cannot be moved to \(path): \(unsafe String(cString: strerror(errno))). "
                        + "Check the rights on its folder.")
            }
            syncFolder()
        } catch {
            let failure = StoreError(error, doing: "creating the database \(path)")
            guard case .unavailable(let text) = failure else { throw failure }
            throw .notWritten(text)
        }
    }

    /// The name lasts like the content; a file system that cannot sync folders has nothing to lose.
    private func syncFolder() {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = unsafe Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
