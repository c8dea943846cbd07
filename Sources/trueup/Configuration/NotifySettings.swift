package import Subscriptions

/// The receiver that is notified of corrections, and the events that it is notified of.
package struct NotifySettings: Hashable, Sendable, SettingsSection {
    /// A webhook, or else the command.
    package var url: WebhookURL?
    /// What the webhook's events are signed with; there whenever that is.
    package var secret: SecretSource?
    package var command: [String] = []
    /// An extra TLS root; only with a loopback URL.
    package var caFile: String?
    /// Of one attempt.
    package var timeoutMilliseconds: Int64 = 10_000
    /// The events that are delivered.
    package var events = BillingEvent.toldByDefault

    /// A run spends a minute on deliveries at most, all attempts together.
    static let allowedTimeoutMilliseconds: ClosedRange<Int64> = 1000...30_000

    static let declared: [Setting<NotifySettings>] = [
        Setting(
            "url", \.url, .optional(.webhook), newPass: .no,
            absent: .requiredUnless("required, or `command`"),
            example: "https://billing.example.com/hooks/trueup",
            "where events are posted; http for loopback addresses only"),
        Setting(
            "secret_env", \.secret, .optional(.secretVariable), newPass: .no,
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
            "which corrections are told"),
    ]

    init() {}

    package enum Destination: Hashable, Sendable {
        /// Events are posted there, signed with the secret.
        case url(WebhookURL, secret: SecretSource)
        /// A program and its arguments; an event is its standard input.
        case command([String])
    }

    package var destination: Destination {
        if let url, let secret { .url(url, secret: secret) } else { .command(command) }
    }
}

/// Where the secret is that events are signed with.
package enum SecretSource: Hashable, Sendable {
    /// A path, already seen from the settings file, or the name of a credential as written there.
    case file(String)
    /// The name of an environment variable.
    case environment(String)
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
                "is not https: what is told could be read and changed on its way",
                suggestion: "write https://; http is for loopback addresses only")
        }
        origin = parts.origin
        isLoopback = parts.isLoopback
    }
}
