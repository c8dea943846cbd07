import Subscriptions

/// The section `tell` of the settings file, read and checked.
extension TellSettings {
    private static let keys = [
        "url", "secret_env", "secret_file", "ca_file", "command", "timeout", "events",
    ]

    /// - Parameters:
    ///   - value: the section.
    ///   - directory: where relative paths start.
    ///   - isRehearsal: whether an app asks a server on this machine instead of Apple.
    /// - Throws: 78 with line, key and what to write instead.
    init(
        _ value: SettingsValue, directory: String, isRehearsal: Bool
    ) throws(ConfigurationError) {
        let mapping = try value.mapping(keys: Self.keys)
        destination = try Self.destination(
            of: mapping, directory: directory, isRehearsal: isRehearsal)
        caFile = try Self.caFile(of: mapping, destination: destination, directory: directory)
        timeoutMilliseconds = try Self.timeout(of: mapping)
        events = try Self.events(of: mapping)
    }

    private static func destination(
        of mapping: SettingsMapping, directory: String, isRehearsal: Bool
    ) throws(ConfigurationError) -> Destination {
        switch (mapping.value("url"), mapping.value("command")) {
        case (let value?, nil):
            let url = try WebhookURL(value)
            guard url.isLoopback || !isRehearsal else {
                throw value.error(
                    "\(url) is not on this machine, but an app asks a server on this machine: a "
                        + "rehearsal must not be told to anybody",
                    suggestion: "leave tell out, or use a loopback address")
            }
            return .url(url, secret: try secret(of: mapping, directory: directory))
        case (nil, let value?):
            for key in ["secret_env", "secret_file", "ca_file"] where mapping.value(key) != nil {
                throw mapping.error(
                    key, "stands beside command, which needs none", suggestion: "leave it out")
            }
            return .command(try command(value, directory: directory))
        case (nil, nil):
            throw mapping.error(
                "url", "is missing",
                suggestion: "add url: https://…, or command: [/path/to/program]")
        case (.some, .some):
            throw mapping.error(
                "command", "stands beside url", suggestion: "keep exactly one of them")
        }
    }

    private static func command(
        _ value: SettingsValue, directory: String
    ) throws(ConfigurationError) -> [String] {
        var words: [String] = []
        for entry in try value.list() { words.append(try entry.text("a word")) }
        guard words[0].contains("/") else {
            throw value.error(
                "must begin with a path: \"\(words[0])\" is not looked for anywhere",
                suggestion: "write for example [/usr/local/bin/\(words[0])]")
        }
        words[0] = SettingsPath.resolve(words[0], from: directory)
        return words
    }

    private static func secret(
        of mapping: SettingsMapping, directory: String
    ) throws(ConfigurationError) -> SecretSource {
        switch (mapping.value("secret_file"), mapping.value("secret_env")) {
        case (let file?, nil):
            return .file(SettingsPath.resolve(try file.text("a path"), from: directory))
        case (nil, let variable?):
            let name = try variable.variableName(example: "secret_env: TRUEUP_TELL_SECRET")
            return .environment(name)
        case (nil, nil):
            throw mapping.error(
                "secret_env", "is missing: a receiver must be able to tell who sent an event",
                suggestion: "add secret_env: TRUEUP_TELL_SECRET, or secret_file: PATH")
        case (.some, .some):
            throw mapping.error(
                "secret_env", "stands beside secret_file", suggestion: "keep exactly one of them")
        }
    }

    private static func caFile(
        of mapping: SettingsMapping, destination: Destination, directory: String
    ) throws(ConfigurationError) -> String? {
        guard let value = mapping.value("ca_file") else { return nil }
        guard case .url(let url, _) = destination, url.isLoopback else {
            throw value.error(
                "is accepted for a loopback address only", suggestion: "leave it out")
        }
        return SettingsPath.resolve(try value.text("a path"), from: directory)
    }

    private static func timeout(of mapping: SettingsMapping) throws(ConfigurationError) -> Int64 {
        guard let value = mapping.value("timeout") else { return defaultTimeoutMilliseconds }
        let milliseconds = try value.durationMilliseconds()
        guard (1000...maximumTimeoutMilliseconds).contains(milliseconds) else {
            throw value.error(
                "must be at least 1s and at most \(maximumTimeoutMilliseconds / 1000)s")
        }
        return milliseconds
    }

    private static func events(
        of mapping: SettingsMapping
    ) throws(ConfigurationError) -> Set<BillingEvent> {
        guard let value = mapping.value("events") else { return BillingEvent.toldByDefault }
        var events: Set<BillingEvent> = []
        for entry in try value.list() {
            guard events.insert(try entry.choice()).inserted else {
                throw entry.error("stands twice")
            }
        }
        return events
    }
}
