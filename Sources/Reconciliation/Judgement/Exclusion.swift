package import Subscriptions

/// Why a row is excluded without asking Apple; `nil` when Apple is to be asked.
///
/// A row that was signed a moment ago is in flight: its writer may not have finished, and Apple's
/// answers lag. A date in the future does not count (`settle` in jobs/nightly.yaml).
package func exclusion(of row: LocalSubscription, policy: Policy) -> ExclusionReason? {
    guard let signed = row.signedDate, signed <= policy.now,
        policy.now.milliseconds(since: signed) < policy.settleMilliseconds
    else { return nil }
    return .inFlight
}

/// The app through which Apple is asked about a row; `nil` for rows of an app that is not
/// configured, about which nobody is asked.
///
/// A few rows of another bundle are asked through the app of their environment, so that `wrong_app`
/// can be proved; `judge` excludes them when that app does not know them.
package func appToAsk(about row: LocalSubscription, policy: Policy) -> AppIdentity? {
    let apps = policy.apps.filter { $0.environment.rawValue == row.key.environment }
    return apps.first { $0.bundleID == row.key.bundleID }
        ?? (policy.strayBundles.contains(row.key.bundleID) ? apps.min() : nil)
}

/// The bundles that are not configured and that only a few rows name.
///
/// Many rows mean another app, or wrong settings: asking about each would cost calls and prove
/// nothing.
package func strayBundles(among table: [AppRows], apps: [AppIdentity]) -> Set<String> {
    let mostRows = 100
    let largestShare = 0.05
    let all = Double(table.reduce(0) { $0 + $1.rows })
    let strangers = table.filter { rows in !apps.contains { $0.bundleID == rows.bundleID } }
    return Set(
        Dictionary(grouping: strangers, by: \.bundleID).compactMap { bundle, groups in
            let rows = groups.reduce(0) { $0 + $1.rows }
            return rows <= mostRows && Double(rows) <= largestShare * all ? bundle : nil
        })
}
