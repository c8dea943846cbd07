import CLibcurl

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
