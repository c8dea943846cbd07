import JSONWebSignature

/// A member of an answer or payload that holds a JWS by Apple's design.
struct SignedPart {
    let path: String
    /// `nil` where the member's name does not tell it.
    let kind: PayloadKind?
    let value: JSONValue
    /// The digest that stands beside it (lines of `evidence.jsonl`).
    let statedDigest: JSONValue?

    private static let kinds: [String: PayloadKind] = [
        "signedTransactionInfo": .transaction, "signedTransactions": .transaction,
        "signedRenewalInfo": .renewalInfo, "signedPayload": .notification,
        "signedAppTransactionInfo": .appTransaction,
    ]

    /// All of them, in the order in which they stand.
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

    /// Whether the text has the shape of a JWS: three segments of base64url, the first a JSON object.
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
