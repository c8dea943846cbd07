import JSONWebSignature
import Subscriptions
import TestSupport

/// One published vector as a command line of `inspect`, and what the answer to it is worth.
struct InspectVector {
    let vector: ConformanceVector

    /// `chain` has no payload; Xcode's own data is refused on purpose.
    var isInspectable: Bool { vector.text("kind") != "chain" && vector.requirement == nil }

    /// Writes the files and gives the arguments.
    func arguments(in folder: TestSupport.TemporaryFolder) throws -> [String] {
        var arguments = ["inspect", "--json", "--kind", vector.text("kind") ?? "auto"]
        for (index, text) in vector.texts("trusted_roots").enumerated() {
            let bytes = Base64.decodeStandard(Array(text.utf8)[...]) ?? []
            arguments += ["--trusted-root", try folder.write(bytes, to: "root\(index).der")]
        }
        if let bundle = vector.text("bundle_id") { arguments += ["--bundle-id", bundle] }
        if let environment = vector.text("environment") {
            arguments += ["--environment", environment]
        }
        if let id = vector.entry.member("app_apple_id")?.integer {
            arguments += ["--app-apple-id", String(id)]
        }
        return arguments + [try folder.write(vector.compactJWS, to: "payload.jws")]
    }

    /// What is wrong with an answer; `nil` when nothing is.
    func fault(in output: String, status: Int32) -> String? {
        guard let root = try? JSONDocument(Array(output.utf8)).root else {
            return "the output is not JSON: \(output.prefix(200))"
        }
        let verdict = root.member("verdict")?.text ?? "?"
        guard ["valid": 0, "invalid": 7, "undetermined": 3][verdict] == status else {
            return "\(verdict), but status \(status)"
        }
        let reason = root.member("reason")?.text ?? ""
        let named = verdict == "valid" ? "valid" : Self.verdicts[reason] ?? "reason \(reason)"
        guard vector.texts("accept").contains(named) else {
            return "\(named), accepted: \(vector.texts("accept"))"
        }
        let payload = root.member("payload")
        guard verdict == "valid" else {
            let holds = reason == "app" || reason == "environment"
            return !holds && payload?.isNull == false ? "a payload without a signature" : nil
        }
        for (name, expected) in vector.entry.member("expect_fields")?.members ?? [] {
            let path = name.text ?? ""
            let found = Self.value(of: payload, at: path)
            guard Self.areEqual(found, expected) else {
                return "\(path) is \(found?.source ?? "absent"), expected \(expected.source)"
            }
        }
        for path in vector.texts("unknown_enum_fields") {
            let isNamed = (root.member("unknown")?.elements ?? []).contains { unknown in
                unknown.member("field")?.text?.hasSuffix("." + path) == true
            }
            guard isNamed else { return "\(path) is not named as unknown" }
        }
        return nil
    }

    private static let verdicts = [
        "format": "invalid_format", "chain_length": "invalid_chain_length",
        "certificate": "invalid_certificate", "chain": "invalid_chain",
        "signature": "verification_failure", "app": "invalid_app_identifier",
        "environment": "invalid_environment",
    ]

    private static func value(of payload: JSONValue?, at path: String) -> JSONValue? {
        var current = payload
        for part in path.split(separator: ".") {
            if part == "#count" {
                let count = String(current?.elements.count ?? 0)
                return try? JSONDocument(Array(count.utf8)).root
            }
            if let index = Int(part), let elements = current?.elements, !elements.isEmpty {
                current = elements.indices.contains(index) ? elements[index] : nil
            } else {
                current = current?.member(String(part))
            }
        }
        return current
    }

    /// Absent and null are the same, whole milliseconds count, UUIDs have no case.
    private static func areEqual(_ found: JSONValue?, _ expected: JSONValue) -> Bool {
        guard let found, !found.isNull else { return expected.isNull }
        if let text = expected.text {
            return found.text == text || found.text?.lowercased() == text.lowercased()
        }
        if let number = expected.integer { return found.integerRoundedDown == number }
        if expected.isArray {
            return found.elements.count == expected.elements.count
                && zip(found.elements, expected.elements).allSatisfy(areEqual)
        }
        return found.compact() == expected.compact()
    }
}
