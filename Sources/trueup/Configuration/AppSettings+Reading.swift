import Subscriptions

/// An app of the settings file, read and checked.
extension AppSettings {
    private static let keys = [
        "bundle_id", "app_apple_id", "environment", "issuer_id", "key_id", "key_file", "key_env",
        "quota_share", "requests_per_second", "endpoint", "ca_file", "proxy", "trusted_roots",
        "revocation", "evidence_retention",
    ]

    /// Far above what this machine can ask of itself.
    private static let maximumLoopbackRequestsPerSecond = 1_000_000.0

    init(_ value: SettingsValue, directory: String) throws(ConfigurationError) {
        let mapping = try value.mapping(keys: Self.keys)
        let environment = try Self.environment(of: mapping)
        identity = AppIdentity(
            bundleID: try Self.word(mapping, "bundle_id", example: "com.example.app"),
            environment: environment)
        appAppleID = try mapping.value("app_apple_id")?.appleNumber()
        if environment == .production, appAppleID == nil {
            throw mapping.error(
                "app_apple_id", "is missing and required for production",
                suggestion: "add the app's number from App Store Connect, app_apple_id: 1234567890")
        }
        issuerID = try Self.word(
            mapping, "issuer_id", example: "57246542-96fe-1a63-e053-0824d011072a")
        keyID = try Self.word(mapping, "key_id", example: "2X9R4HXF34")
        keySource = try Self.keySource(of: mapping, directory: directory)
        quotaShare = try Self.quotaShare(of: mapping)
        if let chosen = mapping.value("endpoint") {
            endpoint = try EndpointURL(chosen, environment: environment)
        } else {
            endpoint = .standard(for: environment)
        }
        requestsPerSecond = try Self.requestsPerSecond(
            of: mapping, environment: environment, isLoopback: endpoint.isLoopback)
        caFile = try Self.caFile(
            of: mapping, isLoopback: endpoint.isLoopback, directory: directory)
        proxy = try Self.proxy(of: mapping)
        trustedRoots = try Self.trustedRoots(
            of: mapping, isLoopback: endpoint.isLoopback, directory: directory)
        evidenceRetentionMilliseconds = try mapping.value("evidence_retention")?
            .durationMilliseconds()
        revocation = try Self.revocation(of: mapping)
    }

    private static func word(
        _ mapping: SettingsMapping, _ key: String, example: String
    ) throws(ConfigurationError) -> String {
        let value = try mapping.required(key, example: example)
        let text = try value.text()
        guard text.utf8.count <= 255, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw value.error("must be one word of plain letters, not \"\(text)\"")
        }
        return text
    }

    private static func environment(
        of mapping: SettingsMapping
    ) throws(ConfigurationError) -> AppStoreEnvironment {
        let value = try mapping.required("environment", example: "production")
        let text = try value.text("production or sandbox")
        switch text {
        case "production": return .production
        case "sandbox": return .sandbox
        default:
            let folded = text.lowercased().filter { $0 != "_" && $0 != "-" }
            if ["xcode", "localtesting"].contains(folded) {
                throw value.error(
                    "\(text) is not an App Store: nothing that it signs can be verified",
                    suggestion: "use production, sandbox, or a loopback endpoint for rehearsals")
            }
            throw value.unknown(text, among: ["production", "sandbox"])
        }
    }

    private static func keySource(
        of mapping: SettingsMapping, directory: String
    ) throws(ConfigurationError) -> KeySource {
        switch (mapping.value("key_file"), mapping.value("key_env")) {
        case (let file?, nil):
            return .file(SettingsPath.resolve(try file.text("a path"), from: directory))
        case (nil, let variable?):
            return .environment(try variable.variableName(example: "key_env: TRUEUP_KEY"))
        case (nil, nil):
            throw mapping.error(
                "key_file", "is missing",
                suggestion: "add key_file: keys/SubscriptionKey_….p8, or key_env: NAME")
        case (.some, .some):
            throw mapping.error(
                "key_env", "stands beside key_file", suggestion: "keep exactly one of them")
        }
    }

    private static func quotaShare(
        of mapping: SettingsMapping
    ) throws(ConfigurationError) -> Double {
        guard let value = mapping.value("quota_share") else { return defaultQuotaShare }
        let share = try value.share()
        guard share > 0 else { throw value.error("must be more than 0, or nothing can be asked") }
        return share
    }

    private static func requestsPerSecond(
        of mapping: SettingsMapping, environment: AppStoreEnvironment, isLoopback: Bool
    ) throws(ConfigurationError) -> Double? {
        guard let value = mapping.value("requests_per_second") else { return nil }
        let rate = try value.decimal("a number of requests")
        guard rate > 0, rate <= maximumLoopbackRequestsPerSecond else {
            throw value.error("must be more than 0 and at most a million")
        }
        let limit = documentedRequestsPerSecond(in: environment)
        guard isLoopback || rate <= limit else {
            throw value.error(
                "is above Apple's limit of \(Int(limit)) a second in this environment",
                suggestion: "write at most \(Int(limit)); more is for loopback endpoints only")
        }
        return rate
    }

    private static func caFile(
        of mapping: SettingsMapping, isLoopback: Bool, directory: String
    ) throws(ConfigurationError) -> String? {
        guard let value = mapping.value("ca_file") else { return nil }
        guard isLoopback else {
            throw value.error(
                "is accepted for a loopback endpoint only", suggestion: "leave it out")
        }
        return SettingsPath.resolve(try value.text("a path"), from: directory)
    }

    private static func proxy(of mapping: SettingsMapping) throws(ConfigurationError) -> String? {
        guard let value = mapping.value("proxy") else { return nil }
        let text = try value.text("a URL")
        // Not repeated in the error: a password may stand in it.
        guard let parts = URLParts(text), ["http", "https"].contains(parts.scheme), !parts.hasMore
        else {
            throw value.error(
                "must be http://host:port, without a user name or password",
                suggestion: "write for example http://proxy.internal:3128")
        }
        return parts.origin
    }

    private static func trustedRoots(
        of mapping: SettingsMapping, isLoopback: Bool, directory: String
    ) throws(ConfigurationError) -> [TrustedRoot] {
        guard let value = mapping.value("trusted_roots") else { return [.apple] }
        var roots: [TrustedRoot] = []
        for entry in try value.list() {
            let text = try entry.text("apple or a path")
            let root: TrustedRoot =
                text == "apple"
                ? .apple : .file(SettingsPath.resolve(text, from: directory))
            guard root == .apple || isLoopback else {
                throw entry.error(
                    "a root other than apple is accepted for a loopback endpoint only",
                    suggestion: "write trusted_roots: [apple], or leave it out")
            }
            guard !roots.contains(root) else { throw entry.error("stands twice") }
            roots.append(root)
        }
        return roots
    }

    private static func revocation(
        of mapping: SettingsMapping
    ) throws(ConfigurationError) -> Revocation {
        guard let value = mapping.value("revocation") else { return .off }
        let text = try value.text("off")
        guard let revocation = Revocation(rawValue: text) else {
            throw value.unknown(text, among: Revocation.allCases.map(\.rawValue))
        }
        return revocation
    }
}

extension SettingsValue {
    /// An `app_apple_id`: App Store Connect's number of the app.
    fileprivate func appleNumber() throws(ConfigurationError) -> Int64 {
        let text = try text("a whole number")
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text),
            number > 0
        else { throw error("must be a whole number, not \"\(text)\"") }
        return number
    }
}
