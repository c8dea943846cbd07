import Subscriptions

extension RunSummary {
    /// What an exit status means of this run, which came so far as to report: it has its settings, its
    /// key and the lock.
    func meaning(of status: ExitStatus) -> String {
        switch status {
        case .denied: "Apple refuses the key (401)"
        case .busy: "waiting for the quota would pass the deadline"
        case .unavailable:
            hasOnlyFailedCalls
                ? "no call to Apple succeeded" : "the database could not be read or written"
        case .findings where conclusion.exitStatus != .findings:
            // Something graver holds, so it is not complete.
            "findings at or above fail_on remain"
        default: status.meaning
        }
    }

    private var hasOnlyFailedCalls: Bool {
        let made = conclusion.calls.filter { $0.calls > 0 }
        return !made.isEmpty && !made.contains { ["ok", "not_found"].contains($0.result) }
    }
}
