import JSONWebSignature
import Subscriptions

/// A member of an answer or payload that, by its name, contains a JWS.
struct SignedPart {
    let path: String
    /// `nil` where the member's name does not decide it.
    let kind: PayloadKind?
    let value: JSONValue
    /// The digest beside it (in lines of `evidence.jsonl`).
    let statedDigest: JSONValue?

    private static let kinds: [String: PayloadKind] = [
        "signedTransactionInfo": .transaction, "signedTransactions": .transaction,
        "signedRenewalInfo": .renewalInfo, "signedPayload": .notification,
        "signedAppTransactionInfo": .appTransaction,
    ]

    /// All parts of a text, in their order.
    static func all(in root: JSONValue) -> [SignedPart] {
        var parts: [SignedPart] = []
        collect(from: root, at: "", into: &parts)
        return parts
    }

    /// Recursive, because no document is nested deeper than `JWSLimits.jsonDepth`.
    private static func collect(
        from value: JSONValue, at path: String, into parts: inout [SignedPart]
    ) {
        for (index, element) in value.elements.enumerated() {
            collect(from: element, at: JSONValue.path(path, String(index)), into: &parts)
        }
        for member in value.members {
            let name = member.name.text ?? ""
            let inner = JSONValue.path(path, name)
            if member.value.isNull { continue }
            if name == "jws" {
                let digest = value.members.first { $0.name.isText("sha256") }?.value
                parts.append(
                    SignedPart(path: inner, kind: nil, value: member.value, statedDigest: digest))
            } else if let kind = kinds[name] {
                // A list of JWS, or one.
                let values = member.value.isArray ? member.value.elements : [member.value]
                for (index, value) in values.enumerated() {
                    let place =
                        member.value.isArray ? JSONValue.path(inner, String(index)) : inner
                    parts.append(
                        SignedPart(path: place, kind: kind, value: value, statedDigest: nil))
                }
            } else {
                collect(from: member.value, at: inner, into: &parts)
            }
        }
    }

    /// Whether the text has the shape of a JWS: three segments of base64url, the first a JSON
    /// object.
    var isJWS: Bool { value.textBytes.map(Self.isJWS) ?? false }

    static func isJWS(_ text: ArraySlice<UInt8>) -> Bool {
        let segments = text.split(
            separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard segments.count == 3, segments.allSatisfy({ !$0.isEmpty }),
            let header = Base64.decodeURL(segments[0]),
            let document = try? JSONDocument(header), document.root.isObject
        else { return false }
        return Base64.decodeURL(segments[1]) != nil && Base64.decodeURL(segments[2]) != nil
    }
}

/// Checks that payloads of one entry are about one subscription.
///
/// A renewal info names no app, and the id around both is not signed: only this check connects
/// them.
enum CrossCheck {
    static func judgement(on parts: [InspectedPayload], in root: JSONValue) -> Judgement {
        for transaction in parts where transaction.kind == .transaction {
            guard let payload = transaction.payload else { continue }
            let place = parent(of: transaction.path)
            var ids = [originalID(of: payload.root)]
            ids += parts.filter { $0.kind == .renewalInfo && parent(of: $0.path) == place }
                .compactMap(\.payload).map { originalID(of: $0.root) }
            if let entry = root.value(at: place) { ids.append(originalID(of: entry)) }
            guard Set(ids.compactMap(\.self)).count <= 1 else {
                return .failed(
                    .crossCheck,
                    (place.isEmpty ? "its parts" : "the parts of \(place)")
                        + " name different subscriptions")
            }
        }
        return .valid
    }

    private static func originalID(of value: JSONValue) -> String? {
        value.members.first { $0.name.isText("originalTransactionId") }?.value.text
    }

    private static func parent(of path: String) -> String {
        path.split(separator: ".").dropLast().joined(separator: ".")
    }
}

extension JSONValue {
    /// The value at a path of member names and array indexes; the whole for an empty path.
    fileprivate func value(at path: String) -> JSONValue? {
        var current = self
        for part in path.split(separator: ".") {
            let elements = current.elements
            if let index = Int(part), elements.indices.contains(index) {
                current = elements[index]
            } else if let member = current.members.first(where: { $0.name.isText(String(part)) }) {
                current = member.value
            } else {
                return nil
            }
        }
        return current
    }
}
