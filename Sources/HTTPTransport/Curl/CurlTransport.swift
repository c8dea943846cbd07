import Synchronization

/// HTTP through libcurl's multi interface, on one thread of its own.
///
/// Requests of all tasks share few connections: HTTP/2 multiplexes them over one, HTTP/1.1 keeps
/// up to `maxConnectionsPerHost` alive. TLS 1.2 or later is always verified; there is no switch to
/// turn that off. Redirects are never followed, cookies, `.netrc` and the proxy variables of the
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

    /// Requests in flight keep the transport alive, so that there is nothing left to wait for here
    /// but the closing of idle connections.
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

    /// How often the thread has looked at its transfers so far: what waiting costs.
    package var lookCount: Int { mailbox.lookCount }

    /// Fails every request in flight with `cancelled`, closes the connections and ends the thread.
    ///
    /// Later requests fail with `cancelled` at once. May be called more than once.
    package func shutdown() async {
        await mailbox.closeAndWait()
        thread.withLock { $0 = nil }
    }
}
