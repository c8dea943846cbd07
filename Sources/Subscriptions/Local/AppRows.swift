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
