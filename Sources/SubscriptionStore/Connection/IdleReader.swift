import GRDB
import Synchronization

/// Keeps one reading connection from one reading to the next.
///
/// A new connection reads and parses the whole schema first, which for a small report costs more
/// than all its rows. Readings may be nested: whoever finds none idle makes another.
final class IdleReader: Sendable {
    private let idle = Mutex<DatabaseQueue?>(nil)

    /// The idle connection, for the caller alone; `nil` when there is none.
    func take() -> DatabaseQueue? {
        idle.withLock { idle in
            defer { idle = nil }
            return idle
        }
    }

    /// Keeps a connection that no reading uses any more; a second one closes.
    func giveBack(_ connection: DatabaseQueue) {
        idle.withLock { $0 = $0 ?? connection }
    }

    /// Closes the idle connection, before the one that writes.
    func close() throws {
        try take()?.close()
    }
}
