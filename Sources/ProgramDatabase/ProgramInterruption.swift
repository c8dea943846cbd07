import Glibc
import Subscriptions
import Synchronization

/// Kills for `StoreContract`.
extension ProgramCompany {
    /// Sends a unit, and kills the program a moment later; the next request starts it again.
    func interrupt(
        _ unit: [(change: CompanyChange, entry: CompanyLedgerEntry)], after delay: Duration
    ) throws(StoreError) {
        let items = unit.map { item($0.change, $0.entry) }
        try interrupt(.write, ["unit": .array(items)], after: delay)
    }

    /// Sends a request that changes nothing, and kills the program a moment later.
    func interrupt(
        _ request: ProgramRequest, _ keys: [SubscriptionKey], after delay: Duration
    ) throws(StoreError) {
        let members: [String: CanonicalJSON] =
            request == .rows
            ? ["keys": .array(keys.map(\.json))]
            : [
                "after": request == .page ? .null : .integer(0), "limit": .integer(1000),
            ]
        try interrupt(request, members, after: delay)
    }

    /// Starts the program where it was ended.
    func revive() throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            if state.process == nil { try restart(&state) }
        }
    }

    private func interrupt(
        _ request: ProgramRequest, _ members: [String: CanonicalJSON], after delay: Duration
    ) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            if state.process == nil { try restart(&state) }
            let line = Self.line(of: request, members, &state)
            // At first it does not even read the line.
            if delay == .zero { state.process?.pause() }
            state.process?.say(line, within: command.timeoutMilliseconds)
            usleep(UInt32(clamping: Int64(delay / .microseconds(1))))
            state.process?.end(within: .zero)
            try restart(&state)
        }
    }
}
