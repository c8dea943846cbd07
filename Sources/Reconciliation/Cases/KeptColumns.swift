package import Subscriptions

/// What a table of the company's keeps of what Apple states, where it is not in our form.
///
/// By default everything is kept, each value as it is.
package struct KeptColumns: Hashable, Sendable {
    /// Columns that nothing is judged by: the table does not have them.
    package var leftOut: Set<SubscriptionField>
    /// Apple's numbers of a status for which the table has the word of another one.
    package var statuses: [Int: Int]
    /// Whether rows may be inserted.
    package var takesInserts: Bool

    package init(
        leftOut: Set<SubscriptionField> = [], statuses: [Int: Int] = [:],
        takesInserts: Bool = true
    ) {
        self.leftOut = leftOut
        self.statuses = statuses
        self.takesInserts = takesInserts
    }

    /// What a mapping keeps.
    package init(_ mapping: TableMapping) {
        var statuses: [Int: Int] = [:]
        for (number, kept) in mapping.statusesKeptAs {
            statuses[Int(clamping: number)] = Int(clamping: kept)
        }
        self.init(
            leftOut: mapping.notKept, statuses: statuses, takesInserts: mapping.inserts != nil)
    }

    func leavesOut(_ field: SubscriptionField) -> Bool { leftOut.contains(field) }
}
