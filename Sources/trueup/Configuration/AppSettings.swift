package import Subscriptions

/// One configured app: which server to ask, with which key and how fast, and which roots to trust.
///
/// The initial values are the defaults. What has none is empty until its key is read, and the reader
/// refuses a file without that key.
package struct AppSettings: Hashable, Sendable, SettingsSection {
    package var bundleID = ""
    package var environment = AppStoreEnvironment.production
    /// Required in production, where Apple puts it into signed payloads.
    package var appAppleID: Int64?
    package var issuerID = ""
    package var keyID = ""
    package var keySource = KeySource.file("")
    /// Share of each endpoint's documented limit that this job may use, above 0 and at most 1.
    package var quotaShare = 0.5
    /// Instead of the share, for every endpoint.
    package var requestsPerSecond: Double?
    package var endpoint = EndpointURL.standard(for: .production)
    /// An extra TLS root; only with a loopback endpoint.
    package var caFile: String?
    package var proxy: String?
    package var trustedRoots = [RootSetting.apple]
    package var revocation = Revocation.off
    /// How long signed payloads are kept; `nil` for ever.
    package var evidenceRetentionMilliseconds: Int64?

    package var identity: AppIdentity {
        AppIdentity(bundleID: bundleID, environment: environment)
    }

    static let declared: [Setting<AppSettings>] = [
        Setting(
            "bundle_id", \.bundleID, .word, newPass: .yes, absent: .required,
            example: "com.example.app", "which app; each app and environment stands once"),
        Setting(
            "app_apple_id", \.appAppleID, .optional(.appleNumber), newPass: .yes,
            absent: .requiredUnless("required for production"), example: "1234567890",
            "from App Store Connect, App Information"),
        Setting(
            "environment", \.environment, .appStoreEnvironment, newPass: .yes, absent: .required,
            "which App Store to ask; never inferred, never a fallback"),
        Setting(
            "issuer_id", \.issuerID, .word, newPass: .no, absent: .required,
            example: "57246542-96fe-1a63-e053-0824d011072a",
            "from App Store Connect, Users and Access, Integrations, In-App Purchase"),
        Setting(
            "key_id", \.keyID, .word, newPass: .no, absent: .required, example: "2X9R4HXF34",
            "the key's id, from the same page"),
        Setting(
            "key_file", \.keySource, .keyFile, newPass: .no,
            absent: .requiredUnless("required, or `key_env`"),
            example: "keys/SubscriptionKey_2X9R4HXF34.p8",
            "the private key, mode 0600 or 0400; mounted, 0440 for a group of the job's user"),
        Setting(
            "key_env", \.keySource, .keyVariable, newPass: .no, absent: .words("none"),
            example: "APP_STORE_KEY",
            "instead of key_file, the variable that holds the PEM itself"),
        Setting(
            "quota_share", \.quotaShare, .quotaShare, newPass: .no,
            "share of Apple's documented limits that all runs on this database may use together"),
        Setting(
            "requests_per_second", \.requestsPerSecond, .optional(.requestRate), newPass: .no,
            example: "25", "instead of the share, for every endpoint"),
        Setting(
            SettingDescription(
                key: "endpoint", form: "`https://host` of Apple, or a loopback address",
                absence: .words("Apple's host of the environment"),
                examples: ["https://127.0.0.1:8443"],
                meaning: "whom to ask; this machine only for rehearsals", beginsNewPass: true),
            digested: { .string($0.endpoint.url) },
            read: { value, app throws(ConfigurationError) in
                app.endpoint = try EndpointURL(value, environment: app.environment)
            }),
        Setting(
            "ca_file", \.caFile, .optional(.path), newPass: .no, example: "tls-root.pem",
            "extra TLS root, for a loopback endpoint only"),
        Setting(
            "proxy", \.proxy, .optional(.proxy), newPass: .no,
            example: "http://proxy.internal:3128",
            "the way to Apple, where there is no direct one"),
        Setting(
            "trusted_roots", \.trustedRoots, .trustedRoots, newPass: .yes,
            "whom signed payloads must come from; files for a loopback endpoint only"),
        Setting(
            "revocation", \.revocation, .choice, newPass: .yes,
            "ask by OCSP whether Apple's certificates are revoked; soft goes on without an answer "
                + "and says so, hard leaves such rows undecided"),
        Setting(
            "evidence_retention", \.evidenceRetentionMilliseconds, .optional(.duration),
            newPass: .no,
            absent: .words("kept for ever"), example: "800d",
            "signed payloads older than this become tombstones"),
    ]

    init() {}

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
    /// A path, already seen from the settings file, or the name of a credential as written there.
    case file(String)
    /// The name of the environment variable that holds the PEM itself.
    case environment(String)
}

/// Whether, and how strictly, the revocation of signing certificates is checked.
package enum Revocation: String, Hashable, Sendable, CaseIterable {
    case off
    /// Asked; what cannot be learned is a remark.
    case soft
    /// Asked; what cannot be learned leaves its row undecided.
    case hard
}

/// A root that signed payloads may chain to.
package enum RootSetting: Hashable, Sendable {
    /// Apple Root CA - G3, by fingerprint.
    case apple
    /// A certificate file, PEM or DER; only with a loopback endpoint.
    case file(String)
}
