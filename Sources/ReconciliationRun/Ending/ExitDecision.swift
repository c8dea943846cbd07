import Reconciliation
package import Subscriptions

/// Everything that decides how a run ends, as a value.
package struct ExitDecision: Hashable, Sendable {
    package var end: RunEnd
    /// Whether Apple answered anything at all; `nil` when nothing had to be asked.
    package var appleAnswered: Bool?
    package var totals: RunTotals
    package var walks: Bool
    package var unresolved: [Severity: Int]
    package var failOn: Severity?
    /// A check has nothing to stop: there they are only told.
    package var guardBreaches: [String]
    package var mode: RunMode
    /// Histories, of notifications or of transactions, that could not be read to their end.
    package var incompleteReadings: [String]
    /// Set when the run worked off a plan or took a run back, and judged nothing itself.
    package var planned: PlannedEnding?

    package init(
        end: RunEnd, appleAnswered: Bool?, totals: RunTotals, walks: Bool,
        unresolved: [Severity: Int], failOn: Severity?, guardBreaches: [String], mode: RunMode,
        incompleteReadings: [String]
    ) {
        self.end = end
        self.appleAnswered = appleAnswered
        self.totals = totals
        self.walks = walks
        self.unresolved = unresolved
        self.failOn = failOn
        self.guardBreaches = guardBreaches
        self.mode = mode
        self.incompleteReadings = incompleteReadings
    }

    /// Every status that holds.
    package var statuses: [ExitStatus] {
        var held: [ExitStatus] = []
        switch end {
        case .completed: break
        case .deadline: held.append(.incomplete)
        case .signal(let number): held.append(number == 15 ? .terminated : .interrupted)
        case .stop(.denied): held.append(.denied)
        case .stop(.misconfigured): held.append(.config)
        case .stop(.quotaWaitPastDeadline): held += [.busy, .incomplete]
        case .stop(.cancelled): held.append(.incomplete)
        case .unavailable: held.append(.incomplete)
        case .unreadable: held.append(.protocol)
        case .store(let error): held.append(Self.status(of: error))
        }
        if appleAnswered == false, held.allSatisfy({ $0 == .incomplete }) {
            held.append(.unavailable)
        }
        if !guardBreaches.isEmpty, mode == .apply { held.append(.guarded) }
        if let planned {
            held += planned.statuses
            return ExitStatus.allCases.filter(Set(held).contains)
        }
        if totals.undecidedCount > 0 || !incompleteReadings.isEmpty { held.append(.incomplete) }
        if let failOn, unresolved.contains(where: { $0.key >= failOn && $0.value > 0 }) {
            held.append(.findings)
        }
        if walks, totals.inScope == 0, case .completed = end { held.append(.empty) }
        return ExitStatus.allCases.filter(Set(held).contains)
    }

    package static func status(of error: StoreError) -> ExitStatus {
        switch error {
        case .unavailable: .unavailable
        case .notWritten: .output
        case .busy: .busy
        case .schema: .config
        case .inconsistent: .internal
        }
    }
}
