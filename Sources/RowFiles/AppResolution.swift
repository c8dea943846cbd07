import Subscriptions

/// Resolves the app of a line that does not name bundle and environment.
struct AppResolution {
    let apps: [AppIdentity]

    /// Bundle and environment of a line: absent ones mean the only configured app that fits.
    func resolve(
        bundleID: String?, environment: String?
    ) throws(BadField) -> (bundleID: String, environment: String) {
        if let environment, AppStoreEnvironment(rawValue: environment) == nil {
            let names = AppStoreEnvironment.allCases.map(\.rawValue)
            let nearest = NearestName.suggestion(for: environment, among: names)
            throw BadField(
                "environment", environment.utf8,
                "is unknown; "
                    + (nearest.map { "write \($0)" } ?? "known are \(names.joined(separator: ", "))")
            )
        }
        if let bundleID, let environment { return (bundleID, environment) }
        let fitting = apps.filter { app in
            (bundleID ?? app.bundleID) == app.bundleID
                && (environment ?? app.environment.rawValue) == app.environment.rawValue
        }
        guard fitting.count == 1, let app = fitting.first else {
            throw ambiguous(bundleID: bundleID, environment: environment, fitting: fitting)
        }
        return (app.bundleID, app.environment.rawValue)
    }

    private func ambiguous(
        bundleID: String?, environment: String?, fitting: [AppIdentity]
    ) -> BadField {
        let absent =
            bundleID == nil
            ? (environment == nil ? "bundle_id and environment are" : "bundle_id is")
            : "environment is"
        let reason =
            fitting.isEmpty
            ? "no configured app fits"
            : "several apps are configured: "
                + fitting.map { "\($0.bundleID) in \($0.environment.rawValue)" }
                .joined(separator: ", ")
        return BadField("\(absent) empty and \(reason)")
    }
}
