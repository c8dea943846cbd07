import CLibcurl
import Synchronization

/// HTTP through libcurl's multi interface, on one thread of its own.
///
/// Requests of all tasks share few connections: HTTP/2 multiplexes them over one, HTTP/1.1 keeps
/// up to `maxConnectionsPerHost` alive. TLS 1.2 or later is always verified; there is no switch
/// to turn that off. Redirects are never followed, cookies, `.netrc` and the proxy variables of the
/// environment are never read. Plain `http` is for loopback hosts unless the settings' reach says
/// otherwise; a CA file is for loopback hosts only.
package final class CurlTransport: HTTPTransport {
    private let mailbox = CurlMailbox()
    private let thread: Mutex<DedicatedThread?>
    private let lastNumber = Atomic<UInt64>(0)

    /// Starts the thread; no connection is made yet.
    ///
    /// - Throws: `connectionFailed` when the system gives no thread or libcurl does not start.
    package init(_ settings: Settings = Settings()) throws(HTTPTransportError) {
        guard CurlLibrary.isReady else { throw .connectionFailed("libcurl could not start") }
        let mailbox = mailbox
        guard
            let started = DedicatedThread(running: {
                CurlLoop.run(mailbox: mailbox, settings: settings)
            })
        else { throw .connectionFailed("the system gives no thread for network transfers") }
        thread = Mutex(started)
    }

    /// Requests in flight keep the transport alive, so only idle connections are left to close
    /// here.
    deinit {
        mailbox.close()
    }

    package func send(
        _ request: HTTPRequest
    ) async throws(HTTPTransportError) -> HTTPResponse {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        let mailbox = mailbox
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                mailbox.submit(
                    CurlSubmission(number: number, request: request, continuation: continuation))
                // The handler below may have run before the submission; then it found nothing.
                if Task.isCancelled { mailbox.cancel(number) }
            }
        } onCancel: {
            mailbox.cancel(number)
        }
        return try result.get()
    }

    /// How many iterations the thread's loop has made so far, as a measure of the cost of waiting.
    package var lookCount: Int { mailbox.lookCount }

    /// Fails every request in flight with `cancelled`, closes the connections and ends the thread.
    ///
    /// Later requests fail with `cancelled` at once. May be called more than once.
    package func shutdown() async {
        await mailbox.closeAndWait()
        thread.withLock { $0 = nil }
    }
}

extension CurlTransport {
    /// The limits of a transport, in one place.
    package struct Settings: Sendable {
        /// Name resolution, TCP and TLS together.
        package var connectTimeoutMilliseconds = 10_000
        /// The whole exchange, including a body that arrives slowly.
        package var totalTimeoutMilliseconds = 30_000
        /// The longest wait of the thread's loop while a request is in flight.
        ///
        /// Workaround of 2026-11-22: with HTTP/2 over TLS, libcurl 7.88.1 sometimes has a complete
        /// answer without signalling it by its timer or its socket. The request then waits until
        /// its connect timer fires after 10 seconds, although a call of libcurl returns the answer
        /// at once. Remove when no supported system has libcurl 7 any more, and
        /// `Benchmarks/transport/measure` finds no pause without it.
        package var longestWaitInFlightMilliseconds = 50
        /// Of the decompressed body: a status answer has some 11 KB, a history page some 110 KB.
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

        /// Returns these settings with the time limit of one request, where that is shorter.
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
        /// `http` to any host: for data that is public and signed itself (OCSP, RFC 6960 appendix
        /// A).
        case plain
        /// Plain HTTP, but never to this machine: for addresses from untrusted input.
        case plainElsewhere
    }
}

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
                    "\(host) cannot be reached by \(scheme), only by https, or http on loopback")
            }
        case .plain, .plainElsewhere:
            guard scheme == "https" || isPlain else {
                throw .invalidRequest(
                    "\(host) cannot be reached by \(scheme), only by http or https")
            }
            guard reach == .plain || !Self.namesThisMachine(host) else {
                throw .invalidRequest("\(host) is this machine, which is not allowed here")
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
