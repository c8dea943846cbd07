import HTTPTransport
import Subscriptions

/// Says why Apple is likely to have answered 401, from what can be known here.
struct Denial {
    /// Beyond it, a clock is a likelier cause than a key: tokens live for minutes.
    private static let suspiciousSkewMilliseconds: Int64 = 60_000

    let app: AppIdentity
    let keyID: String
    /// The `Date` header of the refusal.
    let serverDate: String?
    let wallClock: Timestamp

    /// A sentence or three; the key id is not a secret, the token would be.
    var text: String {
        let refusal =
            "Apple refuses key \(keyID) for \(app.bundleID) in \(app.environment.rawValue)"
            + " with 401, also with a new token."
        if let skew { return refusal + " " + skew }
        let key =
            " Likely: the key is revoked or not an In-App Purchase key, or key_id, issuer_id and"
            + " bundle_id do not belong together."
        switch app.environment {
        case .production:
            return refusal + key
                + " Apple also answers so in production for an app without a production release."
        case .sandbox: return refusal + key
        }
    }

    private var skew: String? {
        guard let serverDate, let server = HTTPDate.unixMilliseconds(serverDate) else { return nil }
        let ahead = wallClock.unixMilliseconds - server
        guard abs(ahead) > Self.suspiciousSkewMilliseconds else { return nil }
        // The header has whole seconds, and the answer took its time: rounded, not cut.
        return "Likely: the clock of this machine is \((abs(ahead) + 500) / 1000) seconds"
            + " \(ahead > 0 ? "ahead of" : "behind") Apple's. Set it right (NTP)."
    }
}
