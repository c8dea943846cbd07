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
