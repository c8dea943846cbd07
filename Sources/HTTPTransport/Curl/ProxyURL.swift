import CLibcurl

/// The address of an HTTP proxy with its credentials, which are never printed.
package struct ProxyURL: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Scheme, host and port, without credentials.
    package let description: String
    let user: String?
    let password: String?

    /// Reads `http://[user:password@]host[:port]`, or the same with `https`.
    ///
    /// - Throws: `invalidRequest` for anything else, without quoting it.
    package init(_ text: String) throws(HTTPTransportError) {
        guard CurlLibrary.isReady, let url = try? CurlURL(text),
            let scheme = url.part(CURLUPART_SCHEME), scheme == "http" || scheme == "https",
            let host = url.part(CURLUPART_HOST), !host.isEmpty
        else {
            throw .invalidRequest(
                "the proxy address cannot be used: it must read http://host:port")
        }
        let port = url.part(CURLUPART_PORT) ?? (scheme == "https" ? "443" : "80")
        description = "\(scheme)://\(host):\(port)"
        user = url.part(CURLUPART_USER, decoded: true)
        password = url.part(CURLUPART_PASSWORD, decoded: true)
    }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
