package import Subscriptions

/// Why a job could not have the database for itself.
package enum RunLockError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another job has it (exit 75).
    case held(by: String, since: Timestamp?)
    /// The lock file cannot be used; the text says why.
    case cannotLock(String)

    package var description: String {
        switch self {
        case .held(let holder, let since):
            "Another run holds the lock: \(holder)"
                + (since.map { ", since \($0.rfc3339)" } ?? "")
                + ". Nothing was changed. Wait for it to end, or stop it."
        case .cannotLock(let reason): reason
        }
    }
}
