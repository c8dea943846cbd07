import HTTPTransport

/// The meaning of a complete HTTP response, before any decision about it.
enum ResponseReading {
    /// A 200 that looks like JSON.
    case answered([UInt8])
    case unauthorized
    case rateLimited(retryAfter: String?)
    /// Apple does not know the configured app.
    case misconfigured(code: Int, message: String)
    /// Any other refusal of Apple's.
    case refused(status: Int, code: Int, message: String)
    /// The server, or one before it, has a fault (5xx).
    case failed(Fault)
    /// An error without Apple's error body, so from another program.
    case foreign(String)
    /// Not a response of the API; the text says why.
    case undecodable(String)

    /// An answer of the 5xx class.
    struct Fault {
        let status: Int
        /// `nil` where the body is not Apple's.
        let code: Int?
        let message: String
        let retryAfter: String?
        /// For messages; does not say who answered.
        let text: String
    }

    /// InvalidAppIdentifier and AppNotFound, which concern every call of the run.
    private static let configurationCodes: Set<Int> = [4_000_002, 4_040_003]

    init(_ response: HTTPResponse) {
        switch response.status {
        case 200: self = Self.success(response)
        case 201...299:
            self = .undecodable("status \(response.status) instead of an answer")
        case 300...399:
            self = .undecodable(
                "a redirect to \(Self.redirectHost(response.header("location"))) was not followed")
        case 401: self = .unauthorized
        case 429: self = .rateLimited(retryAfter: response.header("retry-after"))
        default:
            self = Self.error(response)
        }
    }

    private static func error(_ response: HTTPResponse) -> ResponseReading {
        let isSmall = response.body.count < mostErrorBytes
        let error = ErrorPayload(body: isSmall ? response.body : [])
        let said = plain(error.errorMessage)
        let status = response.status
        let isFault = (500...599).contains(status)
        guard let code = error.errorCode else {
            let text = response.foreignText
            return isFault ? .failed(fault(response, nil, said, text: text)) : .foreign(text)
        }
        guard !configurationCodes.contains(code) else {
            return .misconfigured(code: code, message: said)
        }
        let message = said.isEmpty ? "" : ": \(said)"
        return isFault
            ? .failed(fault(response, code, said, text: "\(status) \(code)\(message)"))
            : .refused(status: status, code: code, message: said)
    }

    private static func fault(
        _ response: HTTPResponse, _ code: Int?, _ message: String, text: String
    ) -> Fault {
        Fault(
            status: response.status, code: code, message: message,
            retryAfter: response.header("retry-after"), text: text)
    }

    private static let mostErrorBytes = 65_536
    private static let longestMessage = 200

    /// Apple's message without control characters: it is printed in reports and on the terminal.
    static func plain(_ message: String?) -> String {
        let shown = (message ?? "").unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        return String(String.UnicodeScalarView(shown.prefix(longestMessage)))
    }

    /// A captive portal or a proxy also answers 200, but with HTML.
    private static func success(_ response: HTTPResponse) -> ResponseReading {
        let type = response.header("content-type")
        if type != "application/json", type?.lowercased().contains("html") == true {
            return .undecodable("HTML instead of JSON: a proxy or a portal answered, not Apple")
        }
        guard let first = response.body.first(where: { !isBlank($0) }) else {
            return .undecodable("an empty body instead of JSON")
        }
        guard first == UInt8(ascii: "{") else {
            return .undecodable("a body that is not a JSON object")
        }
        return .answered(response.body)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// Only the host: path and query of a redirect may contain secrets.
    private static func redirectHost(_ location: String?) -> String {
        guard let location else { return "nowhere" }
        guard let slashes = location.firstRange(of: "//") else { return "another path" }
        let authority = location[slashes.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@").last ?? ""
        let isPlain = host.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII && scalar.value > 0x20 && scalar.value != 0x7F
        }
        return host.isEmpty || !isPlain ? "an unreadable address" : String(host.prefix(255))
    }
}

/// An error without Apple's error body, from a proxy, a firewall or a failing server.
extension HTTPResponse {
    private static let longestType = 60
    private static let mostWords = 80
    private static let mostBytesRead = 4096

    /// A description that helps to find out whose it is: `403 (text/html) "Access denied"`.
    ///
    /// Status, content type and the first words, sanitised.
    var foreignText: String {
        var text = "\(status)"
        let type = Self.plain(header("content-type") ?? "").prefix(Self.longestType)
        if !type.isEmpty { text += " (\(type))" }
        if !words.isEmpty { text += " \"\(words)\"" }
        return text
    }

    /// The first words of the body without its markup.
    ///
    /// A proxy may print the request with its token; then nothing is quoted.
    private var words: String {
        let body = String(decoding: self.body.prefix(Self.mostBytesRead), as: UTF8.self)
        guard !body.contains("eyJ"), !body.lowercased().contains("bearer") else { return "" }
        var visible = ""
        var isInTag = false
        for character in body {
            switch character {
            case "<":
                isInTag = true
                visible += " "
            case ">" where isInTag: isInTag = false
            default: if !isInTag { visible.append(character) }
            }
        }
        return String(Self.plain(visible).prefix(Self.mostWords))
    }

    /// One line of visible text: no control characters, no changes of direction, single spaces.
    private static func plain(_ text: String) -> String {
        let shown = text.unicodeScalars.map { scalar -> Character in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
                .unassigned, .spaceSeparator:
                " "
            default: Character(scalar)
            }
        }
        return String(shown).split(separator: " ").joined(separator: " ")
            .replacing("\"", with: "'")
    }
}
