import AppStoreServerAPI
import JSONWebSignature
import Subscriptions

/// `inspect` for a person: the verdict first, then every layer unfolded where it stands.
struct InspectionText {
    let isColoured: Bool
    let isVerbose: Bool
    let remarks: [String]

    func rendered(_ inspection: Inspection) -> String {
        var lines: [String] = []
        switch inspection {
        case .payload(let payload, let isAlone):
            lines += self.payload(payload, known: [])
            if isAlone, payload.overall != payload.judgement {
                lines.append(
                    "The verdict is on the \(payload.kind?.rawValue ?? "payload") alone; what is "
                        + "signed inside it is not all valid.")
            }
        case .answer(let answer):
            lines += self.answer(answer)
        case .lines(let answers):
            for (number, answer) in answers {
                lines += ["line \(number)"] + self.answer(answer).map { "  " + $0 } + [""]
            }
            lines.append(verdict(inspection.judgement) + "  \(answers.count) lines in all")
        }
        if !remarks.isEmpty { lines.append("") }
        lines += remarks
        return lines.joined(separator: "\n")
    }

    // MARK: Answers

    private func answer(_ answer: InspectedAnswer) -> [String] {
        let what = answer.kind.map { "  " + $0.rawValue } ?? ""
        var lines = [verdict(answer.overall) + what + because(answer.overall)]
        guard let document = answer.document else { return lines }
        lines.append("  What stands outside the signed parts is signed by nobody.")
        let layers = Dictionary(
            answer.parts.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        let page = Page(text: self, layers: layers, unknowns: [:], known: [])
        lines += page.lines(of: document.root, at: "").map { "  " + $0 }
        return lines
    }

    // MARK: Payloads

    /// - Parameters:
    ///   - payload: What was found.
    ///   - known: Certificates that were described further up.
    func payload(_ payload: InspectedPayload, known: [CertificateFacts]) -> [String] {
        let judgement = payload.judgement
        var lines = [
            verdict(judgement) + "  " + (payload.kind?.rawValue ?? "unknown kind")
                + because(judgement)
        ]
        lines += facts(of: payload, known: known).map { "  " + $0 }
        guard let document = payload.payload else {
            lines.append(
                "  The payload is not shown: nothing of it is read before its signature and chain "
                    + "hold.")
            return lines
        }
        let unknowns = Dictionary(
            payload.unknowns.map { ($0.field, $0) }, uniquingKeysWith: { first, _ in first })
        let layers = Dictionary(
            payload.inner.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        let page = Page(
            text: self, layers: layers, unknowns: unknowns, known: payload.certificates,
            modelName: payload.kind?.modelName ?? "", unsignedParts: Set(payload.unsignedParts),
            currency: document.root.members.first { $0.name.isText("currency") }?.value.text)
        lines.append("")
        lines += page.lines(of: document.root, at: "").map { "  " + $0 }
        if payload.agreement.verdict != .valid {
            lines.append("  " + verdict(payload.agreement) + because(payload.agreement))
        }
        return lines
    }

    private func facts(of payload: InspectedPayload, known: [CertificateFacts]) -> [String] {
        var rows: [(String, String)] = []
        let holds = payload.payload != nil
        if let expected = payload.expected {
            var parts = [expected.bundleID, expected.environment?.rawValue].compactMap(\.self)
            if let id = expected.appAppleID { parts.append("app_apple_id \(id)") }
            if !parts.isEmpty { rows.append(("compared", parts.joined(separator: ", "))) }
        }
        if !payload.notCompared.isEmpty {
            rows.append(("NOT COMPARED", payload.notCompared.joined(separator: ", ")))
        }
        if holds {
            let signed = payload.signedDate?.rfc3339 ?? "not stated"
            let judged = payload.judgedAt.map { moment in
                moment == payload.signedDate ? ", when the chain was valid" : ""
            }
            rows.append(("signed", signed + (judged ?? "")))
            if payload.judgedAt != payload.signedDate, let moment = payload.judgedAt {
                rows.append(("judged at", moment.rfc3339))
            }
        }
        if !payload.digest.isEmpty { rows.append(("sha-256", payload.digest)) }
        if !payload.certificates.isEmpty {
            rows.append(("algorithm", "ES256" + (holds ? ", the signature holds" : "")))
            rows += chain(of: payload, known: known)
        }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            dimmed(name + String(repeating: " ", count: width - name.count)) + "  " + value
        }
    }

    private func chain(
        of payload: InspectedPayload, known: [CertificateFacts]
    ) -> [(String, String)] {
        if payload.certificates == known, payload.payload != nil {
            return [("chain", "the same certificates as above")]
        }
        let names = ["leaf", "issuer", "root"]
        var rows: [(String, String)] = []
        for (name, facts) in zip(names, payload.certificates) {
            let isAnchor = name == "root" && payload.anchor == facts
            rows.append((name, describe(facts) + (isAnchor ? ", trusted" : "")))
        }
        if payload.payload == nil {
            rows.append(("", "These certificates are what the header claims."))
        } else if let anchor = payload.anchor, payload.certificates.last != anchor {
            rows.append(("trusted root", describe(anchor)))
        }
        return rows
    }

    private func describe(_ facts: CertificateFacts) -> String {
        let first = Timestamp(unixMilliseconds: facts.notBefore).utcDay
        let last = Timestamp(unixMilliseconds: facts.notAfter).utcDay
        return PlainText.of(facts.subject) + ", \(first) to \(last), serial "
            + facts.serialNumber + ", sha-256 "
            + (isVerbose ? facts.fingerprint : facts.fingerprint.prefix(16) + "…")
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
