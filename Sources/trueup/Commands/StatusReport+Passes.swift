import Subscriptions

/// What `status` says of complete passes: over all rows, or by app where a worker's runs are for some
/// apps alone.
extension StatusReport {
    /// When the newest pass over all rows began, or, where each configured app was passed over by
    /// itself, the oldest of these passes.
    var lastCompletePass: Timestamp? {
        let passes = apps.map { overview.completePasses[$0] }
        let byApp = passes.contains(nil) ? nil : passes.compactMap(\.self).min()
        return [overview.lastCompletePass, byApp].compactMap(\.self).max()
    }

    /// The configured apps of which these books know a complete pass, and any other.
    private var passedApps: [AppIdentity] { overview.completePasses.keys.sorted() }

    /// Whether the passes over single apps say more than the one over all rows.
    private var differByApp: Bool {
        overview.completePasses.values.contains { $0 != overview.lastCompletePass }
    }

    var passLines: [String] {
        guard differByApp else {
            return [
                "Coverage   "
                    + (lastCompletePass.map { "the last complete pass began \(moment($0))" }
                        ?? "no pass over all rows has been completed yet")
            ]
        }
        var lines = ["Coverage   by app, the last complete pass began"]
        for app in passedApps {
            lines.append(
                "           \(PlainText.of(app.name))  "
                    + (overview.completePasses[app].map(moment) ?? ""))
        }
        let others = apps.count { overview.completePasses[$0] == nil }
        if others > 0 {
            lines.append(
                "           none yet by this worker for \(others) other "
                    + (others == 1 ? "app" : "apps"))
        }
        return lines
    }

    var completePassesJSON: CanonicalJSON {
        .array(
            Set(apps).union(passedApps).sorted().map { app in
                .object([
                    "began": .time(overview.completePasses[app]),
                    "bundle_id": .string(app.bundleID),
                    "environment": .string(app.environment.rawValue),
                ])
            })
    }
}
