import Subscriptions

/// The gravest of very many findings that nothing has resolved, never holding many more than it gives.
struct WorstFindings {
    /// Findings that are open: neither corrected nor acknowledged.
    static let openStates: Set<FindingState> = [.new, .open, .recurring]

    let limit: Int
    /// How many came, those that were not kept among them.
    private(set) var count = 0
    private var held: [Held] = []

    private struct Held {
        let finding: ReportedFinding
        let order: Int
    }

    init(limit: Int) { self.limit = limit }

    /// Findings must come in the order of the report.
    mutating func add(_ finding: ReportedFinding) {
        guard Self.openStates.contains(finding.state) else { return }
        held.append(Held(finding: finding, order: count))
        count += 1
        if held.count >= 2 * max(1, limit) { cut() }
    }

    /// By severity, then new before others, then in the order of the report.
    var sorted: [ReportedFinding] {
        var all = self
        all.cut()
        return all.held.map(\.finding)
    }

    private mutating func cut() {
        held.sort { left, right in
            let (first, second) = (left.finding, right.finding)
            guard first.finding.severity == second.finding.severity else {
                return first.finding.severity > second.finding.severity
            }
            let (isNew, isOtherNew) = (first.state == .new, second.state == .new)
            return isNew == isOtherNew ? left.order < right.order : isNew
        }
        held.removeLast(max(0, held.count - limit))
    }
}
