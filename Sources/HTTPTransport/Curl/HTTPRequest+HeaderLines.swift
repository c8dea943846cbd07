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
