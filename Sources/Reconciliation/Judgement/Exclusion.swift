package import Subscriptions

/// Why a row is left out before Apple is asked; `nil` when it is to be asked for.
///
/// A row that was signed a moment ago is in flight: whatever wrote it may still be writing, and
/// Apple's answers lag. A date in the future is not young (contract, section 3, `settle`).
package func exclusion(of row: LocalSubscription, policy: Policy) -> ExclusionReason? {
    guard let signed = row.signedDate, signed <= policy.now,
        policy.now.milliseconds(since: signed) < policy.settleMilliseconds
    else { return nil }
    return .inFlight
}

/// The app through which a row is asked for: its own where that is configured.
///
/// A row of another bundle or environment is asked through an app that might know it, so that
/// `wrong_app` and `wrong_environment` can be proved; `judge` excludes it when that one does not.
/// `nil` only when no app is configured.
package func appToAsk(about row: LocalSubscription, policy: Policy) -> AppIdentity? {
    let apps = policy.apps.sorted()
    return apps.first {
        $0.bundleID == row.key.bundleID && $0.environment.rawValue == row.key.environment
    } ?? apps.first { $0.environment.rawValue == row.key.environment }
        ?? apps.first { $0.bundleID == row.key.bundleID } ?? apps.first
}
