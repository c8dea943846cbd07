import ArgumentParser
import Glibc
import ReportAudit
import Reports
import RowFiles
import SubscriptionStore
package import Subscriptions

/// Why a command ends early, with its exit status and a sentence for the person on call.
package struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var status: ExitStatus
    /// Empty when nobody would read it (the reader of standard output has gone).
    package var description: String

    package init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// A stream that takes no more.
    ///
    /// A reader that closed the pipe (`trueup export | head`) needs no message.
    static func output(_ name: String, errorNumber: Int32) -> CommandFailure {
        guard errorNumber != EPIPE else { return CommandFailure(.output, "") }
        return CommandFailure(
            .output, "cannot write to \(name): \(SettingsFile.reason(errorNumber))")
    }
}

/// The one place where an error becomes an exit status and a message.
package struct ErrorReport {
    package var status: ExitStatus
    package var message: String
    private var details: [String: CanonicalJSON] = [:]

    package init(_ error: any Error) {
        switch error {
        case let error as ConfigurationError:
            status = error.status
            message = error.description
            details["file"] = .string(error.file)
            details["line"] = error.line.map { .integer(Int64($0)) } ?? .null
            details["key"] = .text(error.key)
            details["suggestion"] = .text(error.suggestion)
        case let error as CommandFailure:
            status = error.status
            message = error.description
        case let error as RowFileError:
            status = .data
            message = error.description
        case let error as StoreError:
            status = error.exitStatus
            message = error.description
        case let error as ReportError:
            status = Self.status(of: error)
            message = error.description
        case let error as PlanFileError:
            status = Self.status(of: error)
            message = error.description
        case let error as AuditFailure:
            status = Self.status(of: error)
            message = error.description
        case let error as RunLockError:
            status = Self.status(of: error)
            message = error.description
        case let error as RunStop:
            (status, message) = Self.statusAndMessage(of: error)
        case is CancellationError:
            status = .terminated
            message = "stopped"
        default:
            status = .failure
            message = "unexpected: \(error)"
        }
    }

    private static func status(of error: ReportError) -> ExitStatus {
        switch error {
        case .cannotCreate: .cannotCreate
        case .notWritten: .output
        case .record: .internal
        case .otherDatabase: .config
        case .busy: .busy
        }
    }

    private static func status(of error: PlanFileError) -> ExitStatus {
        switch error {
        case .unreadable, .noPlan: .data
        case .edited: .stale
        }
    }

    private static func status(of error: AuditFailure) -> ExitStatus {
        switch error {
        case .noReport, .certificate: .data
        case .anchor: .usage
        }
    }

    private static func status(of error: RunLockError) -> ExitStatus {
        switch error {
        case .held: .busy
        case .cannotLock: .output
        // As a database that is not there.
        case .noFolder: .unavailable
        }
    }

    private static func statusAndMessage(of stop: RunStop) -> (ExitStatus, String) {
        switch stop {
        case .denied(let text): (.denied, text)
        case .misconfigured(let text): (.config, text)
        case .quotaWaitPastDeadline(let time):
            (.busy, "waiting for Apple's quota until \(time.rfc3339) would pass the deadline")
        case .deadlineReached: (.incomplete, "the deadline came before the answer")
        case .cancelled: (.terminated, "stopped")
        case .store(let error): (error.exitStatus, error.description)
        }
    }

    /// Says it on standard error, unless there is nothing to say.
    func say(asJSON: Bool, in invocation: Invocation) {
        guard !message.isEmpty else { return }
        guard asJSON else { return invocation.say("error: " + message) }
        invocation.say(json: Self.json(status: status, message: message, details: details))
    }

    static func json(
        status: ExitStatus, message: String, details: [String: CanonicalJSON] = [:]
    ) -> CanonicalJSON {
        let members: [String: CanonicalJSON] = [
            "error": .string(message), "exit_status": .integer(Int64(status.code)),
            "name": .string(status.name),
        ]
        return .object(members.merging(details) { own, _ in own })
    }
}
