package import Subscriptions

/// One configured app: whom to ask, with which key, how fast and whom to believe.
package struct AppSettings: Hashable, Sendable {
    package var identity: AppIdentity
    /// Always there in production, where Apple puts it into signed payloads.
    package var appAppleID: Int64?
    package var issuerID: String
    package var keyID: String
    package var keySource: KeySource
    /// Share of each endpoint's documented limit that this job may use, above 0 and at most 1.
    package var quotaShare: Double
    /// Instead of the share, for every endpoint.
    package var requestsPerSecond: Double?
    package var endpoint: EndpointURL
    /// An extra TLS root; only with a loopback endpoint.
    package var caFile: String?
    package var proxy: String?
    package var trustedRoots: [TrustedRoot]
    /// How long signed payloads are kept; `nil` for ever.
    package var evidenceRetentionMilliseconds: Int64?
    package var revocation = Revocation.off

    package static let defaultQuotaShare = 0.5

    /// Requests a second that Apple documents for the endpoints that a job calls.
    package static func documentedRequestsPerSecond(in environment: AppStoreEnvironment) -> Double {
        switch environment {
        case .production: 50
        case .sandbox: 5
        }
    }
}

/// Where the private key is.
package enum KeySource: Hashable, Sendable {
    /// A path, already seen from the settings file.
    case file(String)
    /// The name of the environment variable that holds the PEM itself.
    case environment(String)
}

/// Whether it is asked if the certificates of signed payloads are revoked.
package enum Revocation: String, Hashable, Sendable, CaseIterable {
    case off
    /// Asked; what cannot be learned is a remark.
    case soft
    /// Asked; what cannot be learned leaves its row undecided.
    case hard
}

/// A root that signed payloads may chain to.
package enum TrustedRoot: Hashable, Sendable {
    /// Apple Root CA - G3, by fingerprint.
    case apple
    /// A certificate file, PEM or DER; only with a loopback endpoint.
    case file(String)
}
