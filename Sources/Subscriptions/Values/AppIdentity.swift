/// Apple's environments in which real answers exist.
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

    package static func < (left: AppIdentity, right: AppIdentity) -> Bool {
        (left.bundleID, left.environment.rawValue) < (right.bundleID, right.environment.rawValue)
    }
}
