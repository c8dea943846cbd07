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
