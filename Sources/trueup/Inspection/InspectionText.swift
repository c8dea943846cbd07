import AppStoreServerAPI
import JSONWebSignature
import Subscriptions

/// `inspect` for a person: the verdict first, then every layer unfolded where it is.
final class InspectionText {
    private let isColoured: Bool
    private let isVerbose: Bool
    private let remarks: [String]
    /// The chain that was described further up: Apple's chain is the same everywhere and is described
    /// once.
    private var describedChain: [CertificateFacts] = []

    init(isColoured: Bool, isVerbose: Bool, remarks: [String]) {
        self.isColoured = isColoured
        self.isVerbose = isVerbose
        self.remarks = remarks
    }

    func lines(of inspection: Inspection) -> [String] {
        var lines: [String] = []
        switch inspection {
        case .payload(let payload, let isAlone):
            lines += self.payload(payload)
            if isAlone, payload.overall != payload.judgement {
                lines += [
                    "",
                    "The verdict is on the \(payload.kind?.rawValue ?? "payload") alone; what is "
                        + "signed inside it does not all hold.",
                ]
            }
        case .answer(let answer):
            lines += self.answer(answer)
        case .lines(let answers):
            for (number, answer) in answers {
                lines += self.answer(answer, line: number) + [""]
            }
            lines.append(
                verdict(inspection.judgement) + "  \(answers.count) lines in all"
                    + because(inspection.judgement))
        }
        if !remarks.isEmpty { lines.append("") }
        lines += remarks
        return lines.map { $0.allSatisfy { $0 == " " } ? "" : $0 }
    }

    // MARK: Answers

    private func answer(_ answer: InspectedAnswer, line: Int? = nil) -> [String] {
        let what = [line.map { "line \($0)" }, answer.kind?.rawValue].compactMap(\.self)
        var lines = [
            verdict(answer.overall) + "  " + what.joined(separator: ", ")
                + because(answer.overall)
        ]
        guard let document = answer.document else { return lines }
        if line == nil {
            lines.append("  Values outside the signed parts are not signed.")
        }
        let page = InspectedPage(text: self, layers: answer.parts)
        lines += page.lines(of: document.root, at: "").map { "  " + $0 }
        return lines
    }

    // MARK: Payloads

    func payload(_ payload: InspectedPayload) -> [String] {
        let judgement = payload.judgement
        var lines = [
            verdict(judgement) + "  " + (payload.kind?.rawValue ?? "unknown kind")
                + because(judgement)
        ]
        lines += facts(of: payload).map { "  " + $0 }
        guard let document = payload.payload else {
            lines.append(
                "  The payload is not shown: nothing of it is read before its signature and chain "
                    + "hold.")
            return lines
        }
        let page = InspectedPage(text: self, of: payload, document)
        lines.append("")
        lines += page.lines(of: document.root, at: "").map { "  " + $0 }
        if payload.agreement.verdict != .valid {
            lines.append("  " + verdict(payload.agreement) + because(payload.agreement))
        }
        return lines
    }

