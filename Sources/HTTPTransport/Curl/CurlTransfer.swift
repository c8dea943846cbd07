import CLibcurl

/// One request that libcurl is working on, and then the next: to allocate a handle and to set its
/// options again costs as much as a small exchange.
///
/// Used only on the transport's thread.
final class CurlTransfer {
    private(set) var number: UInt64
    private(set) var continuation: CurlSubmission.Continuation
    let easy: CurlEasyHandle
    private var url: CurlURL
    private var headers: CurlHeaderList
    private var settings: CurlTransport.Settings
    private var target: CurlTarget
    /// Whether all options are those of an ordinary request, so that another one can follow it.
    private var isOrdinary: Bool
    private var head = ResponseHead()
    private var headBytes = 0
    private var body: [UInt8] = []
    /// Set where the answer is larger than the limits allow.
    private var excess: HTTPTransportError?

    init(
        _ submission: CurlSubmission, settings: CurlTransport.Settings
    ) throws(HTTPTransportError) {
        number = submission.number
        continuation = submission.continuation
        let settings = settings.limited(to: submission.request.timeLimit)
        self.settings = settings
        let url = try CurlURL(submission.request.url)
        target = try CurlTarget(url, caFile: settings.caFile, reach: settings.reach)
        headers = try CurlHeaderList(submission.request.headerLines())
        easy = try CurlEasyHandle()
        isOrdinary = submission.request.isOrdinary
        self.url = url
        try easy.set(self.url)
        try easy.set(headers)
        try easy.apply(settings, for: target)
        try easy.apply(submission.request)
        try easy.setSinks(self)
    }

    /// Takes up another request after the last one is answered and removed.
    ///
    /// - Returns: `false` where it needs other options than the last one; then nothing is changed.
    /// - Throws: Why the request cannot be sent; the transfer is of no further use.
    func takeUp(
        _ submission: CurlSubmission, settings: CurlTransport.Settings
    ) throws(HTTPTransportError) -> Bool {
        guard isOrdinary, submission.request.isOrdinary else { return false }
        let url = try CurlURL(submission.request.url)
        let target = try CurlTarget(url, caFile: settings.caFile, reach: settings.reach)
        guard target.isPlain == self.target.isPlain else { return false }
        let headers = try CurlHeaderList(submission.request.headerLines())
        let settings = settings.limited(to: submission.request.timeLimit)
        // The handle lets go of the old ones before they end.
        try easy.set(url)
        try easy.set(headers)
        try easy.setTimeLimits(of: settings)
        try easy.apply(submission.request)
        number = submission.number
        continuation = submission.continuation
        self.url = url
        self.headers = headers
        self.target = target
        self.settings = settings
        return true
    }

    /// Forgets the answer, which others have now.
    func rest() {
        head = ResponseHead()
        headBytes = 0
        body = []
        excess = nil
    }

    /// No request may follow this one: its options are its own.
    func isLast() { isOrdinary = false }

    /// Takes one header line; `false` ends the transfer.
    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= settings.headLimitBytes else {
            excess = .malformedResponse(
                "the headers of \(target) are larger than \(settings.headLimitBytes) bytes")
            return false
        }
        unsafe head.received(line: line)
        return true
    }

    /// Takes a piece of the unpacked body; `false` ends the transfer.
    func received(body piece: UnsafeRawBufferPointer) -> Bool {
        guard body.count + piece.count <= settings.bodyLimitBytes else {
            excess = .bodyTooLarge(limitBytes: settings.bodyLimitBytes)
            return false
        }
        if body.isEmpty {
            let announced = easy.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
            body.reserveCapacity(max(piece.count, min(announced, settings.bodyLimitBytes)))
        }
        unsafe body.append(contentsOf: piece)
        return true
    }

    /// The result, by libcurl's code and our own limits.
    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPTransportError> {
        if let excess { return .failure(excess) }
        guard code == CURLE_OK else { return .failure(failure(code)) }
        return .success(
            HTTPResponse(
                status: easy.long(CURLINFO_RESPONSE_CODE), headers: head.fields(), body: body,
                version: Self.version(easy.long(CURLINFO_HTTP_VERSION))))
    }

    private static func version(_ number: Int) -> String {
        switch number {
        case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
        case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
        case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
        default: "HTTP/3"
        }
    }
}

