import AppStoreServerAPI
package import Subscriptions

/// One configured app: which server to ask, with which key and how fast, and which roots to trust.
///
/// The initial values are the defaults. What has none is empty until its key is read, and the
/// reader refuses a file without that key.
package struct AppSettings: Hashable, Sendable, SettingsSection {
    package var bundleID = ""
    package var environment = AppStoreEnvironment.production
    /// Required in production, where Apple puts it into signed payloads.
    package var appAppleID: Int64?
    package var issuerID = ""
    package var keyID = ""
    package var keySource = SecretSource.file("")
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
            example: "com.example.app", "which app; each app and environment is listed once"),
        Setting(
            "app_apple_id", \.appAppleID, .optional(.appleNumber), newPass: .yes,
            absent: .requiredUnless("required for production"), example: "1234567890",
            "from App Store Connect, App Information"),
        Setting(
            "environment", \.environment, .appStoreEnvironment, newPass: .yes, absent: .required,
            "which App Store; trueup never infers it and never tries another"),
        Setting(
            "issuer_id", \.issuerID, .word, newPass: .no, absent: .required,
            example: "57246542-96fe-1a63-e053-0824d011072a",
            "from App Store Connect, Users and Access, Integrations, In-App Purchase"),
        Setting(
            "key_id", \.keyID, .word, newPass: .no, absent: .required, example: "2X9R4HXF34",
            "the key's id, from the same page"),
        Setting(
            "key_file", \.keySource, .secretFile, newPass: .no,
            absent: .requiredUnless("required, or `key_env`"),
            example: "keys/SubscriptionKey_2X9R4HXF34.p8",
            "the private key, mode 0600 or 0400; mounted, 0440 for a group of the job's user"),
        Setting(
            "key_env", \.keySource, .secretVariable(example: "key_env: TRUEUP_KEY"),
            newPass: .no, absent: .words("none"), example: "APP_STORE_KEY",
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
                meaning: "the server; one on this machine is for rehearsals only",
                beginsNewPass: true),
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
            "the proxy to Apple, if there is no direct way"),
        Setting(
            "trusted_roots", \.trustedRoots, .trustedRoots, newPass: .yes,
            "the roots to which signed payloads must lead; files for a loopback endpoint only"),
        Setting(
            "revocation", \.revocation, .choice, newPass: .yes,
            "ask by OCSP whether Apple's certificates are revoked; soft continues without an answer "
                + "and says so, hard leaves such rows undecided"),
        Setting(
            "evidence_retention", \.evidenceRetentionMilliseconds, .optional(.duration),
            newPass: .no,
            absent: .words("kept for ever"), example: "800d",
            "signed payloads older than this become tombstones"),
    ]

    /// Requests a second that Apple documents for the endpoints that a job calls.
    package static func documentedRequestsPerSecond(in environment: AppStoreEnvironment) -> Double {
        QuotaRates.documented(environment: environment, share: 1)
            .perSecond(of: .subscriptionStatuses)
    }
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

/// An app of the settings file, read and checked.
extension AppSettings {
    /// - Throws: 78 with line, key and what to write instead.
    init(_ value: SettingsValue) throws(ConfigurationError) {
        self.init()
        let mapping = try value.mapping(keys: Self.declared.map(\.key))
        try mapping.read(Self.declared, into: &self)
        if mapping.value("endpoint") == nil { endpoint = .standard(for: environment) }
        try check(mapping)
    }

    private static func isUUID(_ text: String) -> Bool {
        text.wholeMatch(
            of: /[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}/)
            != nil
    }

    /// Checks the rules that concern several keys.
    private func check(_ mapping: SettingsMapping) throws(ConfigurationError) {
        if environment == .production, appAppleID == nil {
            throw mapping.error(
                "app_apple_id", "is missing and required for production",
                suggestion: "add the app's number from App Store Connect, app_apple_id: 1234567890")
        }
        if mapping.value("key_file") == nil, mapping.value("key_env") == nil {
            throw mapping.error(
                "key_file", "is missing",
                suggestion: "add key_file: keys/SubscriptionKey_….p8, or key_env: NAME")
        }
        try mapping.refuse("key_env", nextTo: "key_file")
        if !endpoint.isLoopback, !Self.isUUID(issuerID) {
            throw mapping.error(
                "issuer_id", "is not a UUID: \"\(issuerID)\"",
                suggestion: "copy it from App Store Connect, for example "
                    + "57246542-96fe-1a63-e053-0824d011072a")
        }
        if !endpoint.isLoopback, mapping.value("quota_share") != nil,
            mapping.value("requests_per_second") != nil
        {
            throw mapping.error(
                "requests_per_second",
                "cannot be used together with quota_share, which it replaces",
                suggestion: "keep exactly one of them")
        }
        let limit = Self.documentedRequestsPerSecond(in: environment)
        if let rate = requestsPerSecond, rate > limit, !endpoint.isLoopback {
            throw mapping.error(
                "requests_per_second",
                "is above Apple's limit of \(Int(limit)) a second in this environment",
                suggestion: "write at most \(Int(limit)); more is for loopback endpoints only")
        }
        if caFile != nil, !endpoint.isLoopback {
            throw mapping.error(
                "ca_file", "is accepted for a loopback endpoint only", suggestion: "leave it out")
        }
        if !endpoint.isLoopback, let index = trustedRoots.firstIndex(where: { $0 != .apple }) {
            throw mapping.error(
                "trusted_roots", entry: index,
                "a root other than apple is accepted for a loopback endpoint only",
                suggestion: "write trusted_roots: [apple], or leave it out")
        }
    }
}

