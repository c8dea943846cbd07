package import JSONWebSignature
package import Subscriptions

/// A JSON text that contains signed payloads: an answer of the API, a notification's body,
/// evidence.
package struct InspectedAnswer: Sendable {
    /// The kind of text, by Apple's name where it has one.
    package enum Kind: String, Hashable, Sendable {
        case statusResponse, historyResponse, notificationHistoryResponse
        case transactionInfoResponse, appTransactionInfoResponse
        /// The body of a notification, as Apple sends it to a server: `{"signedPayload": …}`.
        case responseBodyV2
        /// A line of a report's `evidence.jsonl`.
        case evidence
        /// A refusal: `{"errorCode": …}`.
        case error
        /// Any other text that contains signed payloads.
        case other

        init?(recognising root: JSONValue, hasSignedParts: Bool) {
            let names = Set(root.members.compactMap { $0.name.text })
            let known: [(String, Kind)] = [
                ("notificationHistory", .notificationHistoryResponse),
                ("signedTransactions", .historyResponse), ("data", .statusResponse),
                ("signedTransactionInfo", .transactionInfoResponse),
                ("signedAppTransactionInfo", .appTransactionInfoResponse),
                ("signedPayload", .responseBodyV2), ("jws", .evidence), ("errorCode", .error),
            ]
            if let found = known.first(where: { names.contains($0.0) })?.1 {
                self = found
            } else if hasSignedParts {
                self = .other
            } else {
                return nil
            }
        }
    }

    package var kind: Kind?
    /// The verdict on the text itself, and on whether its parts agree with each other.
    package var judgement: Judgement
    /// The text; unsigned, apart from the JWS in it.
    package var document: JSONDocument?
    package var parts: [InspectedPayload] = []

    package var overall: Judgement {
        .worst(of: [judgement] + parts.map(\.overall))
    }
}

extension PayloadInspector {
    /// Verifies every JWS in a JSON text.
    package func unfold(json: [UInt8]) async -> InspectedAnswer {
        let document: JSONDocument
        do {
            document = try JSONDocument(json)
        } catch {
            return InspectedAnswer(judgement: .failed(.format, error.detail))
        }
        let found = SignedPart.all(in: document.root)
        guard
            let kind = InspectedAnswer.Kind(
                recognising: document.root, hasSignedParts: !found.isEmpty)
        else {
            return InspectedAnswer(
                judgement: .failed(
                    .format, "it is neither a compact JWS nor a JSON text that holds any"))
        }
        var answer = InspectedAnswer(kind: kind, judgement: .valid, document: document)
        for part in found { answer.parts.append(await inspect(part)) }
        if found.isEmpty {
            answer.judgement = .failed(
                .nothingSigned, "nothing in it is signed, so there is nothing to verify")
        } else {
            answer.judgement = Judgement.onAgreement(of: answer.parts, in: document.root)
        }
        return answer
    }

    private func inspect(_ part: SignedPart) async -> InspectedPayload {
        guard let jws = part.value.textBytes else {
            return InspectedPayload(
                path: part.path, kind: part.kind,
                judgement: .failed(.format, "it is not a text"), digest: "")
        }
        var result = await inspect(jws, as: part.kind, path: part.path)
        if let stated = part.statedDigest, !stated.isText(result.digest) {
            result.judgement = .failed(
                .digest, "the SHA-256 next to it is of another text: one of the two was changed")
        }
        return result
    }
}

/// The result of inspecting one JWS, with the JWS inside its payload.
package struct InspectedPayload: Sendable {
    /// Its path in the inspected text (`data.signedTransactionInfo`); empty for the whole text.
    package var path: String
    package var kind: PayloadKind?
    package var judgement: Judgement
    /// SHA-256 of the text as received.
    package var digest: String
    /// The payload as received; only when signature and chain are valid.
    package var payload: JSONDocument?
    /// The date of signing that the payload states; only with a payload.
    package var signedDate: Timestamp?
    /// The time for which the chain's dates were checked; only with a payload.
    package var judgedAt: Timestamp?
    /// The header's certificates, the leaf first; not verified unless the chain is valid.
    package var certificates: [CertificateFacts] = []
    /// The trusted root of the chain; only with a payload.
    package var anchor: CertificateFacts?
    /// The app and environment that it was compared with.
    package var expected: ExpectedIdentity?
    /// Values that were not compared, because no expected value was given.
    package var notCompared: [String] = []
    package var unknowns: [UnknownValue] = []
    /// Members that should be a JWS and are not.
    package var unsignedParts: [String] = []
    /// The JWS inside the payload, each with its own verdict.
    package var inner: [InspectedPayload] = []
    /// Whether the payloads inside name the same subscription.
    package var agreement = Judgement.valid

    package init(
        path: String, kind: PayloadKind? = nil, judgement: Judgement, digest: String,
        expected: ExpectedIdentity? = nil
    ) {
        self.path = path
        self.kind = kind
        self.judgement = judgement
        self.digest = digest
        self.expected = expected
    }

    /// The verdict on this payload and everything signed inside it.
    package var overall: Judgement {
        .worst(of: [judgement, agreement] + inner.map(\.overall))
    }
}

/// The verdict of `inspect` on one payload or on a whole text, with its reason.
package struct Judgement: Hashable, Sendable {
    /// `nil` when valid.
    private let failure: VerificationFailure?

    package static let valid = Judgement(nil)

    package static func failed(_ reason: VerificationFailure.Reason, _ detail: String) -> Judgement
    {
        Judgement(VerificationFailure(reason: reason, detail: detail))
    }

    init(_ failure: VerificationFailure?) {
        self.failure = failure
    }

    package var verdict: VerificationVerdict { failure?.verdict ?? .valid }

    /// `nil` when valid.
    package var reason: VerificationFailure.Reason? { failure?.reason }

    /// A sentence for a person; `nil` when valid.
    package var detail: String? { failure?.detail }

    /// The worst of several; of equally bad ones the first.
    package static func worst(of judgements: some Sequence<Judgement>) -> Judgement {
        judgements.reduce(.valid) { $1.rank > $0.rank ? $1 : $0 }
    }

    private var rank: Int {
        switch verdict {
        case .valid: 0
        case .undetermined: 1
        case .invalid: 2
        }
    }
}

/// A member of an answer or payload that, by its name, contains a JWS.
struct SignedPart {
    let path: String
    /// `nil` where the member's name does not decide it.
    let kind: PayloadKind?
    let value: JSONValue
    /// The digest next to it (in lines of `evidence.jsonl`).
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

extension Judgement {
    /// Checks that payloads of one entry are about one subscription.
    ///
    /// A renewal info names no app, and the id around both is not signed: only this check connects
    /// them.
    static func onAgreement(of parts: [InspectedPayload], in root: JSONValue) -> Judgement {
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
