import Glibc
package import Subscriptions

/// Why a command ends early, with its exit status and a sentence for the person on call.
package struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var status: ExitStatus
    /// Empty when there is nobody left to tell (the reader of standard output has gone).
    package var description: String

    package init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// A stream that takes no more.
    ///
    /// Its reader having gone (`trueup export | head`) is no news worth a message.
    static func output(_ name: String, errorNumber: Int32) -> CommandFailure {
        guard errorNumber != EPIPE else { return CommandFailure(.output, "") }
        return CommandFailure(
            .output, "cannot write to \(name): \(SettingsFile.reason(errorNumber))")
    }
}
