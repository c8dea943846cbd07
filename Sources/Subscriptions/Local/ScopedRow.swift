/// A local row together with what the store knows about it: all that a judgement needs.
package struct ScopedRow: Hashable, Sendable {
    package var row: LocalSubscription
    /// Other rows that hold the same original transaction or the same web order line item.
    package var duplicates: [SubscriptionKey]
    /// Earlier nights on which Apple did not find it.
    package var absence: AbsenceRecord?
    /// The stored periods of this subscription; empty where none are kept.
    package var periods: [LocalTransaction]
    /// Where the next reading of Apple's history of this subscription begins.
    package var historyRevision: String?

    package init(
        row: LocalSubscription, duplicates: [SubscriptionKey] = [], absence: AbsenceRecord? = nil,
        periods: [LocalTransaction] = [], historyRevision: String? = nil
    ) {
        self.row = row
        self.duplicates = duplicates
        self.absence = absence
        self.periods = periods
        self.historyRevision = historyRevision
    }
}

/// On how many distinct UTC days runs asked for an id that Apple did not find.
package struct AbsenceRecord: Hashable, Sendable {
    package var firstDay: String
    package var lastDay: String
    package var distinctDays: Int

    package init(firstDay: String, lastDay: String, distinctDays: Int) {
        self.firstDay = firstDay
        self.lastDay = lastDay
        self.distinctDays = distinctDays
    }

    /// The record after a run on `day` did not find it either.
    package static func after(_ earlier: AbsenceRecord?, day: String) -> AbsenceRecord {
        guard let earlier else {
            return AbsenceRecord(firstDay: day, lastDay: day, distinctDays: 1)
        }
        guard day > earlier.lastDay else { return earlier }
        return AbsenceRecord(
            firstDay: earlier.firstDay, lastDay: day, distinctDays: earlier.distinctDays + 1)
    }
}
