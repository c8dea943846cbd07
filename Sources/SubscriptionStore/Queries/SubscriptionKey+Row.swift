import GRDB
import Subscriptions

extension SubscriptionKey {
    /// The key in the order of the primary key, to bind.
    var arguments: StatementArguments { [bundleID, environment, originalTransactionID] }

    /// Reads three columns in the order of the primary key.
    init(_ row: Row, at index: Int) {
        self.init(
            bundleID: row.requiredText(at: index), environment: row.requiredText(at: index + 1),
            originalTransactionID: row.requiredText(at: index + 2))
    }
}
