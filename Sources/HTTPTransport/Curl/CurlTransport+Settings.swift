extension CurlTransport {
    /// The limits of a transport, in one place.
    package struct Settings: Sendable {
        /// Name resolution, TCP and TLS together.
        package var connectTimeoutMilliseconds = 10_000
        /// The whole exchange; it also ends a body that drips in.
        package var totalTimeoutMilliseconds = 30_000
        /// How long the thread waits at most before it looks again, as long as a request is in flight.
        ///
        /// Workaround of 2026-11-22: with HTTP/2 over TLS, libcurl 7.88.1 sometimes holds a complete
        /// answer and tells neither its timer nor its socket: the request stood still until its
        /// connect timer came round after 10 seconds. Whoever looks finds the answer at once. May go
        /// when no supported system has libcurl 7 any more, and `Benchmarks/transport/measure` finds
        /// no pause without it.
        package var longestWaitInFlightMilliseconds = 50
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

        /// The same, with the limit of one request where that is shorter.
        func limited(to timeLimit: Duration?) -> Settings {
            guard let timeLimit, timeLimit < .milliseconds(totalTimeoutMilliseconds) else {
                return self
            }
            var limited = self
            let (seconds, attoseconds) = timeLimit.components
            limited.totalTimeoutMilliseconds = max(
                1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
            limited.connectTimeoutMilliseconds = min(
                connectTimeoutMilliseconds, limited.totalTimeoutMilliseconds)
            return limited
        }
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