    private func facts(of payload: InspectedPayload) -> [String] {
        var rows: [(String, String)] = []
        let holds = payload.payload != nil
        if holds, let expected = payload.expected {
            var parts = [expected.bundleID, expected.environment?.rawValue].compactMap(\.self)
            if let id = expected.appAppleID { parts.append("app_apple_id \(id)") }
            if !parts.isEmpty { rows.append(("compared", parts.joined(separator: ", "))) }
        }
        if !payload.notCompared.isEmpty {
            rows.append(("NOT COMPARED", payload.notCompared.joined(separator: ", ")))
        }
        if let moment = payload.judgedAt {
            let isAtSigning = moment == payload.signedDate
            let signed = payload.signedDate?.rfc3339 ?? "not stated"
            rows.append(("signed", signed + (isAtSigning ? ", when the chain was valid" : "")))
            if !isAtSigning { rows.append(("checked at", moment.rfc3339)) }
        }
        if !payload.digest.isEmpty { rows.append(("sha-256", payload.digest)) }
        if !payload.certificates.isEmpty {
            rows.append(("algorithm", "ES256" + (holds ? ", the signature holds" : "")))
            rows += chain(of: payload)
        }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            dimmed(name.padded(to: width)) + "  " + value
        }
    }

    private func chain(of payload: InspectedPayload) -> [(String, String)] {
        if payload.payload != nil, describedChain == payload.certificates {
            return [("chain", "the same certificates as above")]
        }
        var rows: [(String, String)] = []
        for (name, facts) in zip(["leaf", "issuer", "root"], payload.certificates) {
            rows += describe(facts, as: name, isTrusted: facts == payload.anchor)
        }
        if payload.payload == nil {
            rows.append(("", "The header claims this; it could not be verified."))
        } else {
            describedChain = payload.certificates
            if let anchor = payload.anchor, !payload.certificates.contains(anchor) {
                rows += describe(anchor, as: "ends at", isTrusted: true)
            }
        }
        return rows
    }

    private func describe(
        _ facts: CertificateFacts, as name: String, isTrusted: Bool
    ) -> [(String, String)] {
        let first = Timestamp(unixMilliseconds: facts.notBefore).utcDay
        let last = Timestamp(unixMilliseconds: facts.notAfter).utcDay
        let fingerprint = isVerbose ? facts.fingerprint : facts.fingerprint.prefix(16) + "…"
        let subject = PlainText.of(isVerbose ? facts.subject : facts.name)
        let details = "\(first) to \(last), serial \(facts.serialNumber), sha-256 \(fingerprint)"
        return [(name, subject + (isTrusted ? " (trusted)" : "")), ("", dimmed(details))]
    }

    // MARK: Ink

    func verdict(_ judgement: Judgement) -> String {
        let colour =
            switch judgement.verdict {
            case .valid: "32"
            case .invalid: "1;31"
            case .undetermined: "33"
            }
        return judgement.verdict.rawValue.uppercased().painted(colour, if: isColoured)
    }

    private func because(_ judgement: Judgement) -> String {
        guard let reason = judgement.reason else { return "" }
        return " (\(reason.rawValue)): \(PlainText.of(judgement.detail ?? ""))"
    }

    func dimmed(_ text: String) -> String { text.painted("2", if: isColoured) }

    func marked(_ text: String) -> String { text.painted("33", if: isColoured) }
}

/// The meaning of a payload's member for a person, next to the raw value.
///
/// Source: App Store Server API, data models.
extension InspectedPage {
    private static let meanings: [String: [Int64: String]] = [
        "status": [
            1: "active", 2: "expired", 3: "billing retry", 4: "billing grace period", 5: "revoked",
        ],
        "autoRenewStatus": [0: "off", 1: "on"],
        "commitmentAutoRenewStatus": [0: "off", 1: "on"],
        "expirationIntent": [
            1: "the customer cancelled", 2: "billing error", 3: "no consent to a price increase",
            4: "the product was not available", 5: "another reason",
        ],
        "priceIncreaseStatus": [
            0: "not answered", 1: "consented, or informed where no consent is needed",
        ],
        "offerType": [
            1: "introductory offer", 2: "promotional offer", 3: "offer code", 4: "win-back offer",
        ],
        "revocationReason": [0: "another reason", 1: "an issue in the app"],
    ]

    private static let money: Set<String> = [
        "price", "renewalPrice", "commitmentPrice", "commitmentRenewalPrice",
    ]

