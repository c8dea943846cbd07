/// The key of a local row, as stored: texts, because a broken row must still be nameable.
///
/// Ordered by bundle, environment and original transaction id, each by its UTF-8 bytes: the order
/// of SQLite's BINARY collation, of the walk and of every report.
package struct SubscriptionKey: Hashable, Comparable, Sendable {
    package let bundleID: String
    package let environment: String
    package let originalTransactionID: String

    package init(bundleID: String, environment: String, originalTransactionID: String) {
        self.bundleID = bundleID
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }

    package init(app: AppIdentity, originalTransactionID: String) {
        self.init(
            bundleID: app.bundleID, environment: app.environment.rawValue,
            originalTransactionID: originalTransactionID)
    }

    /// Equal bytes: Unicode's equivalent spellings are different rows to the database.
    package static func == (left: SubscriptionKey, right: SubscriptionKey) -> Bool {
        left.originalTransactionID.hasSameBytes(as: right.originalTransactionID)
            && left.bundleID.hasSameBytes(as: right.bundleID)
            && left.environment.hasSameBytes(as: right.environment)
    }

    package static func < (left: SubscriptionKey, right: SubscriptionKey) -> Bool {
        if !left.bundleID.hasSameBytes(as: right.bundleID) {
            return left.bundleID.precedesByBytes(right.bundleID)
        }
        if !left.environment.hasSameBytes(as: right.environment) {
            return left.environment.precedesByBytes(right.environment)
        }
        return left.originalTransactionID.precedesByBytes(right.originalTransactionID)
    }
}
