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

    package static func < (left: SubscriptionKey, right: SubscriptionKey) -> Bool {
        for part in [\SubscriptionKey.bundleID, \.environment, \.originalTransactionID]
        where left[keyPath: part] != right[keyPath: part] {
            return left[keyPath: part].utf8.lexicographicallyPrecedes(right[keyPath: part].utf8)
        }
        return false
    }
}
