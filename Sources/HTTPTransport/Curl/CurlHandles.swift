import CLibcurl
import Glibc

/// The process-wide state of libcurl.
enum CurlLibrary {
    /// Whether `curl_global_init` succeeded; it runs exactly once, at the first use.
    static let isReady = curl_global_init(Int(CURL_GLOBAL_SSL)) == CURLE_OK

    /// The name of a failure in libcurl's words.
    static func name(of code: CURLcode) -> String {
        guard let text = unsafe curl_easy_strerror(code) else { return "code \(code.rawValue)" }
        return unsafe String(cString: text)
    }
}

/// Owner of one `CURL` handle: one request.
///
/// Used on the transport's own thread only.
@safe
struct CurlEasyHandle: ~Copyable {
    fileprivate let easy: UnsafeMutableRawPointer
    /// libcurl writes the reason of a failure here.
    private let reason: UnsafeMutablePointer<CChar>

    init() throws(HTTPTransportError) {
        guard let easy = unsafe curl_easy_init() else {
            throw .connectionFailed("libcurl could not allocate a transfer")
        }
        unsafe self.easy = easy
        unsafe reason = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe reason.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        // Optional: without it, errors only have less detail.
        _ = unsafe shim_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, reason)
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe reason.deallocate()
    }

    /// The text that libcurl left about a failure; control characters are dropped.
    var failureReason: String {
        String(unsafe String(cString: reason).unicodeScalars.filter { $0.value >= 0x20 })
    }

    func set(_ option: CURLoption, _ value: Int) throws(HTTPTransportError) {
        try check(unsafe shim_easy_set_long(easy, option, value))
    }

    func set(_ option: CURLoption, bytes value: Int) throws(HTTPTransportError) {
        try check(unsafe shim_easy_set_offset(easy, option, curl_off_t(value)))
    }

    func set(_ option: CURLoption, _ value: String) throws(HTTPTransportError) {
        try check(unsafe shim_easy_set_string(easy, option, value))
    }

    func set(_ url: borrowing CurlURL) throws(HTTPTransportError) {
        try check(unsafe shim_easy_set_url(easy, url.url))
    }

    /// The list must outlive the transfer.
    func set(_ headers: borrowing CurlHeaderList) throws(HTTPTransportError) {
        try check(unsafe shim_easy_set_list(easy, CURLOPT_HTTPHEADER, headers.list))
    }

    /// Copies the body of the request.
    func set(body: [UInt8]) throws(HTTPTransportError) {
        try set(CURLOPT_POSTFIELDSIZE_LARGE, bytes: body.count)
        let result = unsafe body.withUnsafeBytes {
            unsafe shim_easy_set_pointer(
                easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafeRawPointer(easy))
        }
        try check(result)
    }

    func allowOnly(plainHTTP: Bool) throws(HTTPTransportError) {
        try check(unsafe shim_easy_allow_only(easy, plainHTTP ? 1 : 0))
    }

    /// Lets a transfer end while its host name is being resolved, instead of waiting for that.
    func setQuickExit() throws(HTTPTransportError) {
        try check(unsafe shim_easy_set_quick_exit(easy))
    }

    /// Lets the kernel close a connection whose data has not been acknowledged for that long.
    ///
    /// Otherwise requests would be sent over a dead connection for many minutes.
    func setUnacknowledgedLimit(milliseconds: Int) throws(HTTPTransportError) {
        let context = unsafe UnsafeRawPointer(bitPattern: milliseconds)
        try check(unsafe shim_easy_set_pointer(easy, CURLOPT_SOCKOPTDATA, context))
        let hook = unsafe shim_easy_set_socket_hook(easy) { context, socket, _ in
            var milliseconds = UInt32(clamping: UInt(bitPattern: context))
            // An error is ignored: a system without this option keeps its own time-out.
            _ = unsafe setsockopt(
                socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds,
                socklen_t(MemoryLayout<UInt32>.size))
            return CURL_SOCKOPT_OK
        }
        try check(hook)
    }

    /// Sends the head line by line, and the body piece by piece, to `transfer`, which must outlive
    /// this handle's stay in a multi handle.
    func setSinks(_ transfer: CurlTransfer) throws(HTTPTransportError) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        try check(unsafe shim_easy_set_pointer(easy, CURLOPT_PRIVATE, context))
        try check(unsafe shim_easy_set_pointer(easy, CURLOPT_HEADERDATA, context))
        try check(unsafe shim_easy_set_pointer(easy, CURLOPT_WRITEDATA, context))
        let head = unsafe shim_easy_set_sink(easy, CURLOPT_HEADERFUNCTION) {
            bytes, size, count, context in
            guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
            let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context)
                .takeUnretainedValue()
            let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe transfer.received(headerLine: line) ? size * count : 0
        }
        try check(head)
        let body = unsafe shim_easy_set_sink(easy, CURLOPT_WRITEFUNCTION) {
            bytes, size, count, context in
            guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
            let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context)
                .takeUnretainedValue()
            let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe transfer.received(body: piece) ? size * count : 0
        }
        try check(body)
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        return unsafe shim_easy_get_long(easy, info, &value) == CURLE_OK ? value : 0
    }

    func offset(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        return unsafe shim_easy_get_offset(easy, info, &value) == CURLE_OK ? Int(value) : 0
    }

    private func check(_ result: CURLcode) throws(HTTPTransportError) {
        guard result == CURLE_OK else {
            throw .invalidRequest(
                "libcurl refuses an option of the request: \(CurlLibrary.name(of: result))")
        }
    }
}

