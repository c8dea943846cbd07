package import JSONWebSignature
import Subscriptions

/// A JSON text that contains signed payloads: an answer of the API, a notification's body,
/// evidence.
package struct InspectedAnswer: Sendable {
    /// The kind of text, by Apple's name where it has one.
    package enum Kind: String, Hashable, Sendable {
        case statusResponse, historyResponse, notificationHistoryResponse
        case transactionInfoResponse, appTransactionInfoResponse
        /// What Apple sends to a server: `{"signedPayload": …}`.
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
            answer.judgement = CrossCheck.judgement(on: answer.parts, in: document.root)
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
                .digest, "the SHA-256 beside it is of another text: one of the two was changed")
        }
        return result
    }
}
