import FoundationEssentials

/// A request to the simulated API, independent of any web server.
package struct ServiceRequest: Sendable {
    var method: String
    /// Path and query as in the request line.
    let target: String
    /// Percent-decoded segments of the path; a superfluous slash makes an empty one.
    var path: [String]
    /// In the order of the request; names may repeat.
    var query: [(name: String, value: String)]
    var authorization: String?
    var contentType: String?
    var body: [UInt8]

    /// `target`: path and query as in the request line.
    package init(
        method: String, target: String, authorization: String? = nil, contentType: String? = nil,
        body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.path = (parts.first ?? "").split(separator: "/", omittingEmptySubsequences: false)
            .dropFirst().map { Self.decoded($0) }
        self.query =
            parts.count < 2
            ? []
            : parts[1].split(separator: "&").map { pair in
                let sides = pair.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                return (
                    Self.decoded(sides.first ?? ""), sides.count > 1 ? Self.decoded(sides[1]) : ""
                )
            }
        self.authorization = authorization
        self.contentType = contentType
        self.body = body
    }

    /// Whether its body has this content type; true without a body or without a content type.
    func hasBody(of expected: String) -> Bool {
        guard let contentType, !body.isEmpty else { return true }
        let type = contentType.prefix { $0 != ";" && $0 != " " }
        return type.lowercased() == expected
    }

    func values(_ name: String) -> [String] {
        query.filter { $0.name == name }.map(\.value)
    }

    func value(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var pending: [UInt8] = []
        for byte in text.utf8 {
            pending.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            guard pending[0] == UInt8(ascii: "%") else {
                bytes.append(contentsOf: pending)
                pending = []
                continue
            }
            guard pending.count == 3 else { continue }
            let digits = String(decoding: pending.dropFirst(), as: UTF8.self)
            if let value = UInt8(digits, radix: 16) {
                bytes.append(value)
            } else {
                bytes.append(contentsOf: pending)
            }
            pending = []
        }
        return String(decoding: bytes + pending, as: UTF8.self)
    }
}

extension ServiceRequest {
    /// Decodes the body; a decoder may throw an `APIFailure` of its own.
    ///
    /// `catalogue`: what a decoder that names products needs.
    func decodedBody<Body: Decodable>(
        _ type: Body.Type, _ catalogue: Catalogue = .standard
    ) throws(APIFailure) -> Body {
        let decoder = JSONDecoder()
        decoder.userInfo = StrictKeys.userInfo(catalogue)
        do {
            return try decoder.decode(type, from: Data(body))
        } catch let failure as APIFailure {
            throw failure
        } catch {
            throw .generalBadRequest
        }
    }
}

/// The members of a request's body, with Apple's error for each that is invalid.
struct BodyMembers {
    private let container: KeyedDecodingContainer<TextKey>

    init(_ decoder: any Decoder) throws {
        container = try decoder.container(keyedBy: TextKey.self)
    }

    /// A member that may be missing; throws `failure` for a value of another type, unless the value
    /// has a failure of its own.
    func optional<Value: Decodable>(
        _ type: Value.Type, _ name: String, otherwise failure: APIFailure
    ) throws -> Value? {
        do {
            return try container.decodeIfPresent(type, forKey: TextKey(stringValue: name))
        } catch let known as APIFailure {
            throw known
        } catch {
            throw failure
        }
    }

    /// A member that must be there and valid; otherwise throws `failure`.
    func required<Value: Decodable>(
        _ type: Value.Type, _ name: String, otherwise failure: APIFailure,
        where isValid: (Value) -> Bool = { _ in true }
    ) throws -> Value {
        guard let value = try optional(type, name, otherwise: failure), isValid(value) else {
            throw failure
        }
        return value
    }
}
