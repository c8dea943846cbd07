import HTTPTransport

/// What a complete HTTP response says, before any decision about it.
enum Reading {
    /// A 200 that looks like JSON.
    case answered([UInt8])
    case unauthorized
    case rateLimited(retryAfter: String?)
    /// The settings are wrong, says Apple.
    case misconfigured(code: Int, message: String)
    /// Apple's own refusal.
    case refused(status: Int, code: Int, message: String)
    /// The server, or one before it, has a fault (5xx).
    case failed(Fault)
    /// An error that is not Apple's: it has no error body.
    case foreign(String)
    /// Not what the API sends; the text says why.
    case undecodable(String)

    /// An answer of the 5xx class.
    struct Fault {
        let status: Int
        /// `nil` where the body is not Apple's.
        let code: Int?
        let message: String
        let retryAfter: String?
        /// For people, without who said it.
        let text: String
    }

    /// InvalidAppIdentifier and AppNotFound: they hold for every call of the run.
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
            self = Self.error(response, APIErrorBody(response.body))
        }
    }

    private static func error(_ response: HTTPResponse, _ error: APIErrorBody) -> Reading {
        let status = response.status
        let isFault = (500...599).contains(status)
        guard let code = error.errorCode else {
            let text = ForeignAnswer(response: response).text
            return isFault ? .failed(fault(response, error, text: text)) : .foreign(text)
        }
        guard !configurationCodes.contains(code) else {
            return .misconfigured(code: code, message: error.errorMessage)
        }
        let message = error.errorMessage.isEmpty ? "" : ": \(error.errorMessage)"
        return isFault
            ? .failed(fault(response, error, text: "\(status) \(code)\(message)"))
            : .refused(status: status, code: code, message: error.errorMessage)
    }

    private static func fault(
        _ response: HTTPResponse, _ error: APIErrorBody, text: String
    ) -> Fault {
        Fault(
            status: response.status, code: error.errorCode, message: error.errorMessage,
            retryAfter: response.header("retry-after"), text: text)
    }

    /// A captive portal or a proxy answers 200 as well, but in HTML.
    private static func success(_ response: HTTPResponse) -> Reading {
        if response.header("content-type")?.lowercased().contains("html") == true {
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

    /// The host alone: path and query of a redirect may hold what nobody should read.
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
