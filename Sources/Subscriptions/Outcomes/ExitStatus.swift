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

    package var code: Int32 {
        switch self {
        case .ok: 0
        case .failure: 1
        case .findings: 2
        case .incomplete: 3
        case .guarded: 4
        case .empty: 5
        case .stale: 6
        case .tampered: 7
        case .usage: 64
        case .data: 65
        case .unavailable: 69
        case .internal: 70
        case .cannotCreate: 73
        case .output: 74
        case .busy: 75
        case .protocol: 76
        case .denied: 77
        case .config: 78
        case .hungUp: 129
        case .interrupted: 130
        case .terminated: 143
        }
    }

    /// The name in `summary.json` and `--help`; several codes may share one.
    package var name: String {
        switch self {
        case .cannotCreate, .output: "output"
        case .hungUp, .interrupted, .terminated: "signal"
        default: rawValue
        }
    }

    /// When a command ends with it, in a few words.
    package var meaning: String {
        switch self {
        case .ok: "complete; nothing unresolved at or above fail_on"
        case .failure: "an unclassified failure; please report it"
        case .findings: "complete; findings at or above fail_on remain"
        case .incomplete: "some rows could not be checked; the next run tries again"
        case .guarded: "a guard or a hook stopped the run; no row was written, except a canary's"
        case .empty: "nothing in scope"
        case .stale: "a plan was refused because rows changed since"
        case .tampered: "a broken signature, chain, manifest or total"
        case .usage: "bad arguments"
        case .data: "an input file cannot be used"
        case .unavailable: "the database cannot be opened, or no call to Apple succeeded"
        case .internal: "a check inside trueup failed; it stopped before it could do harm"
        case .cannotCreate: "an output cannot be created"
        case .output: "an output or the database cannot be written"
        case .busy: "another run holds the lock, or the quota wait would pass the deadline"
        case .protocol: "Apple's answers cannot be verified or decoded"
        case .denied: "Apple refuses the key (401), or other users can read the key file"
        case .config: "the settings are wrong, or Apple does not know the app"
        case .hungUp: "stopped by SIGHUP (the terminal is gone); a checkpoint is kept"
        case .interrupted: "stopped by SIGINT; a checkpoint is kept"
        case .terminated: "stopped by SIGTERM; a checkpoint is kept"
        }
    }

    /// The one to exit with when several hold; `ok` when none does.
    package static func decisive(of statuses: some Sequence<ExitStatus>) -> ExitStatus {
        let held = Set(statuses)
        return allCases.first(where: held.contains) ?? .ok
    }
}
