package import Subscriptions

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
        guard !host.isEmpty, host.utf8.allSatisfy(Self.mayStandInHost) else { return nil }
        guard let portText else {
            port = nil
            return
        }
        guard portText.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(portText),
            (1...65_535).contains(number)
        else { return nil }
        port = number
    }

    private static func mayStandInHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"):
            true
        default: false
        }
    }

    /// Scheme, host and port.
    var origin: String {
        scheme + "://" + (isIPv6 ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
    }

    /// `localhost`, `::1` or four plain numbers from 127.0.0.0/8; a name that only begins so is not.
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
