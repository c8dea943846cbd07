import Subscriptions

/// The section `tell` of the settings file, read and checked.
extension NotifySettings {
    /// - Parameters:
    ///   - value: the section.
    ///   - isRehearsal: whether an app asks a server on this machine instead of Apple.
    /// - Throws: 78 with line, key and what to write instead.
    init(_ value: SettingsValue, isRehearsal: Bool) throws(ConfigurationError) {
        self.init()
        let mapping = try value.mapping(keys: Self.declared.map(\.key))
        try mapping.read(Self.declared, into: &self)
        try check(mapping, isRehearsal: isRehearsal)
    }

    /// What depends on several keys.
    private func check(
        _ mapping: SettingsMapping, isRehearsal: Bool
    ) throws(ConfigurationError) {
        switch (url, mapping.value("command")) {
        case (let url?, nil):
            guard url.isLoopback || !isRehearsal else {
                throw mapping.error(
                    "url",
                    "\(url) is not on this machine, but an app asks a server on this machine: a "
                        + "rehearsal must not be told to anybody",
                    suggestion: "leave tell out, or use a loopback address")
            }
            try checkSecret(mapping)
            if caFile != nil, !url.isLoopback {
                throw mapping.error(
                    "ca_file", "is accepted for a loopback address only",
                    suggestion: "leave it out")
            }
        case (nil, .some):
            for key in ["secret_env", "secret_file", "ca_file"] where mapping.value(key) != nil {
                throw mapping.error(
                    key, "stands beside command, which needs none", suggestion: "leave it out")
            }
        case (nil, nil):
            throw mapping.error(
                "url", "is missing",
                suggestion: "add url: https://…, or command: [/path/to/program]")
        case (.some, .some):
            throw mapping.error(
                "command", "stands beside url", suggestion: "keep exactly one of them")
        }
    }

    private func checkSecret(_ mapping: SettingsMapping) throws(ConfigurationError) {
        switch (mapping.value("secret_file"), mapping.value("secret_env")) {
        case (.some, nil), (nil, .some): break
        case (nil, nil):
            throw mapping.error(
                "secret_env", "is missing: a receiver must be able to tell who sent an event",
                suggestion: "add secret_env: TRUEUP_TELL_SECRET, or secret_file: PATH")
        case (.some, .some):
            throw mapping.error(
                "secret_env", "stands beside secret_file", suggestion: "keep exactly one of them")
        }
    }
}

extension SettingForm where Value == WebhookURL {
    static var webhook: SettingForm {
        SettingForm(
            "`https://host/path`",
            read: { value throws(ConfigurationError) in try WebhookURL(value) })
    }
}

extension SettingForm where Value == SecretSource {
    static var secretVariable: SettingForm {
        SettingForm(
            "name of an environment variable",
            read: { value throws(ConfigurationError) in
                .environment(try value.variableName(example: "secret_env: TRUEUP_TELL_SECRET"))
            })
    }

    static var secretFile: SettingForm {
        SettingForm(
            "path, or `$CREDENTIALS_DIRECTORY/NAME`",
            read: { value throws(ConfigurationError) in .file(try value.secretPath()) })
    }
}

extension SettingForm where Value == [String] {
    static var command: SettingForm {
        SettingForm(
            "list of words, the first a path",
            read: { value throws(ConfigurationError) in
                var words: [String] = []
                for entry in try value.list() { words.append(try entry.text("a word")) }
                guard words[0].contains("/") else {
                    throw value.error(
                        "must begin with a path: \"\(words[0])\" is not looked for anywhere",
                        suggestion: "write for example [/usr/local/bin/\(words[0])]")
                }
                words[0] = try value.entry(0)?.path() ?? words[0]
                return words
            })
    }
}

extension SettingForm where Value == Int64 {
    static var attemptTimeout: SettingForm {
        let allowed = NotifySettings.allowedTimeoutMilliseconds
        let least = DurationText.text(ofMilliseconds: allowed.lowerBound)
        let most = DurationText.text(ofMilliseconds: allowed.upperBound)
        return duration.refusing(
            "must be at least \(least) and at most \(most)",
            words: "duration, \(least) to \(most)", examples: ["2s", "3s"]
        ) { !allowed.contains($0) }
    }
}

extension SettingForm where Value == Set<BillingEvent> {
    static var events: SettingForm {
        let names = BillingEvent.allCases.map(\.rawValue)
        return SettingForm(
            "list of " + choiceWords(names), examples: ["[refund]", "[refund, first_fill]"],
            read: { value throws(ConfigurationError) in
                var events: Set<BillingEvent> = []
                for entry in try value.list() {
                    guard events.insert(try entry.choice()).inserted else {
                        throw entry.error("stands twice")
                    }
                }
                return events
            })
    }
}
