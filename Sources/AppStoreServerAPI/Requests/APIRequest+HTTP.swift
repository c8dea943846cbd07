import HTTPTransport

extension APIRequest {
    /// The request on the wire, without credentials.
    ///
    /// Apple's hosts, methods and headers: `Accept` and, with a body, `Content-Type` are JSON.
    func http(baseURL: String) -> HTTPRequest {
        var url = baseURL
        while url.hasSuffix("/") { url.removeLast() }
        url += path
        for (index, item) in query.enumerated() {
            url += index == 0 ? "?" : "&"
            url += Self.percentEncoded(item.name) + "=" + Self.percentEncoded(item.value)
        }
        var headers = [(name: "Accept", value: "application/json")]
        // A page repeats the same certificates twenty times: packed it is 7 % of its size. A
        // status answer repeats them twice, which is not worth the unpacking.
        switch endpoint {
        case .transactionHistory, .notificationHistory: headers.append(("Accept-Encoding", "gzip"))
        case .subscriptionStatuses, .transactionInfo: break
        }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        return HTTPRequest(method: method, url: url, headers: headers, body: body)
    }

    /// RFC 3986, section 2.3: all but the unreserved characters.
    private static func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