extension SettingForm where Value == AppStoreEnvironment {
    static var appStoreEnvironment: SettingForm {
        let names = ["production", "sandbox"]
        return SettingForm(
            choiceWords(names), schema: SettingsSchema.choice(names), choices: names,
            examples: names,
            read: { value throws(ConfigurationError) in
                let text = try value.text("production or sandbox")
                switch text {
                case "production": return .production
                case "sandbox": return .sandbox
                default:
                    let folded = text.lowercased().filter { $0 != "_" && $0 != "-" }
                    if ["xcode", "localtesting"].contains(folded) {
                        throw value.error(
                            "\(text) is not an App Store: what it signs cannot be verified",
                            suggestion:
                                "use production, sandbox, or a loopback endpoint for rehearsals")
                    }
                    throw value.unknown(text, among: names)
                }
            },
            digested: { .string($0.rawValue) })
    }
}

extension SettingForm where Value == Int64 {
    /// An `app_apple_id`: App Store Connect's number of the app.
    static var appleNumber: SettingForm {
        SettingForm(
            "whole number from 1", schema: SettingsSchema.wholeNumber(in: 1...Int64.max),
            read: { value throws(ConfigurationError) in
                let text = try value.text("a whole number")
                guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    let number = Int64(text), number > 0
                else { throw value.error("must be a whole number, not \"\(text)\"") }
                return number
            },
            written: { String($0) }, digested: CanonicalJSON.integer)
    }
}

extension SettingForm where Value == Double {
    static var quotaShare: SettingForm {
        share.refusing(
            "must be more than 0", words: "share, above 0, at most 1"
        ) { $0 <= 0 }
    }

    /// More than any rehearsal on one machine can reach.
    private static var maximumLoopbackRequestsPerSecond: Double { 1_000_000 }

    static var requestRate: SettingForm {
        let limit = { Int(AppSettings.documentedRequestsPerSecond(in: $0)) }
        return SettingForm(
            "number, above 0, at most \(limit(.production)) in production and \(limit(.sandbox)) in the "
                + "sandbox; a million for a loopback endpoint",
            schema: SettingsSchema.amount,
            read: { value throws(ConfigurationError) in
                let rate = try value.decimal("a number of requests")
                guard rate > 0, rate <= maximumLoopbackRequestsPerSecond else {
                    throw value.error("must be more than 0 and at most a million")
                }
                return rate
            },
            written: { String($0) })
    }
}

extension SettingForm where Value == String {
    static var proxy: SettingForm {
        SettingForm(
            "`http://host:port`",
            read: { value throws(ConfigurationError) in
                let text = try value.text("a URL")
                // Not repeated in the error: a password may be in it.
                guard let parts = URLParts(text), ["http", "https"].contains(parts.scheme),
                    !parts.hasMore
                else {
                    throw value.error(
                        "must be http://host:port, without a user name or password",
                        suggestion: "write for example http://proxy.internal:3128")
                }
                return parts.origin
            },
            written: { $0 })
    }
}

extension SettingForm where Value == [RootSetting] {
    static var trustedRoots: SettingForm {
        SettingForm(
            "list of `apple` (Apple Root CA - G3, by fingerprint) and paths to PEM or DER files",
            schema: SettingsSchema.list(of: SettingsSchema.text),
            examples: ["[apple]", "[signing-root.pem]"],
            read: { value throws(ConfigurationError) in
                var roots: [RootSetting] = []
                for entry in try value.list() {
                    let text = try entry.text("apple or a path")
                    let root: RootSetting = text == "apple" ? .apple : .file(try entry.path())
                    guard !roots.contains(root) else { throw entry.error("is listed twice") }
                    roots.append(root)
                }
                return roots
            },
            written: { roots in roots == [.apple] ? "[apple]" : nil },
            digested: { roots in
                .array(
                    roots.map { root in
                        switch root {
                        case .apple: .string("apple")
                        case .file(let path): .string("file:" + path)
                        }
                    })
            })
    }
}

