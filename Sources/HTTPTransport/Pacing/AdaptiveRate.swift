/// The request rate that the server tolerates: halved after a 429, slowly raised again.
///
/// A 429 below our own limit means that somebody else uses the same quota, such as the company's
/// own servers. Additive increase and multiplicative decrease finds the rate that is left.
package struct AdaptiveRate: Sendable {
    /// From half back to the whole in ten minutes.
    private static let recoveryOfConfiguredPerSecond = 0.5 / 600
    private static let lowestShare = 1.0 / 64
    /// Requests that were in flight at the same time are refused together, and count as one
    /// refusal.
    private static let oneRefusal: Duration = .seconds(5)

    package let configuredPerSecond: Double
    private var afterCut: Double
    private var lastCut: Duration?

    package init(configuredPerSecond: Double) {
        self.configuredPerSecond = configuredPerSecond
        afterCut = configuredPerSecond
    }

    /// A rate that was cut before, perhaps by an earlier process.
    ///
    /// `share` of the configured rate was left at `resumption`, which may lie before the start.
    package init(configuredPerSecond: Double, share: Double, resumption: Duration) {
        self.configuredPerSecond = configuredPerSecond
        let kept = share.isFinite ? min(1, max(Self.lowestShare, share)) : Self.lowestShare
        afterCut = configuredPerSecond * kept
        lastCut = resumption
    }

    /// The rate to use at `now`.
    package func perSecond(at now: Duration) -> Double {
        guard let lastCut else { return configuredPerSecond }
        let elapsed = max(0, (now - lastCut) / .seconds(1))
        return min(
            configuredPerSecond,
            afterCut + elapsed * configuredPerSecond * Self.recoveryOfConfiguredPerSecond)
    }

    /// Halves the rate, once for all requests that were refused together.
    ///
    /// The recovery begins at `resumption`, when calls are made again.
    ///
    /// - Returns: Whether it was halved now.
    @discardableResult
    package mutating func wasRateLimited(at now: Duration, resumption: Duration) -> Bool {
        if let lastCut, now < lastCut + Self.oneRefusal { return false }
        afterCut = max(configuredPerSecond * Self.lowestShare, perSecond(at: now) / 2)
        lastCut = max(now, resumption)
        return true
    }
}
