import AppStoreServerAPI
import JSONWebSignature
import Subscriptions

/// `inspect` for a person: the verdict first, then every layer unfolded where it stands.
struct InspectionText {
    let isColoured: Bool
    let isVerbose: Bool
    let remarks: [String]
    private let memory = Memory()

    init(isColoured: Bool, isVerbose: Bool, remarks: [String]) {
        self.isColoured = isColoured
        self.isVerbose = isVerbose
        self.remarks = remarks
    }

    /// What was described further up: Apple's chain is the same everywhere and is described once.
    private final class Memory {
        var chain: [CertificateFacts] = []
    }

    func rendered(_ inspection: Inspection) -> String {
        var lines: [String] = []
        switch inspection {
        case .payload(let payload, let isAlone):
            lines += self.payload(payload)
            if isAlone, payload.overall != payload.judgement {
                lines.append("")
                lines.append(
                    "The verdict is on the \(payload.kind?.rawValue ?? "payload") alone; what is "
                        + "signed inside it does not all hold.")
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
        return lines.map { $0.allSatisfy { $0 == " " } ? "" : $0 }.joined(separator: "\n")
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
            lines.append("  What stands outside the signed parts is signed by nobody.")
        }
        let layers = Dictionary(
            answer.parts.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        let page = InspectedPage(text: self, layers: layers)
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
            rows.append(
                (
                    "signed",
                    (payload.signedDate?.rfc3339 ?? "not stated")
                        + (isAtSigning ? ", when the chain was valid" : "")
                ))
            if !isAtSigning { rows.append(("judged at", moment.rfc3339)) }
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
        if payload.payload != nil, memory.chain == payload.certificates {
            return [("chain", "the same certificates as above")]
        }
        var rows: [(String, String)] = []
        for (name, facts) in zip(["leaf", "issuer", "root"], payload.certificates) {
            rows += describe(facts, as: name, isTrusted: facts == payload.anchor)
        }
        if payload.payload == nil {
            rows.append(("", "That is what the header claims; it did not hold."))
        } else {
            memory.chain = payload.certificates
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
        return [
            (
                name,
                PlainText.of(isVerbose ? facts.subject : facts.name)
                    + (isTrusted ? " (trusted)" : "")
            ),
            (
                "",
                dimmed(
                    "\(first) to \(last), serial \(facts.serialNumber), sha-256 \(fingerprint)")
            ),
        ]
    }

    // MARK: Ink

    func verdict(_ judgement: Judgement) -> String {
        let colour =
            switch judgement.verdict {
            case .valid: "32"
            case .invalid: "1;31"
            case .undetermined: "33"
            }
        return painted(judgement.verdict.rawValue.uppercased(), colour)
    }

    private func because(_ judgement: Judgement) -> String {
        guard let reason = judgement.reason else { return "" }
        return " (\(reason.rawValue)): \(PlainText.of(judgement.detail ?? ""))"
    }

    func dimmed(_ text: String) -> String { painted(text, "2") }

    func marked(_ text: String) -> String { painted(text, "33") }

    private func painted(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
