import AppStoreServerAPI
package import JSONWebSignature
package import Subscriptions

/// When the certificates expire that verification depends on, and whether that is soon.
package enum CertificateEnds {
    static let warningDays: Int64 = 180

    /// The days on which Apple's certificates end, where none was seen.
    ///
    /// Source: reference, chain in use.
    static let appleRootG3 = Timestamp(unixMilliseconds: 2_187_734_400_000)
    static let appleIntermediateG6 = Timestamp(unixMilliseconds: 2_089_497_600_000)

    /// - Parameters:
    ///   - roots: The roots that an app's settings trust.
    ///   - app: The app.
    ///   - trustsApple: Whether Apple's root is one of them.
    ///   - now: The present.
    /// - Returns: One line.
    package static func diagnosis(
        ofRoots roots: [CertificateFacts], of app: AppIdentity, trustsApple: Bool, now: Timestamp
    ) -> Diagnosis {
        var ends = roots.map {
            (name: $0.name, end: Timestamp(unixMilliseconds: $0.notAfter), isApple: false)
        }
        if trustsApple { ends.insert(("Apple Root CA - G3", appleRootG3, true), at: 0) }
        let listed = ends.map { "\($0.name) until \($0.end.utcDay)" }.joined(separator: ", ")
        guard let first = ends.min(by: { $0.end < $1.end }) else {
            return .failed(
                "roots", app, "no root is trusted, so no payload can be valid",
                fix: "write trusted_roots: [apple]", .config)
        }
        if first.end <= now {
            return .failed(
                "roots", app, "\(first.name) ended on \(first.end.utcDay)",
                fix: first.isApple
                    ? "install a version of trueup that knows Apple's next root"
                    : "name a root that is still valid", .config)
        }
        if isSoon(first.end, now) {
            return .warning(
                "roots", app,
                "\(first.name) ends on \(first.end.utcDay), \(inDays(first.end, now))",
                fix: first.isApple
                    ? "install a version of trueup that knows Apple's next root before that day"
                    : "make a new root before that day")
        }
        if ends.contains(where: { !$0.isApple }) {
            return .warning(
                "roots", app,
                "trusted: \(listed). Not Apple's alone: a rehearsal, and every report says so",
                fix: "for real data write trusted_roots: [apple]")
        }
        return .ok("roots", app, listed)
    }

    /// The intermediate in Apple's latest answer, or the one that is known to be in use.
    package static func diagnosis(
        ofIntermediate seen: CertificateFacts?, of app: AppIdentity, now: Timestamp
    ) -> Diagnosis {
        let end = seen.map { Timestamp(unixMilliseconds: $0.notAfter) } ?? appleIntermediateG6
        let name =
            seen?.name ?? "Apple's intermediate G6 (not seen now; the one known to be in use)"
        guard end > now else {
            return .warning(
                "certificates", app, "\(name) ended on \(end.utcDay)",
                fix: "check this machine's clock; Apple no longer signs with it")
        }
        guard isSoon(end, now) else {
            return .ok("certificates", app, "\(name), until \(end.utcDay)")
        }
        return .warning(
            "certificates", app, "\(name) ends on \(end.utcDay), \(inDays(end, now))",
            fix: "nothing here: the root is trusted, not the intermediate. Expect Apple to change "
                + "it, and look at verification failures in the reports of these weeks")
    }

    private static func isSoon(_ end: Timestamp, _ now: Timestamp) -> Bool {
        end.milliseconds(since: now) < warningDays * Milliseconds.perDay
    }

    private static func inDays(_ end: Timestamp, _ now: Timestamp) -> String {
        "in \(end.milliseconds(since: now) / Milliseconds.perDay) days"
    }
}
