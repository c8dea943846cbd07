package import Subscriptions

/// The server to ask, as far as the settings may choose it: Apple's own hosts or this machine.
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
        let text = try value.text("a URL")
        guard let parts = URLParts(text), !parts.hasMore,
            parts.scheme == "https" || (parts.scheme == "http" && parts.isLoopback)
        else {
            throw value.error(
                "must be https://host or https://host:port, not \"\(text)\"",
                suggestion: "leave it out for Apple's own host")
        }
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
}