/// Owner of the `CURLM` handle: all running transfers and the connections they share.
@safe
struct CurlMultiHandle: ~Copyable {
    private let multi: UnsafeMutableRawPointer

    init() throws(HTTPTransportError) {
        guard let multi = unsafe curl_multi_init() else {
            throw .connectionFailed("libcurl could not allocate its transfer engine")
        }
        unsafe self.multi = multi
    }

    deinit {
        unsafe curl_multi_cleanup(multi)
    }

    /// Ends `poll` from other threads, as long as this handle exists.
    var waker: CurlWaker { unsafe CurlWaker(multi: multi) }

    func set(_ option: CURLMoption, _ value: Int) {
        _ = unsafe shim_multi_set_long(multi, option, value)
    }

    func add(_ handle: borrowing CurlEasyHandle) -> Bool {
        unsafe curl_multi_add_handle(multi, handle.easy) == CURLM_OK
    }

    func remove(_ handle: borrowing CurlEasyHandle) {
        unsafe curl_multi_remove_handle(multi, handle.easy)
    }

    /// Advances every transfer as far as possible without waiting.
    func perform() {
        var running: Int32 = 0
        unsafe curl_multi_perform(multi, &running)
    }

    /// Waits for a socket, a timer of libcurl, the waker or the time-out.
    func poll(timeoutMilliseconds: Int32) {
        unsafe curl_multi_poll(multi, nil, 0, timeoutMilliseconds, nil)
    }

    /// The next transfer that ended, with libcurl's result; `nil` when there is none.
    func nextEnded() -> (transfer: CurlTransfer, result: CURLcode)? {
        var easy: UnsafeMutableRawPointer?
        var result = CURLE_OK
        guard unsafe shim_multi_next_done(multi, &easy, &result) == 1 else { return nil }
        var context: UnsafeMutableRawPointer?
        guard unsafe shim_easy_get_pointer(easy, CURLINFO_PRIVATE, &context) == CURLE_OK,
            let context = unsafe context
        else { preconditionFailure("libcurl lost the owner of a transfer") }
        let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
        return (transfer, result)
    }
}

/// The one operation of a multi handle that other threads may call.
///
/// The mailbox calls it under its lock and drops it before the handle is freed.
@safe
struct CurlWaker: @unchecked Sendable {
    fileprivate let multi: UnsafeMutableRawPointer

    func wake() {
        unsafe curl_multi_wakeup(multi)
    }
}

/// Owner of a list of header lines.
@safe
struct CurlHeaderList: ~Copyable {
    fileprivate let list: UnsafeMutablePointer<curl_slist>?

    init(_ lines: [String]) throws(HTTPTransportError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else {
                unsafe curl_slist_free_all(list)
                throw .connectionFailed("libcurl could not allocate the headers")
            }
            unsafe list = longer
        }
        unsafe self.list = list
    }

    deinit {
        unsafe curl_slist_free_all(list)
    }
}

/// Owner of a parsed URL.
@safe
struct CurlURL: ~Copyable {
    fileprivate let url: OpaquePointer

    /// Reads an absolute URL.
    ///
    /// The error does not quote it: it may hold credentials.
    init(_ text: String) throws(HTTPTransportError) {
        guard let url = unsafe curl_url() else {
            throw .connectionFailed("libcurl could not allocate a URL")
        }
        // Not normalised: an id with dots must not change the path.
        let flags = UInt32(CURLU_PATH_AS_IS)
        guard unsafe curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK else {
            unsafe curl_url_cleanup(url)
            throw .invalidRequest("the URL cannot be read")
        }
        unsafe self.url = url
    }

    deinit {
        unsafe curl_url_cleanup(url)
    }

    /// One part, percent-decoded when `decoded`; `nil` where the URL has none.
    func part(_ part: CURLUPart, decoded: Bool = false) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        let flags = UInt32(decoded ? CURLU_URLDECODE : 0)
        guard unsafe curl_url_get(url, part, &text, flags) == CURLUE_OK,
            let text = unsafe text
        else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }
}

/// Sets the options of every request, grouped by their purpose.
extension CurlEasyHandle {
    func apply(
        _ settings: CurlTransport.Settings, for target: CurlTarget
    ) throws(HTTPTransportError) {
        try set(CURLOPT_NOSIGNAL, 1)
        try setQuickExit()
        try setTimeLimits(of: settings)
        // Refuses by Content-Length, before the body; the sink counts the received bytes.
        try set(CURLOPT_MAXFILESIZE_LARGE, bytes: settings.bodyLimitBytes)
        try set(CURLOPT_USERAGENT, settings.userAgent)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try applyProtection(settings, for: target)
        try applyVersion(for: target)
        try applyProxy(settings.proxy)
    }

