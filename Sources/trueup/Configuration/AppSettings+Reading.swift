import Subscriptions

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

    /// What depends on several keys.
    private func check(_ mapping: SettingsMapping) throws(ConfigurationError) {
        if environment == .production, appAppleID == nil {
            throw mapping.error(
                "app_apple_id", "is missing and required for production",
                suggestion: "add the app's number from App Store Connect, app_apple_id: 1234567890")
        }
        switch (mapping.value("key_file"), mapping.value("key_env")) {
        case (.some, nil), (nil, .some): break
        case (nil, nil):
            throw mapping.error(
                "key_file", "is missing",
                suggestion: "add key_file: keys/SubscriptionKey_….p8, or key_env: NAME")
        case (.some, .some):
            throw mapping.error(
                "key_env", "stands beside key_file", suggestion: "keep exactly one of them")
        }
        if !endpoint.isLoopback, !Self.isUUID(issuerID) {
            throw mapping.error(
                "issuer_id", "is no UUID: \"\(issuerID)\"",
                suggestion: "copy it from App Store Connect, for example "
                    + "57246542-96fe-1a63-e053-0824d011072a")
        }
        if !endpoint.isLoopback, mapping.value("quota_share") != nil,
            mapping.value("requests_per_second") != nil
        {
            throw mapping.error(
                "requests_per_second", "stands beside quota_share, which it replaces",
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
            choiceWords(names), choices: names, examples: names,
            read: { value throws(ConfigurationError) in
                let text = try value.text("production or sandbox")
                switch text {
                case "production": return .production
                case "sandbox": return .sandbox
                default:
                    let folded = text.lowercased().filter { $0 != "_" && $0 != "-" }
                    if ["xcode", "localtesting"].contains(folded) {
                        throw value.error(
                            "\(text) is not an App Store: nothing that it signs can be verified",
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
            "whole number from 1",
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

extension SettingForm where Value == KeySource {
    static var keyFile: SettingForm {
        SettingForm(
            "path, or `$CREDENTIALS_DIRECTORY/NAME`",
            read: { value throws(ConfigurationError) in .file(try value.secretPath()) })
    }

    static var keyVariable: SettingForm {
        SettingForm(
            "name of an environment variable",
            read: { value throws(ConfigurationError) in
                .environment(try value.variableName(example: "key_env: TRUEUP_KEY"))
            })
    }
}

extension SettingForm where Value == Double {
    static var quotaShare: SettingForm {
        share.refusing(
            "must be more than 0, or nothing can be asked", words: "share, above 0, at most 1"
        ) { $0 <= 0 }
    }

    /// More than any rehearsal on one machine can reach.
    private static var maximumLoopbackRequestsPerSecond: Double { 1_000_000 }

    static var requestRate: SettingForm {
        let limit = { Int(AppSettings.documentedRequestsPerSecond(in: $0)) }
        return SettingForm(
            "number, above 0, at most \(limit(.production)) in production and \(limit(.sandbox)) in the "
                + "sandbox; a million for a loopback endpoint",
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
                // Not repeated in the error: a password may stand in it.
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
            examples: ["[apple]", "[signing-root.pem]"],
            read: { value throws(ConfigurationError) in
                var roots: [RootSetting] = []
                for entry in try value.list() {
                    let text = try entry.text("apple or a path")
                    let root: RootSetting = text == "apple" ? .apple : .file(try entry.path())
                    guard !roots.contains(root) else { throw entry.error("stands twice") }
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
