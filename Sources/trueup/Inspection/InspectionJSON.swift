import AppStoreServerAPI
import JSONWebSignature
import Subscriptions

/// `inspect --json`: one object on one line; payloads keep every text and number as received.
///
/// Written member by member, because `CanonicalJSON` would spell a payload anew.
enum InspectionJSON {
    private typealias Members = [(name: String, value: String)]

    static func text(of inspection: Inspection) -> String {
        switch inspection {
        case .payload(let payload, _):
            return object(members(of: payload, judgement: inspection.judgement))
        case .answer(let answer):
            return object(members(of: answer))
        case .lines(let lines):
            var members = head(
                inspection.judgement, kind: lines.first?.answer.kind?.rawValue, payload: nil)
            members.append(
                (
                    "lines",
                    array(
                        lines.map { line in
                            object([("line", String(line.number))] + self.members(of: line.answer))
                        })
                ))
            return object(members)
        }
    }

    private static func head(
        _ judgement: Judgement, kind: String?, payload: JSONDocument?
    ) -> Members {
        [
            ("verdict", json(judgement.verdict.rawValue)),
            ("reason", json(judgement.reason?.rawValue)),
            ("kind", json(kind)),
            ("payload", payload?.root.compact() ?? "null"),
            ("detail", json(judgement.detail)),
        ]
    }

    private static func members(of answer: InspectedAnswer) -> Members {
        var members = head(answer.overall, kind: answer.kind?.rawValue, payload: nil)
        if let document = answer.document {
            let places = Dictionary(
                answer.parts.enumerated().map { ($1.path, $0) },
                uniquingKeysWith: { first, _ in first })
            // Nobody signed this part; the JWS in it stand in `layers`.
            members.append(
                (
                    "unsigned",
                    document.root.compact { path, _ in places[path].map { "{\"layer\":\($0)}" } }
                ))
        }
        members.append(("layers", array(answer.parts.map(layer))))
        return members
    }

    private static func layer(_ payload: InspectedPayload) -> String {
        object(
            [("path", json(payload.path))] + members(of: payload, judgement: payload.judgement))
    }

    private static func members(of payload: InspectedPayload, judgement: Judgement) -> Members {
        var members = head(judgement, kind: payload.kind?.rawValue, payload: payload.payload)
        members += [
            ("sha256", json(payload.digest.isEmpty ? nil : payload.digest)),
            ("signed_date", CanonicalJSON.time(payload.signedDate).rendered),
            ("judged_at", CanonicalJSON.time(payload.judgedAt).rendered),
            ("expected", payload.expected.map(self.expected) ?? "null"),
            ("not_compared", array(payload.notCompared.map { json($0) })),
            (
                "unknown",
                array(
                    payload.unknowns.map {
                        object([("field", json($0.field)), ("value", json($0.value))])
                    })
            ),
            ("not_signed", array(payload.unsignedParts.map { json($0) })),
            ("certificates", array(payload.certificates.map(certificate))),
            ("trusted_root", payload.anchor.map(certificate) ?? "null"),
            ("layers", array(payload.inner.map(layer))),
        ]
        return members
    }

    private static func expected(_ expected: ExpectedIdentity) -> String {
        object([
            ("bundle_id", json(expected.bundleID)),
            ("app_apple_id", expected.appAppleID.map { String($0) } ?? "null"),
            ("environment", json(expected.environment?.rawValue)),
        ])
    }

    private static func certificate(_ facts: CertificateFacts) -> String {
        let first = Timestamp(unixMilliseconds: facts.notBefore)
        let last = Timestamp(unixMilliseconds: facts.notAfter)
        return object([
            ("subject", json(facts.subject)), ("serial_number", json(facts.serialNumber)),
            ("not_before", json(first.rfc3339)), ("not_after", json(last.rfc3339)),
            ("sha256", json(facts.fingerprint)),
        ])
    }

    private static func json(_ text: String?) -> String { CanonicalJSON.text(text).rendered }

    private static func array(_ values: [String]) -> String {
        "[" + values.joined(separator: ",") + "]"
    }

    private static func object(_ members: Members) -> String {
        "{" + members.map { json($0.name) + ":" + $0.value }.joined(separator: ",") + "}"
    }
}