    /// Sets the limits that may be shorter for one request.
    func setTimeLimits(of settings: CurlTransport.Settings) throws(HTTPTransportError) {
        try set(CURLOPT_CONNECTTIMEOUT_MS, settings.connectTimeoutMilliseconds)
        try set(CURLOPT_TIMEOUT_MS, settings.totalTimeoutMilliseconds)
        try setUnacknowledgedLimit(milliseconds: settings.connectTimeoutMilliseconds)
    }

    private func applyProtection(
        _ settings: CurlTransport.Settings, for target: CurlTarget
    ) throws(HTTPTransportError) {
        try allowOnly(plainHTTP: target.isPlain)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let caFile = settings.caFile { try set(CURLOPT_CAINFO, caFile) }
    }

    /// HTTP/2 where TLS negotiates it.
    ///
    /// Requests wait for the negotiation, so that a burst shares one connection.
    ///
    /// Never HTTP/2 without TLS: libcurl 7.88 fails when it reuses such a connection.
    private func applyVersion(for target: CurlTarget) throws(HTTPTransportError) {
        let version = target.isPlain ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS
        try set(CURLOPT_HTTP_VERSION, Int(version))
        try set(CURLOPT_PIPEWAIT, target.isPlain ? 0 : 1)
    }

    /// Empty texts also disable the proxy variables of the environment.
    private func applyProxy(_ proxy: ProxyURL?) throws(HTTPTransportError) {
        try set(CURLOPT_NOPROXY, "")
        guard let proxy else { return try set(CURLOPT_PROXY, "") }
        try set(CURLOPT_PROXY, proxy.description)
        if let user = proxy.user { try set(CURLOPT_PROXYUSERNAME, user) }
        if let password = proxy.password { try set(CURLOPT_PROXYPASSWORD, password) }
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        try set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        try set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    }

    /// Avoids connections that are older than the last time-out.
    ///
    /// `isFresh` always opens a new connection.
    func avoidConnections(
        olderThanSeconds age: Int, isFresh: Bool
    ) throws(HTTPTransportError) {
        try set(CURLOPT_MAXLIFETIME_CONN, max(1, age))
        if isFresh { try set(CURLOPT_FRESH_CONNECT, 1) }
    }

    /// Sets method, body and accepted compression.
    func apply(_ request: HTTPRequest) throws(HTTPTransportError) {
        // Without this, libcurl would not decompress a body that a server compressed unasked.
        try set(CURLOPT_ACCEPT_ENCODING, request.acceptEncoding ?? "identity")
        try set(CURLOPT_HTTP_CONTENT_DECODING, request.keepsEncoding ? 0 : 1)
        if let body = request.body {
            try set(CURLOPT_POST, 1)
            try set(body: body)
            if request.method != "POST" { try set(CURLOPT_CUSTOMREQUEST, request.method) }
            return
        }
        switch request.method {
        case "GET": try set(CURLOPT_HTTPGET, 1)
        case "HEAD": try set(CURLOPT_NOBODY, 1)
        case "POST":
            try set(CURLOPT_POST, 1)
            try set(body: [])
        default: try set(CURLOPT_CUSTOMREQUEST, request.method)
        }
    }
}

extension HTTPRequest {
    /// The value of `Accept-Encoding`, which libcurl takes as an option.
    var acceptEncoding: String? {
        headers.first { $0.name.lowercased() == "accept-encoding" }?.value
    }

    /// The headers in libcurl's form, after the check that none contains a line break.
    ///
    /// - Throws: `invalidRequest` for a header with a line break or NUL; it names the header,
    ///   never its value, which may be a token.
    func headerLines() throws(HTTPTransportError) -> [String] {
        guard method.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { throw .invalidRequest("the method of the request is not one word") }
        var lines: [String] = []
        var namesContentType = false
        for (name, value) in headers {
            guard !name.isEmpty, name.utf8.allSatisfy(Self.isNameByte) else {
                throw .invalidRequest("a header of the request has a name that HTTP does not allow")
            }
            guard value.utf8.allSatisfy({ $0 >= 0x20 || $0 == 0x09 }) else {
                throw .invalidRequest("the header \(name) of the request has control characters")
            }
            switch name.lowercased() {
            case "accept-encoding": continue
            case "content-type": namesContentType = true
            default: break
            }
            // To libcurl "Name:" means "leave that header out" and "Name;" an empty one.
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        if body != nil || method == "POST" {
            // No pause for a "100 Continue", and no form type that the caller did not name.
            lines.append("Expect:")
            if !namesContentType { lines.append("Content-Type:") }
        }
        return lines
    }

    /// The characters of RFC 9110, section 5.6.2, without those that no real header has.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