extension HTTPRequest {
    /// Whether it is a question without a body, as nearly all are.
    fileprivate var isOrdinary: Bool { method == "GET" && body == nil }
}

/// Translates failures of libcurl.
extension CurlTransfer {
    private var route: String {
        settings.proxy.map { "\(target) through the proxy \($0)" } ?? "\(target)"
    }

    private func failure(_ code: CURLcode) -> HTTPTransportError {
        // libcurl's own text; it names hosts, never headers or credentials.
        let reason = easy.failureReason
        let detail = reason.isEmpty ? CurlLibrary.name(of: code) : reason
        // The proxy's answer to CONNECT; 0 without one.
        let proxyStatus = easy.long(CURLINFO_HTTP_CONNECTCODE)
        if proxyStatus != 0, !(200..<300).contains(proxyStatus) {
            return .connectionFailed(
                "the proxy refuses a connection to \(target) with status \(proxyStatus)")
        }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            return .connectionFailed("the name of \(target) could not be resolved")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return .connectionFailed("the name of the proxy could not be resolved")
        case CURLE_COULDNT_CONNECT, CURLE_PROXY:
            return .connectionFailed("no connection to \(route): \(detail)")
        case CURLE_SSL_CONNECT_ERROR:
            return .connectionFailed("the TLS handshake with \(route) failed: \(detail)")
        case CURLE_OPERATION_TIMEDOUT:
            return timedOut
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .untrustedServer(
                "the certificate of \(route) \(HTTPTransportError.untrusted): \(detail)")
        case CURLE_SSL_CACERT_BADFILE:
            return .invalidRequest(
                "the CA file \(settings.caFile ?? "of the system") cannot be read")
        case CURLE_FILESIZE_EXCEEDED:
            return .bodyTooLarge(limitBytes: settings.bodyLimitBytes)
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR,
            CURLE_HTTP2, CURLE_HTTP2_STREAM:
            // Also the result of requests whose connection the server closes (GOAWAY, curl #11859).
            return .connectionLost("the connection to \(route) was lost: \(detail)")
        case CURLE_WRITE_ERROR, CURLE_BAD_CONTENT_ENCODING, CURLE_WEIRD_SERVER_REPLY,
            CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP_RETURNED_ERROR:
            return .malformedResponse("\(target) did not answer in readable HTTP: \(detail)")
        case CURLE_ABORTED_BY_CALLBACK:
            return .cancelled
        default:
            return .connectionFailed("the request to \(route) failed: \(detail)")
        }
    }

    private var timedOut: HTTPTransportError {
        easy.offset(CURLINFO_PRETRANSFER_TIME_T) > 0
            ? .timedOut(
                "\(target) did not complete its answer within \(settings.totalTimeoutMilliseconds) ms"
            )
            : .timedOut(
                "no connection to \(route) within \(settings.connectTimeoutMilliseconds) ms")
    }
}

/// Collects the header lines of the final response.
///
/// A status line discards what came before: `100 Continue`, `103 Early Hints` and a proxy's
/// response. Lines after the empty line are trailers and ignored.
struct ResponseHead {
    private var bytes: [UInt8] = []
    private var isOpen = false

    mutating func received(line: some Collection<UInt8>) {
        if line.starts(with: "HTTP/".utf8) {
            bytes.removeAll(keepingCapacity: true)
            isOpen = true
        } else if isOpen {
            if line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
                isOpen = false
            } else {
                bytes.append(contentsOf: line)
            }
        }
    }

    /// Name and value pairs in the order received, names in lowercase.
    func fields() -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        for line in bytes.split(separator: 0x0A) {
            if let first = line.first, Self.isBlank(first), let last = fields.popLast() {
                // The obsolete folding of RFC 9112, section 5.2: a continued value.
                let text = Self.text(line[...])
                fields.append((last.name, last.value + " " + text))
            } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
                let name = line[..<colon].map { byte in
                    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
                }
                fields.append(
                    (String(decoding: name, as: UTF8.self), Self.text(line[(colon + 1)...])))
            }
        }
        return fields
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D
    }
}
