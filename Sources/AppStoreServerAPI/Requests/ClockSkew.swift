import HTTPTransport
import Subscriptions

/// The difference between the clock of this machine and Apple's, by the `Date` header of answers.
///
/// With a clock that is minutes wrong, Apple may refuse tokens, rows count as in flight by mistake,
/// and what is written gets wrong dates; nothing else in a run shows that.
struct ClockSkew {
    /// A larger difference is reported: tokens live for minutes.
    private static let suspiciousMilliseconds: Int64 = 60_000

    private(set) var aheadMilliseconds: Int64?
    /// The header that was read last: all answers of a second have the same.
    private var lastDate: (text: String, unixMilliseconds: Int64)?

    /// Of several answers the one with the smallest difference counts, because a slow answer, or
    /// one from a cache, was dated long before it arrived.
    mutating func compare(serverDate: String?, wallClock: Timestamp) {
        guard let serverDate, let server = time(of: serverDate) else { return }
        let (ahead, overflow) = wallClock.unixMilliseconds.subtractingReportingOverflow(server)
        guard !overflow, ahead != .min, abs(ahead) < abs(aheadMilliseconds ?? .max) else { return }
        aheadMilliseconds = ahead
    }

    private mutating func time(of date: String) -> Int64? {
        if let lastDate, lastDate.text == date { return lastDate.unixMilliseconds }
        guard let time = HTTPDate.unixMilliseconds(date) else { return nil }
        lastDate = (date, time)
        return time
    }

    /// `nil` while the clocks agree, and before the first answer.
    var sentence: String? {
        guard let ahead = aheadMilliseconds, abs(ahead) > Self.suspiciousMilliseconds else {
            return nil
        }
        // The header has whole seconds and the answer took some time, so this is rounded.
        return "The clock of this machine is \((abs(ahead) + 500) / 1000) seconds"
            + " \(ahead > 0 ? "ahead of" : "behind") Apple's. Set it right (NTP)."
    }

    /// Returns how one refusal shows that the clock may be its cause; `nil` where the clocks agree.
    static func probableCause(serverDate: String?, wallClock: Timestamp) -> String? {
        var skew = ClockSkew()
        skew.compare(serverDate: serverDate, wallClock: wallClock)
        return skew.sentence.map { "Probable cause: " + $0 }
    }
}

extension RequestState {
    /// Explains why Apple probably answered 401, as far as it can be known here.
    ///
    /// - Parameters:
    ///   - serverDate: The `Date` header of the refusal.
    ///   - wallClock: The present.
    /// - Returns: A sentence or three; the key id is not a secret, the token would be.
    func denial(serverDate: String?, wallClock: Timestamp) -> String {
        let refusal =
            "Apple refuses the key \(keyID) for \(app.bundleID) (\(app.environment.rawValue)): it"
            + " answers 401, even to a new token."
        if let cause = ClockSkew.probableCause(serverDate: serverDate, wallClock: wallClock) {
            return refusal + " " + cause
        }
        let key =
            " Probably the key was revoked or is not an In-App Purchase key, or key_id, issuer_id and"
            + " bundle_id do not belong together."
        switch app.environment {
        case .production:
            return refusal + key
                + " Apple gives the same answer for an app without a production release."
        case .sandbox: return refusal + key
        }
    }
}
