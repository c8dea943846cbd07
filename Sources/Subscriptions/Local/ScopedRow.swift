/// A stored row with everything else in the store that checking it needs.
package struct ScopedRow: Hashable, Sendable {
    package var row: LocalSubscription
    /// Other rows with the same original transaction id or the same web order line item.
    package var duplicates: [SubscriptionKey]
    /// On which earlier days Apple did not find it.
    package var absence: AbsenceRecord?
    /// The stored periods of this subscription; empty where none are kept.
    package var periods: [LocalTransaction]
    /// From which revision Apple's history of this subscription is read next.
    ///
    /// `nil` for its beginning, also when the stored periods have changed since the last reading.
    package var historyRevision: String?
    /// The digest of the stored periods, by which the next reading notices a change; `nil` where it
    /// was not requested.
    package var periodsDigest: PeriodsDigest?
    /// Whether the history must be read from its beginning: the stored periods have changed since
    /// the last reading, or a finding about them is still open.
    package var needsWholeHistory = false
    /// Whether periods were stored at the last reading, even if none is left now.
    package var keptPeriods = false
    /// Rows stored under the ids of later transactions of this subscription, as far as an earlier
    /// run found any.
    package var aliasRows: [SubscriptionKey] = []
    /// The last check; `nil` where no run has checked the row.
    package var check: CheckRecord?
    /// When Apple signed the newest verified statement about the subscription that any run has
    /// seen, also one that found the row in agreement and wrote nothing.
    package var newestStatement: Timestamp?
    /// Other subscriptions of the same app that its customer pays for.
    package var neighbours: [PaidNeighbour] = []
    /// Whether it is known to be paid for next to another subscription, and that is not resolved.
    package var isKnownOverlap = false

    package init(
        row: LocalSubscription, duplicates: [SubscriptionKey] = [], absence: AbsenceRecord? = nil,
        periods: [LocalTransaction] = []
    ) {
        self.row = row
        self.duplicates = duplicates
        self.absence = absence
        self.periods = periods
    }
}

/// A row as the company's table holds it, with what is next to it there.
package struct StoredSubscription: Hashable, Sendable {
    package var row: LocalSubscription
    /// Other rows that hold the same original transaction or the same web order line item.
    package var duplicates: [SubscriptionKey]
    /// The stored periods of this subscription, by transaction id; empty where none are kept.
    package var periods: [LocalTransaction]
    package var periodsDigest: PeriodsDigest

    package init(
        row: LocalSubscription, duplicates: [SubscriptionKey] = [],
        periods: [LocalTransaction] = [], periodsDigest: PeriodsDigest
    ) {
        self.row = row
        self.duplicates = duplicates
        self.periods = periods
        self.periodsDigest = periodsDigest
    }
}

/// Facts about a subscription that earlier runs recorded.
package struct RowNotes: Hashable, Sendable {
    package var absence: AbsenceRecord?
    /// How far its history was read, and the periods with which that reading agreed.
    package var history: HistoryMark?
    /// Whether a finding about its periods is still open.
    package var hasOpenPeriods = false
    /// Rows of trueup's that are under ids of later transactions of it.
    package var aliasRows: [SubscriptionKey] = []
    package var check: CheckRecord?
    /// When Apple signed the newest verified statement about it that any run has seen.
    package var newestStatement: Timestamp?
    /// Other rows of its customer, app and environment that are paid for, by id.
    package var neighbours: [PaidNeighbour] = []
    /// Whether a finding says that it is paid for next to another one; looked up where there are
    /// neighbours.
    package var isKnownOverlap = false

    package init() {}
}

extension ScopedRow {
    /// Only periods that are still those of the last reading may be read on from its revision.
    package init(_ held: StoredSubscription, _ notes: RowNotes) {
        self.init(
            row: held.row, duplicates: held.duplicates, absence: notes.absence,
            periods: held.periods)
        let agreed = notes.history?.periods
        periodsDigest = held.periodsDigest
        needsWholeHistory =
            notes.hasOpenPeriods || (agreed.map { $0 != held.periodsDigest } ?? false)
        keptPeriods = (agreed?.periods ?? 0) > 0
        if !needsWholeHistory, agreed != nil { historyRevision = notes.history?.revision }
        aliasRows = notes.aliasRows
        check = notes.check
        newestStatement = notes.newestStatement
        neighbours = notes.neighbours
        isKnownOverlap = notes.isKnownOverlap
    }
}

/// The distinct UTC days on which runs asked for an id that Apple did not find.
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

/// The number of stored periods of one subscription, and a digest of their compared columns.
package struct PeriodsDigest: Hashable, Sendable {
    package var periods: Int
    /// SHA-256 in hexadecimal over ids, line items, prices and currencies, and over which other
    /// columns that Apple states of every period are empty.
    package var sha256: String

    package init(periods: Int, sha256: String) {
        self.periods = periods
        self.sha256 = sha256
    }
}

/// How far a subscription's history was read, and the stored periods at that time.
package struct HistoryMark: Hashable, Sendable {
    /// From which revision the next reading continues.
    package var revision: String
    /// The stored periods that were compared; `nil` where that is not known.
    package var periods: PeriodsDigest?

    package init(revision: String, periods: PeriodsDigest?) {
        self.revision = revision
        self.periods = periods
    }
}
