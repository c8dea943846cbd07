import CLibcurl

/// One request that libcurl is working on, and then the next: to allocate a handle and to set its
/// options anew costs as much as a small exchange.
///
/// Used only on the transport's thread.
final class CurlTransfer {
    private enum Excess {
        case head
        case body
    }

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
    private var excess: Excess?

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
            excess = .head
            return false
        }
        unsafe head.received(line: line)
        return true
    }

    /// Takes a piece of the unpacked body; `false` ends the transfer.
    func received(body piece: UnsafeRawBufferPointer) -> Bool {
        guard body.count + piece.count <= settings.bodyLimitBytes else {
            excess = .body
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
        switch excess {
        case .body: return .failure(.bodyTooLarge(limitBytes: settings.bodyLimitBytes))
        case .head:
            return .failure(
                .malformedResponse(
                    "the headers of \(target) are larger than \(settings.headLimitBytes) bytes"))
        case nil: break
        }
        guard code == CURLE_OK else {
            return .failure(
                CurlFailure(
                    code: code, reason: easy.failureReason, target: target,
                    isConnected: easy.offset(CURLINFO_PRETRANSFER_TIME_T) > 0,
                    proxyStatus: easy.long(CURLINFO_HTTP_CONNECTCODE), settings: settings
                ).error)
        }
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
