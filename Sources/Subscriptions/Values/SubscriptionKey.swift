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

extension SubscriptionKey {
    /// Another subscription as a correction of this one names it: by its id, and by its app as well
    /// where that is another one.
    package func name(of other: SubscriptionKey) -> String {
        other.bundleID.hasSameBytes(as: bundleID)
            ? other.originalTransactionID : other.nameElsewhere
    }

    /// The subscription as corrections of other apps name it.
    package var nameElsewhere: String { "\(bundleID)/\(originalTransactionID)" }

    /// Whether such a name is that of a subscription of another app.
    package static func isOfAnotherApp(_ name: String) -> Bool {
        name.utf8.contains(UInt8(ascii: "/"))
    }

    /// The subscription that a correction of this one names.
    package func named(_ name: String) -> SubscriptionKey {
        let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return SubscriptionKey(
            bundleID: parts.count == 2 ? String(parts[0]) : bundleID, environment: environment,
            originalTransactionID: parts.last.map(String.init) ?? name)
    }
}

/// The environments of the App Store whose answers Apple signs.
package enum AppStoreEnvironment: String, Hashable, Sendable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"
}

/// One app in one environment: the unit of Apple's quota, of tokens and of watermarks.
package struct AppIdentity: Hashable, Comparable, Sendable {
    package let bundleID: String
    package let environment: AppStoreEnvironment

    package init(bundleID: String, environment: AppStoreEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    /// From texts as they are stored; `nil` where the environment is none of Apple's.
    package init?(bundleID: String, environment: String) {
        guard let environment = AppStoreEnvironment(rawValue: environment) else { return nil }
        self.init(bundleID: bundleID, environment: environment)
    }

    /// As `--app` takes it.
    package var name: String { "\(bundleID)/\(environment.rawValue.lowercased())" }

    /// Whether a row with this key is of the app.
    package func owns(_ key: SubscriptionKey) -> Bool {
        bundleID == key.bundleID && environment.rawValue == key.environment
    }

    package static func < (left: AppIdentity, right: AppIdentity) -> Bool {
        (left.bundleID, left.environment.rawValue) < (right.bundleID, right.environment.rawValue)
    }
}

/// How many stored rows name one app and environment, configured or not.
package struct AppRows: Hashable, Sendable {
    /// As stored; a row may name anything.
    package var bundleID: String
    package var environment: String
    package var rows: Int

    package init(bundleID: String, environment: String, rows: Int) {
        self.bundleID = bundleID
        self.environment = environment
        self.rows = rows
    }

    /// Whether the rows are of this app.
    package func belong(to app: AppIdentity) -> Bool {
        bundleID == app.bundleID && environment == app.environment.rawValue
    }
}

extension Dictionary {
    /// Makes a dictionary of pairs; where several have one key, the first counts.
    package init(keepingFirst pairs: some Sequence<(Key, Value)>) {
        self.init(pairs, uniquingKeysWith: { first, _ in first })
    }
}

/// A transaction id in the only form that may enter a URL: one to twenty ASCII digits.
///
/// Apple carries ids as JSON strings of decimal digits. Everything else in a local table (rounded
/// numbers, white space, `2.0E+15`) is a finding, never a request. Twenty digits hold every
/// unsigned 64-bit number; the limit keeps a corrupt column out of the path.
package struct TransactionID: Hashable, Sendable, CustomStringConvertible {
    package static let maximumDigits = 20

    package let text: String

    /// `nil` when the text is not a plain decimal number.
    package init?(_ text: String) {
        guard (1...Self.maximumDigits).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        self.text = text
    }

    package var description: String { text }
}
