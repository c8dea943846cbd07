package import Subscriptions

/// Why a row is left out before Apple is asked; `nil` when it is to be asked for.
///
/// A row that was signed a moment ago is in flight: whatever wrote it may still be writing, and
/// Apple's answers lag. A date in the future is not young (`settle` in jobs/nightly.yaml).
package func exclusion(of row: LocalSubscription, policy: Policy) -> ExclusionReason? {
    guard let signed = row.signedDate, signed <= policy.now,
        policy.now.milliseconds(since: signed) < policy.settleMilliseconds
    else { return nil }
    return .inFlight
}

/// The app through which a row is asked for; `nil` for a row of an app that is not configured, which
/// costs no call.
///
/// A few rows of another bundle are asked through the app of their environment, so that `wrong_app`
/// can be proved; `judge` excludes them when that app does not know them.
package func appToAsk(about row: LocalSubscription, policy: Policy) -> AppIdentity? {
    let apps = policy.apps.sorted().filter { $0.environment.rawValue == row.key.environment }
    return apps.first { $0.bundleID == row.key.bundleID }
        ?? (policy.strayBundles.contains(row.key.bundleID) ? apps.first : nil)
}

/// Bundles that are not configured and of which there are only a few rows.
///
/// More than a few are another app's rows, or the settings name the wrong app: asking about each
/// would cost calls and prove nothing.
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
