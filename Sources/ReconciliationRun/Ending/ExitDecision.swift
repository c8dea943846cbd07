import Reconciliation
import Subscriptions

/// Everything that decides how a run ends, as a value.
struct ExitDecision: Hashable, Sendable {
    var end: RunEnd
    /// Whether Apple answered anything at all; `nil` when nothing had to be asked.
    var appleAnswered: Bool?
    var totals: RunTotals
    var walks: Bool
    var unresolved: [Severity: Int]
    var failOn: Severity?
    /// A check has nothing to stop: there they are only told.
    var guardBreaches: [String]
    var mode: RunMode
    /// Parts of the notification history that could not be read.
    var incompleteRecoveries: [String]

    /// Every status that holds.
    var statuses: [ExitStatus] {
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
        if totals.undecidedCount > 0 || !incompleteRecoveries.isEmpty { held.append(.incomplete) }
        if let failOn, unresolved.contains(where: { $0.key >= failOn && $0.value > 0 }) {
            held.append(.findings)
        }
        if walks, totals.inScope == 0, case .completed = end { held.append(.empty) }
        return ExitStatus.allCases.filter(Set(held).contains)
    }

    static func status(of error: StoreError) -> ExitStatus {
        switch error {
        case .unavailable: .unavailable
        case .notWritten: .output
        case .busy: .busy
        case .schema: .config
        case .inconsistent: .internal
        }
    }
}
