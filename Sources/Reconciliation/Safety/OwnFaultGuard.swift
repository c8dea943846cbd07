import Subscriptions

/// `max_own_fault`: the dates differ from Apple's in a way that points to a fault of our own.
///
/// A constant offset within one period is a time zone, a factor of 1,000 a wrong unit. Correcting
/// row by row would hide the cause, and the faulty writer would write the same dates again.
struct OwnFaultGuard: PlanGuard {
    let name = GuardName.maxOwnFault

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        guard let allowed = limits.maxOwnFault else { return nil }
        let faults = plan.survey.faults
        var sentences: [String] = []
        if isTooMany(faults.divided, limits, allowed) {
            sentences.append(
                sentence(
                    faults.divided, "are Apple's divided by 1,000",
                    "seconds are stored where milliseconds belong"))
        }
        if isTooMany(faults.multiplied, limits, allowed) {
            sentences.append(
                sentence(
                    faults.multiplied, "are Apple's multiplied by 1,000",
                    "microseconds are stored where milliseconds belong"))
        }
        if let (quarters, group) = faults.sharedOffset, isTooMany(group, limits, allowed) {
            sentences.append(
                sentence(
                    group, of: faults.withinOnePeriod, Self.text(of: quarters),
                    "local times are stored as if they were UTC"))
        }
        guard !sentences.isEmpty else { return nil }
        return sentences.joined(separator: " ") + " This looks like one fault of our own, not like "
            + "news from Apple; max_own_fault allows \(allowed) rows. Mend what writes these dates "
            + "first, then run again: else it writes them so again."
    }

    private func isTooMany(_ group: OwnFaults.Group, _ limits: GuardLimits, _ allowed: Int) -> Bool
    {
        group.rows >= max(1, limits.minChanges) && group.rows > allowed
    }

    private func sentence(
        _ group: OwnFaults.Group, of all: Int? = nil, _ how: String, _ why: String
    ) -> String {
        let rows = all.map { all in
            (all == group.rows ? "All \(all)" : "\(group.rows) of the \(all)")
                + " dates that differ within one period"
        }
        return "\(rows ?? "\(group.rows) dates") \(how): \(why) (for example "
            + "\(group.examples.joined(separator: ", ")))."
    }

    /// For example `are 8 h later than Apple's`, `are 1 h or 2 h later than Apple's`.
    private static func text(of quarters: [Int]) -> String {
        let isLater = (quarters.first ?? 0) > 0
        let amounts = quarters.map { quarters in
            let (hours, minutes) = (abs(quarters) / 4, abs(quarters) % 4 * 15)
            return [hours > 0 ? "\(hours) h" : nil, minutes > 0 ? "\(minutes) min" : nil]
                .compactMap(\.self).joined(separator: " ")
        }
        return "are \(amounts.joined(separator: " or ")) \(isLater ? "later" : "earlier") "
            + "than Apple's"
    }
}
