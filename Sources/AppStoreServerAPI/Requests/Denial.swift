import Subscriptions

/// Says why Apple is likely to have answered 401, from what can be known here.
struct Denial {
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
        ClockSkew(serverDate: serverDate, wallClock: wallClock).sentence.map { "Likely: " + $0 }
    }
}
