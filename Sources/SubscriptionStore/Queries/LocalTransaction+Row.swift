import GRDB
import Subscriptions

extension LocalTransaction {
    /// The columns that `init(_:)` reads, of the table `t`.
    static let columns =
        TransactionField.allCases.map { "t." + $0.rawValue }.joined(separator: ", ")

    /// Reads a row of `columns`; what is not of a column's form stands in `unreadable`.
    init(_ row: Row) {
        var reader = ColumnReader<TransactionField>(row)
        self.init(
            key: TransactionKey(
                bundleID: reader.key(.bundleID), environment: reader.key(.environment),
                transactionID: reader.key(.transactionID)),
            originalTransactionID: reader.key(.originalTransactionID))
        reader.read(into: &self)
        unreadable = reader.unreadable
        emptyTexts = reader.emptyTexts
    }
}
