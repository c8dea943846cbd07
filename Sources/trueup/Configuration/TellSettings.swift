package import Subscriptions

/// Whom a run tells of its corrections, and of which.
package struct TellSettings: Hashable, Sendable {
    package enum Destination: Hashable, Sendable {
        /// Events are posted there, signed with the secret.
        case url(WebhookURL, secret: SecretSource)
        /// A program and its arguments; an event is its standard input.
        case command([String])
    }

    package var destination: Destination
    /// An extra TLS root; only with a loopback URL.
    package var caFile: String?
    /// Of one attempt.
    package var timeoutMilliseconds: Int64
    /// The names that are told.
    package var events: Set<BillingEvent>

    static let defaultTimeoutMilliseconds: Int64 = 10_000
    /// A run spends a minute on telling at most, all attempts together.
    static let maximumTimeoutMilliseconds: Int64 = 30_000
}

/// Where the secret is that events are signed with.
package enum SecretSource: Hashable, Sendable {
    /// A path, already seen from the settings file.
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
