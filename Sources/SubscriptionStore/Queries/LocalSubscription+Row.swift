import GRDB
import Subscriptions

extension LocalSubscription {
    /// The columns that `init(_:)` reads, of the table `s`.
    static let columns =
        SubscriptionField.allCases.map { "s." + $0.rawValue }.joined(separator: ", ")
        + ", s.row_version"

    /// How many columns those are: what a query adds comes after them.
    static let columnCount = SubscriptionField.allCases.count + 1

    /// Reads a row of `columns`; what is not of a column's form stands in `unreadable`.
    init(_ row: Row) {
        var reader = ColumnReader<SubscriptionField>(row)
        self.init(
            key: SubscriptionKey(
                bundleID: reader.key(.bundleID), environment: reader.key(.environment),
                originalTransactionID: reader.key(.originalTransactionID)))
        reader.read(into: &self)
        rowVersion = row.integer(at: Self.columnCount - 1) ?? 0
        unreadable = reader.unreadable
        emptyTexts = reader.emptyTexts
    }
}
