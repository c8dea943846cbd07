extension CurlTransport {
    /// The limits of a transport, in one place.
    package struct Settings: Sendable {
        /// Name resolution, TCP and TLS together.
        package var connectTimeoutMilliseconds = 10_000
        /// The whole exchange; it also ends a body that drips in.
        package var totalTimeoutMilliseconds = 30_000
        /// Of the unpacked body: a status answer is some 11 KB, a history page some 110 KB.
        package var bodyLimitBytes = 8 * 1_048_576
        /// Of all header lines of a response together.
        package var headLimitBytes = 65_536
        /// How many HTTP/1.1 requests of a host run at once; HTTP/2 needs only one connection.
        package var maxConnectionsPerHost = 6
        /// Idle connections kept for later, over all hosts.
        package var maxIdleConnections = 16
        package var userAgent = "trueup"
        /// PEM file of TLS roots used instead of the system's, for loopback hosts only.
        package var caFile: String?
        /// `nil` connects directly, whatever the environment says.
        package var proxy: ProxyURL?
        package var reach = Reach.secured

        package init() {}
    }

    /// Which servers a transport may go to.
    package enum Reach: Hashable, Sendable {
        /// `https`, and `http` on loopback.
        case secured
        /// `http` to any host: for what is signed in itself and public (OCSP, RFC 6960 appendix A).
        case plain
        /// The same, but never to this machine: for addresses that come from outside.
        case plainElsewhere
    }
}