/// The server that the settings may name: one of Apple's own hosts, or this machine.
///
/// Only this machine may be asked without TLS: there is no wire on which a token could be read.
package struct EndpointURL: Hashable, Sendable {
    /// Scheme, host and port without a slash at the end.
    package let url: String
    package let isLoopback: Bool

    /// Apple's host for an environment (App Store Server API, since May 2026).
    package static func standard(for environment: AppStoreEnvironment) -> EndpointURL {
        EndpointURL(
            url: "https://" + (hosts(of: environment).first ?? ""), isLoopback: false)
    }

    /// Apple's hosts, the recommended one first; the `itunes` ones stay supported by Apple.
    static func hosts(of environment: AppStoreEnvironment) -> [String] {
        switch environment {
        case .production: ["api.storekit.apple.com", "api.storekit.itunes.apple.com"]
        case .sandbox:
            ["api.storekit-sandbox.apple.com", "api.storekit-sandbox.itunes.apple.com"]
        }
    }

    private init(url: String, isLoopback: Bool) {
        self.url = url
        self.isLoopback = isLoopback
    }

    /// - Throws: 78 for another host, another environment's host, or a URL with more in it.
    init(
        _ value: SettingsValue, environment: AppStoreEnvironment
    ) throws(ConfigurationError) {
        let parts = try Self.parts(of: value)
        if parts.isLoopback {
            self.init(url: parts.origin, isLoopback: true)
            return
        }
        let own = Self.hosts(of: environment)
        guard own.contains(parts.host), parts.port == nil || parts.port == 443 else {
            let other = AppStoreEnvironment.allCases.filter { $0 != environment }
            if other.flatMap(Self.hosts).contains(parts.host) {
                throw value.error(
                    "\(parts.host) does not serve this app's environment",
                    suggestion: "write https://\(own[0]) or change the environment")
            }
            throw value.error(
                "\(parts.host) is neither Apple's host nor a loopback address",
                suggestion: "leave it out for https://\(own[0])")
        }
        self.init(url: "https://" + parts.host, isLoopback: false)
    }

    /// App Store Connect's API.
    package static let appStoreConnect = EndpointURL(
        url: "https://api.appstoreconnect.apple.com", isLoopback: false)

    /// - Throws: 78 for another host than App Store Connect's, or a URL with more in it.
    init(ofAppStoreConnect value: SettingsValue) throws(ConfigurationError) {
        let parts = try Self.parts(of: value)
        let own = Self.appStoreConnect.url
        guard parts.isLoopback || parts.origin == own else {
            throw value.error(
                "\(parts.host) is neither App Store Connect's host nor a loopback address",
                suggestion: "leave it out for \(own)")
        }
        self.init(url: parts.origin, isLoopback: parts.isLoopback)
    }

    private static func parts(of value: SettingsValue) throws(ConfigurationError) -> URLParts {
        let text = try value.text("a URL")
        guard let parts = URLParts(text), !parts.hasMore,
            parts.scheme == "https" || (parts.scheme == "http" && parts.isLoopback)
        else {
            throw value.error(
                "must be https://host or https://host:port, not \"\(text)\"",
                suggestion: "leave it out for Apple's own host")
        }
        return parts
    }
}

/// The pieces of `scheme://host:port`, read strictly: what decides whom we talk to must have one
/// reading only, so there are no escapes, no user names and no clever spellings of an address.
struct URLParts {
    let scheme: String
    /// Lower case; an IPv6 address without its brackets.
    let host: String
    let port: Int?
    /// Whether something other than `/` follows the authority.
    let hasMore: Bool
    private let isIPv6: Bool

    private static let hostBytes = Set("abcdefghijklmnopqrstuvwxyz0123456789.-:".utf8)

    init?(_ text: String) {
        guard let colon = text.firstRange(of: "://") else { return nil }
        scheme = text[..<colon.lowerBound].lowercased()
        let rest = text[colon.upperBound...]
        let authority = rest.prefix { !"/?#\\".contains($0) }
        hasMore = !["", "/"].contains(rest[authority.endIndex...])
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        let portText: Substring?
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            isIPv6 = true
            host = authority[authority.index(after: authority.startIndex)..<end].lowercased()
            let tail = authority[authority.index(after: end)...]
            guard tail.isEmpty || tail.first == ":" else { return nil }
            portText = tail.isEmpty ? nil : tail.dropFirst()
        } else {
            isIPv6 = false
            let pieces = authority.split(separator: ":", omittingEmptySubsequences: false)
            guard pieces.count <= 2 else { return nil }
            host = pieces[0].lowercased()
            portText = pieces.count == 2 ? pieces[1] : nil
        }
        guard !host.isEmpty, host.utf8.allSatisfy(Self.hostBytes.contains) else { return nil }
        guard let portText else {
            port = nil
            return
        }
        guard portText.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(portText),
            (1...65_535).contains(number)
        else { return nil }
        port = number
    }

    /// Scheme, host and port.
    var origin: String {
        scheme + "://" + (isIPv6 ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
    }

    /// `localhost`, `::1` or four plain numbers from 127.0.0.0/8; a name that only begins so is
    /// not.
    var isLoopback: Bool {
        if isIPv6 { return host == "::1" }
        if host == "localhost" { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127"
            && octets.allSatisfy { octet in
                UInt8(octet).map { String($0) == octet } ?? false
            }
    }
}
