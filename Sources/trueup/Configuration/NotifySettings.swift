package import Subscriptions

/// The receiver that is notified of corrections, and the events that it is notified of.
package struct NotifySettings: Hashable, Sendable, SettingsSection {
    /// A webhook, or else the command.
    package var url: WebhookURL?
    /// The secret that signs the webhook's events; present whenever the webhook is.
    package var secret: SecretSource?
    /// A program and its arguments; an event is its standard input.
    package var command: [String] = []
    /// An extra TLS root; only with a loopback URL.
    package var caFile: String?
    /// Of one attempt.
    package var timeoutMilliseconds: Int64 = 10_000
    /// The events that are delivered.
    package var events = BillingEvent.deliveredByDefault

    /// A run spends a minute on deliveries at most, all attempts together.
    static let allowedTimeoutMilliseconds: ClosedRange<Int64> = 1000...30_000

    static let declared: [Setting<NotifySettings>] = [
        Setting(
            "url", \.url, .optional(.webhook), newPass: .no,
            absent: .requiredUnless("required, or `command`"),
            example: "https://billing.example.com/hooks/trueup",
            "where events are posted; http for loopback addresses only"),
        Setting(
            "secret_env", \.secret,
            .optional(.secretVariable(example: "secret_env: TRUEUP_TELL_SECRET")), newPass: .no,
            absent: .requiredUnless("required with `url`, or `secret_file`"),
            example: "TRUEUP_TELL_SECRET",
            "the variable that holds the secret with which events are signed"),
        Setting(
            "secret_file", \.secret, .optional(.secretFile), newPass: .no, example: "keys/tell",
            "instead of secret_env, a file with the secret, protected as key_file"),
        Setting(
            "ca_file", \.caFile, .optional(.path), newPass: .no, example: "tls-root.pem",
            "extra TLS root, for a loopback address only"),
        Setting(
            "command", \.command, .command, newPass: .no, absent: .words("none"),
            example: "[/usr/local/bin/on-correction]",
            "instead of url, a program and its arguments; the event is its standard input"),
        Setting(
            "timeout", \.timeoutMilliseconds, .attemptTimeout, newPass: .no, "of one attempt"),
        Setting(
            "events", \.events, .events, newPass: .no, absent: .words("all but `first_fill`"),
            "which corrections are delivered"),
    ]
}

/// Where events are posted.
///
/// Its path is shown nowhere: with many services it is a secret of its own.
package struct WebhookURL: Hashable, Sendable, CustomStringConvertible {
    let text: String
    /// Scheme, host and port.
    package let origin: String
    package let isLoopback: Bool

    package var description: String { origin }

    init(_ value: SettingsValue) throws(ConfigurationError) {
        text = try value.text("a URL")
        guard let parts = URLParts(text), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !text.contains("#"), ["http", "https"].contains(parts.scheme)
        else {
            throw value.error(
                "must be https://host/path, without a user name, a password or a fragment",
                suggestion: "write for example https://billing.example.com/hooks/trueup")
        }
        guard parts.scheme == "https" || parts.isLoopback else {
            throw value.error(
                "is not https, so events could be read and changed on their way",
                suggestion: "write https://; http is for loopback addresses only")
        }
        origin = parts.origin
        isLoopback = parts.isLoopback
    }
}

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

    /// Checks the rules that concern several keys.
    private func check(
        _ mapping: SettingsMapping, isRehearsal: Bool
    ) throws(ConfigurationError) {
        try mapping.refuse("command", nextTo: "url")
        if let url {
            guard url.isLoopback || !isRehearsal else {
                throw mapping.error(
                    "url",
                    "\(url) is not on this machine, but an app uses a server on this machine: a "
                        + "rehearsal must not send events to another machine",
                    suggestion: "leave tell out, or use a loopback address")
            }
            guard secret != nil else {
                throw mapping.error(
                    "secret_env", "is missing: a receiver must be able to tell who sent an event",
                    suggestion: "add secret_env: TRUEUP_TELL_SECRET, or secret_file: PATH")
            }
            try mapping.refuse("secret_env", nextTo: "secret_file")
            if caFile != nil, !url.isLoopback {
                throw mapping.error(
                    "ca_file", "is accepted for a loopback address only",
                    suggestion: "leave it out")
            }
        } else if mapping.value("command") != nil {
            for key in ["secret_env", "secret_file", "ca_file"] where mapping.value(key) != nil {
                throw mapping.error(
                    key, "cannot be used together with command, which needs none",
                    suggestion: "leave it out")
            }
        } else {
            throw mapping.error(
                "url", "is missing",
                suggestion: "add url: https://…, or command: [/path/to/program]")
        }
    }
}

extension SettingForm where Value == WebhookURL {
    static var webhook: SettingForm {
        SettingForm(
            "`https://host/path`", display: .origin,
            read: { value throws(ConfigurationError) in try WebhookURL(value) })
    }
}

extension SettingForm where Value == SecretSource {
    static func secretVariable(example: String) -> SettingForm {
        SettingForm(
            "name of an environment variable",
            read: { value throws(ConfigurationError) in
                .environment(try value.variableName(example: example))
            })
    }

    static var secretFile: SettingForm {
        SettingForm(
            "path, or `$CREDENTIALS_DIRECTORY/NAME`", display: .path,
            read: { value throws(ConfigurationError) in .file(try value.secretPath()) })
    }
}

extension SettingForm where Value == [String] {
    static var command: SettingForm {
        SettingForm(
            "list of words, the first a path",
            schema: SettingsSchema.list(of: SettingsSchema.text),
            read: { value throws(ConfigurationError) in
                var words = try value.list().map { entry throws(ConfigurationError) in
                    try entry.text("a word")
                }
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
            "list of " + choiceWords(names),
            schema: SettingsSchema.list(of: SettingsSchema.choice(names)),
            examples: ["[refund]", "[refund, first_fill]"],
            read: { value throws(ConfigurationError) in
                var events: Set<BillingEvent> = []
                for entry in try value.list() {
                    guard events.insert(try entry.choice()).inserted else {
                        throw entry.error("is listed twice")
                    }
                }
                return events
            })
    }
}

/// The addresses by which a monitoring service learns that a run has begun and how it ended.
///
/// A service that hears nothing in time alerts a person: no run can do that for itself.
package struct PingSettings: Hashable, Sendable {
    package var start: WebhookURL?
    package var success: WebhookURL?
    package var failure: WebhookURL?

    /// Without the addresses of other machines.
    var onThisMachine: PingSettings {
        var near = self
        for address in [\PingSettings.start, \.success, \.failure]
        where near[keyPath: address]?.isLoopback == false {
            near[keyPath: address] = nil
        }
        return near
    }
}
