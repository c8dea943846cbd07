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
        left.originalTransactionID.utf8.elementsEqual(right.originalTransactionID.utf8)
            && left.bundleID.utf8.elementsEqual(right.bundleID.utf8)
            && left.environment.utf8.elementsEqual(right.environment.utf8)
    }

    package static func < (left: SubscriptionKey, right: SubscriptionKey) -> Bool {
        if !left.bundleID.utf8.elementsEqual(right.bundleID.utf8) {
            return left.bundleID.utf8.lexicographicallyPrecedes(right.bundleID.utf8)
        }
        if !left.environment.utf8.elementsEqual(right.environment.utf8) {
            return left.environment.utf8.lexicographicallyPrecedes(right.environment.utf8)
        }
        return left.originalTransactionID.utf8.lexicographicallyPrecedes(
            right.originalTransactionID.utf8)
    }
}
