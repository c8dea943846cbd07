import AppStoreServerAPI
import Logging
import Subscriptions
import Synchronization

/// Where connections say that an endpoint does not work, and who reads it.
///
/// The connections are there before the run has a log.
final class OutageBoard: Sendable {
    private let reader = Mutex<(@Sendable (OutageNotice) -> Void)?>(nil)

    func tell(_ notice: OutageNotice) {
        reader.withLock { $0 }?(notice)
    }

    /// Hands on what is told from now on: to the log, and in a sentence to people.
    func open(log: Logger, say: @escaping @Sendable (String) -> Void) {
        reader.withLock { reader in
            reader = { notice in
                log.warning(
                    "outage",
                    metadata: [
                        "app": "\(notice.app.bundleID)", "endpoint": "\(notice.endpoint.rawValue)",
                        "sentence": "\(notice.sentence)",
                    ])
                say(notice.sentence)
            }
        }
    }
}
