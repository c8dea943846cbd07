/// Every exit status of `trueup`, in one table (docs/exit-statuses.md).
///
/// The order of the cases is the order of precedence when several hold: the first one wins.
package enum ExitStatus: String, Hashable, Sendable, CaseIterable {
    case `internal`
    case config
    case usage
    case data
    case denied
    case `protocol`
    case busy
    case unavailable
    case cannotCreate = "cannot_create"
    case output
    case hungUp = "hung_up"
    case interrupted
    case terminated
    case failure
    case tampered
    case stale
    case guarded = "guard"
    case incomplete
    case empty
    case findings
    case ok

    package var code: Int32 { definition.code }

    /// When a command ends with it, in a few words.
    package var meaning: String { definition.meaning }

    /// The name in `summary.json` and `--help`; several codes may share one.
    package var name: String {
        switch self {
        case .cannotCreate, .output: "output"
        case .hungUp, .interrupted, .terminated: "signal"
        default: rawValue
        }
    }

    private var definition: (code: Int32, meaning: String) {
        switch self {
        case .ok: (0, "complete; nothing unresolved at or above fail_on")
        case .failure: (1, "an unclassified failure; please report it")
        case .findings: (2, "complete; findings at or above fail_on remain")
        case .incomplete: (3, "some rows could not be checked; the next run tries again")
        case .guarded:
            (4, "a guard or a hook stopped the run; no row was written, except a canary's")
        case .empty: (5, "nothing in scope")
        case .stale: (6, "a plan was refused because rows changed since")
        case .tampered: (7, "a broken signature, chain, manifest or total")
        case .usage: (64, "bad arguments")
        case .data: (65, "an input file cannot be used")
        case .unavailable: (69, "the database cannot be opened, or no call to Apple succeeded")
        case .internal: (70, "a check inside trueup failed; it stopped before it could do harm")
        case .cannotCreate: (73, "an output cannot be created")
        case .output: (74, "an output or the database cannot be written")
        case .busy: (75, "another run holds the lock, or the quota wait would pass the deadline")
        case .protocol: (76, "Apple's answers cannot be verified or decoded")
        case .denied: (77, "Apple refuses the key (401), or other users can read the key file")
        case .config: (78, "the settings are wrong, or Apple does not know the app")
        case .hungUp: (129, "stopped by SIGHUP (the terminal is gone); a checkpoint is kept")
        case .interrupted: (130, "stopped by SIGINT; a checkpoint is kept")
        case .terminated: (143, "stopped by SIGTERM; a checkpoint is kept")
        }
    }

    /// The one to exit with when several hold; `ok` when none does.
    package static func decisive(of statuses: some Sequence<ExitStatus>) -> ExitStatus {
        let held = Set(statuses)
        return allCases.first(where: held.contains) ?? .ok
    }
}

/// The errors of the database; the text says what happened and what to do next.
package enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could not be opened.
    case unavailable(String)
    /// It could not be written: full disk, read-only, I/O error.
    case notWritten(String)
    /// Another program held it locked for longer than our patience.
    case busy(String)
    /// The schema is not trueup's or not this version's.
    case schema(String)
    /// An invariant broke.
    case inconsistent(String)
    /// A signal ended the wait for it.
    case stopped(String)

    package var description: String {
        switch self {
        case .unavailable(let text), .notWritten(let text), .busy(let text), .schema(let text),
            .inconsistent(let text), .stopped(let text):
            text
        }
    }
}

extension StoreError {
    /// With what a command ends that cannot continue because of it.
    package var exitStatus: ExitStatus {
        switch self {
        case .unavailable: .unavailable
        case .notWritten: .output
        case .busy: .busy
        case .schema: .config
        case .inconsistent: .internal
        case .stopped: .terminated
        }
    }
}
