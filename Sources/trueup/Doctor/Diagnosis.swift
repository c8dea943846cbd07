package import Subscriptions

/// One finding of `doctor`.
package struct Diagnosis: Hashable, Sendable {
    package enum Outcome: String, Hashable, Sendable {
        case ok, warning, failed
        /// Something before it failed, so that it could not be checked.
        case skipped
    }

    /// `settings`, `jobs`, `key`, `roots`, `sales_key`, `tell`, `message`, `metrics`, `hooks`, `database`,
    /// `disk`, `reports`, `lock`, `table`, `rows`, `timezone`, `quota`, `apple`, `clock`, `certificates`.
    package var check: String
    /// Set where a check is made for each app.
    package var app: AppIdentity?
    package var outcome: Outcome
    package var detail: String
    /// The advice, as an imperative.
    package var fix: String?
    /// The exit status of a command because of it; `ok` unless it failed.
    package var status: ExitStatus

    static func ok(_ check: String, _ app: AppIdentity? = nil, _ detail: String) -> Diagnosis {
        Diagnosis(check: check, app: app, outcome: .ok, detail: detail, status: .ok)
    }

    static func warning(
        _ check: String, _ app: AppIdentity? = nil, _ detail: String, fix: String
    ) -> Diagnosis {
        Diagnosis(
            check: check, app: app, outcome: .warning, detail: detail, fix: fix, status: .ok)
    }

    static func failed(
        _ check: String, _ app: AppIdentity? = nil, _ detail: String, fix: String?,
        _ status: ExitStatus
    ) -> Diagnosis {
        Diagnosis(
            check: check, app: app, outcome: .failed, detail: detail, fix: fix, status: status)
    }

    static func skipped(
        _ check: String, _ app: AppIdentity? = nil, _ detail: String
    ) -> Diagnosis {
        Diagnosis(check: check, app: app, outcome: .skipped, detail: detail, status: .ok)
    }

    /// A failure whose message already says what to do.
    static func failed(
        _ check: String, _ app: AppIdentity? = nil, _ error: any Error
    ) -> Diagnosis {
        if let error = error as? ConfigurationError {
            var plain = error
            plain.suggestion = nil
            return failed(check, app, plain.description, fix: error.suggestion, error.status)
        }
        let report = ErrorReport(error)
        return failed(check, app, report.message, fix: nil, report.status)
    }

    /// Returns a failure as a warning, for what does not stop a run.
    static func warning(
        _ check: String, _ app: AppIdentity? = nil, _ error: any Error
    ) -> Diagnosis {
        var diagnosis = failed(check, app, error)
        diagnosis.outcome = .warning
        diagnosis.status = .ok
        return diagnosis
    }

    var json: CanonicalJSON {
        .object([
            "check": .string(check),
            "app": .text(app?.bundleID),
            "environment": .text(app?.environment.rawValue),
            "outcome": .string(outcome.rawValue),
            "detail": .string(detail),
            "fix": .text(fix),
            "exit_status": .integer(Int64(status.code)),
        ])
    }

    /// One line for a person.
    func line(isColoured: Bool) -> String {
        let (word, colour) =
            switch outcome {
            case .ok: ("ok     ", "32")
            case .warning: ("WARNING", "33")
            case .failed: ("FAILED ", "1;31")
            case .skipped: ("skipped", "2")
            }
        var text = isColoured ? "\u{1B}[\(colour)m\(word)\u{1B}[0m" : word
        text += "  " + check.padded(to: 12) + "  "
        if let app { text += "\(app.bundleID) \(app.environment.rawValue): " }
        let detail = PlainText.of(detail)
        text += detail
        if let fix { text += (detail.hasSuffix(".") ? " Fix: " : ". Fix: ") + PlainText.of(fix) }
        return text
    }
}