    /// - Parameters:
    ///   - name: The member's name.
    ///   - value: Its value.
    ///   - currency: The ISO 4217 code that the payload names.
    /// - Returns: A few words; `nil` when the value says all there is.
    private static func meaning(
        of name: String, _ value: JSONValue, currency: String?
    ) -> String? {
        if name.hasSuffix("Date"), let milliseconds = value.integerRoundedDown {
            return Timestamp(unixMilliseconds: milliseconds).rfc3339
        }
        guard let number = value.integer else { return nil }
        if let meaning = meanings[name]?[number] { return meaning }
        if money.contains(name) {
            return DecimalAmount(milliunits: number, currency: currency).plainText
                + (currency.map { " " + PlainText.of($0) } ?? "")
        }
        if name == "revocationPercentage" {
            return DecimalAmount(milliunits: number, currency: nil).plainText + " %"
        }
        return nil
    }

    /// Whether it is a code of an enumeration that this version does not know.
    private static func isUnknownCode(_ name: String, _ value: JSONValue) -> Bool {
        guard let meanings = meanings[name], let number = value.integer else { return false }
        return meanings[number] == nil
    }
}

/// A JSON value as an indented page: a member a line, meanings next to it, JWS unfolded in place.
struct InspectedPage {
    private static let widestName = 32

    private let text: InspectionText
    /// The results for the JWS in it, by path.
    private let layers: [String: InspectedPayload]
    /// Members and values that this version does not know, by path.
    private var unknowns: [String: UnknownValue] = [:]
    private var unsignedParts: Set<String> = []
    private var currency: String?

    /// The page of an unsigned text.
    init(text: InspectionText, layers: [InspectedPayload]) {
        self.text = text
        self.layers = Dictionary(layers.map { ($0.path, $0) }) { first, _ in first }
    }

    /// The page of a payload.
    init(text: InspectionText, of payload: InspectedPayload, _ document: JSONDocument) {
        self.init(text: text, layers: payload.inner)
        let prefix = (payload.kind?.modelName ?? "") + "."
        for unknown in payload.unknowns where unknown.field.hasPrefix(prefix) {
            unknowns[String(unknown.field.dropFirst(prefix.count))] = unknown
        }
        unsignedParts = Set(payload.unsignedParts)
        currency = document.root.members.first { $0.name.isText("currency") }?.value.text
    }

    /// Recursive, because no document is nested deeper than `JWSLimits.jsonDepth`.
    func lines(of value: JSONValue, at path: String) -> [String] {
        var entries: [(name: String, value: JSONValue)] = []
        if value.isObject {
            entries = value.members.map { ($0.name.text ?? "", $0.value) }
        } else {
            entries = value.elements.enumerated().map { (String($0), $1) }
        }
        let width = min(
            Self.widestName,
            entries.filter { !isBlock($0.value) }.map { $0.name.count }.max() ?? 0)
        return entries.flatMap { name, value in
            entry(name, value, at: JSONValue.path(path, name), width: width)
        }
    }

    private func isBlock(_ value: JSONValue) -> Bool {
        !value.members.isEmpty || !value.elements.isEmpty
    }

    private func entry(
        _ name: String, _ value: JSONValue, at path: String, width: Int
    ) -> [String] {
        let label = PlainText.of(name)
        let padded = label.padded(to: width)
        if let layer = layers[path] {
            return [label] + text.payload(layer).map { "  " + $0 }
        }
        let isUnknown = unknowns[path]
        if isBlock(value) {
            return [label + (isUnknown == nil ? "" : "  " + text.marked("unknown member"))]
                + lines(of: value, at: path).map { "  " + $0 }
        }
        var line = padded + "  " + shown(value)
        if let meaning = Self.meaning(of: name, value, currency: currency) {
            line += "  " + text.dimmed(meaning)
        }
        if unsignedParts.contains(path) {
            line += "  " + text.marked("not a JWS: nothing in it could be verified")
        }
        if isUnknown == nil, Self.isUnknownCode(name, value) {
            line += "  " + text.marked("unknown value")
        }
        if let isUnknown {
            line += "  " + text.marked(isUnknown.value == nil ? "unknown member" : "unknown value")
        }
        return [line]
    }

    private func shown(_ value: JSONValue) -> String {
        if let text = value.text {
            return text.isEmpty ? "\"\"" : PlainText.of(text)
        }
        return value.compact()
    }
}
