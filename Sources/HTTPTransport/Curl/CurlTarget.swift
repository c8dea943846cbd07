import CLibcurl

/// The server of a request, after the check that it may be connected to.
struct CurlTarget: CustomStringConvertible {
    /// Host and port: how errors name the server.
    let description: String
    let isPlain: Bool
    let isLoopback: Bool

    /// - Throws: `invalidRequest` for anything but `https`, or `http` where the reach allows it;
    ///   for credentials in the URL; for a CA file with another host than a loopback one.
    init(
        _ url: borrowing CurlURL, caFile: String?, reach: CurlTransport.Reach = .secured
    ) throws(HTTPTransportError) {
        guard let scheme = url.part(CURLUPART_SCHEME), let host = url.part(CURLUPART_HOST),
            !host.isEmpty
        else { throw .invalidRequest("the URL names no host") }
        guard url.part(CURLUPART_USER) == nil, url.part(CURLUPART_PASSWORD) == nil else {
            throw .invalidRequest("the URL of \(host) holds credentials")
        }
        isPlain = scheme == "http"
        isLoopback = Self.isLoopback(host)
        description = "\(host):\(url.part(CURLUPART_PORT) ?? (isPlain ? "80" : "443"))"
        switch reach {
        case .secured:
            guard scheme == "https" || (isPlain && isLoopback) else {
                throw .invalidRequest(
                    "\(host) cannot be asked over \(scheme): only https, or http on loopback")
            }
        case .plain, .plainElsewhere:
            guard scheme == "https" || isPlain else {
                throw .invalidRequest("\(host) cannot be asked over \(scheme): only http or https")
            }
            guard reach == .plain || !Self.namesThisMachine(host) else {
                throw .invalidRequest("\(host) is this machine and may not be asked")
            }
        }
        guard caFile == nil || isLoopback else {
            throw .invalidRequest("a CA file is for loopback hosts only, not for \(host)")
        }
    }

    /// Whether a host is this machine, including every spelling that some system treats as
    /// loopback: for refusing, one too many is better.
    ///
    /// libcurl has already converted other forms of an IPv4 address (octal, one number) to four
    /// parts.
    static func namesThisMachine(_ host: String) -> Bool {
        let name = host.lowercased()
        return isLoopback(name) || name == "localhost." || name.hasSuffix(".localhost")
            || name.hasSuffix(".localhost.") || name.hasPrefix("0.") || name.hasPrefix("127.")
            || name == "[::]" || name.hasPrefix("[::ffff:") || name.hasPrefix("[::1")
    }

    /// Whether a host is `localhost`, in `127.0.0.0/8`, or `::1`.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "[::1]" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                    && UInt8(part) != nil
            }
    }
}
