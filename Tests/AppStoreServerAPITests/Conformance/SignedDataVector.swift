import AppStoreServerAPI
import JSONWebSignature
import Subscriptions
import TestSupport

/// One vector of signed data, and what we answer to it.
struct SignedDataVector {
    /// What became of a vector.
    enum Outcome: Equatable {
        case passed
        case skipped(String)
        /// The verdict is accepted, but a field is not as expected.
        case wrongFields(String)
        case refusedOrAcceptedWrongly(String)
    }

    let vector: ConformanceVector

    /// Verdict, and the decoded model where it is `valid`.
    private struct Answer {
        var verdict: String
        var model: WireValue?
        var unknowns: [UnknownValue] = []
    }

    func outcome() async -> Outcome {
        if let requirement = vector.requirement { return .skipped(requirement) }
        let kinds = ["transaction", "renewalInfo", "notification", "appTransaction", "chain"]
        guard let kind = vector.text("kind"), kinds.contains(kind) else {
            return .skipped("kind \(vector.text("kind") ?? "?")")
        }
        let answer = kind == "chain" ? await chainAnswer() : await answer(kind)
        let accepted = vector.texts("accept")
        // A configuration that is refused at construction counts as invalid, of whatever kind.
        let isAccepted =
            answer.verdict == "configuration"
            ? accepted.contains { $0 != "valid" } : accepted.contains(answer.verdict)
        guard isAccepted else {
            return .refusedOrAcceptedWrongly("\(answer.verdict), accepted: \(accepted)")
        }
        return answer.verdict == "valid" ? fieldOutcome(answer) : .passed
    }

    private func answer(_ kind: String) async -> Answer {
        guard let name = vector.text("environment"),
            let environment = AppStoreEnvironment(rawValue: name)
        else { return Answer(verdict: "configuration") }
        let app = AppIdentity(
            bundleID: vector.text("bundle_id") ?? "", environment: environment)
        do {
            let verifier = SignedDataVerifier(
                app: app, appAppleID: vector.entry.member("app_apple_id")?.integer,
                verifier: try jwsVerifier())
            return try await Self.decoded(kind, vector.compactJWS[...], by: verifier)
        } catch let error as VerificationFailure {
            return Answer(verdict: Self.verdict(error.reason))
        } catch {
            return Answer(verdict: "invalid_certificate")
        }
    }

    private static func decoded(
        _ kind: String, _ jws: ArraySlice<UInt8>, by verifier: SignedDataVerifier
    ) async throws -> Answer {
        switch kind {
        case "transaction":
            let model = try await verifier.transaction(jws).model
            return Answer(verdict: "valid", model: WireValue(model), unknowns: model.unknowns)
        case "renewalInfo":
            let model = try await verifier.renewalInfo(jws).model
            return Answer(verdict: "valid", model: WireValue(model), unknowns: model.unknowns)
        case "notification":
            let model = try await verifier.notification(jws).model
            return Answer(verdict: "valid", model: WireValue(model), unknowns: model.unknowns)
        default:
            let model = try await verifier.appTransaction(jws).model
            return Answer(verdict: "valid", model: WireValue(model), unknowns: model.unknowns)
        }
    }

    private func chainAnswer() async -> Answer {
        var entries: [[UInt8]] = []
        for place in ["leaf", "intermediate", "root"] {
            guard let text = vector.entry.member(place)?.textBytes else { continue }
            guard let bytes = Base64.decodeStandard(text) else {
                return Answer(verdict: "invalid_certificate")
            }
            entries.append(bytes)
        }
        let moment = vector.entry.member("validation_time_ms")?.integer ?? Self.presentMilliseconds
        do {
            let key = try await jwsVerifier().validateChain(entries, at: moment)
            let member = "{\"leaf_public_key_spki_base64\":\"\(Base64.encodeStandard(key))\"}"
            let model = try JSONDocument(Array(member.utf8)).root
            return Answer(verdict: "valid", model: WireValue(model))
        } catch {
            return Answer(verdict: Self.verdict(error))
        }
    }

    private func fieldOutcome(_ answer: Answer) -> Outcome {
        for (name, expected) in vector.entry.member("expect_fields")?.members ?? [] {
            let path = name.text ?? ""
            let found = answer.model?.at(path) ?? WireValue(nil)
            guard found.equals(expected) else {
                return .wrongFields("\(path) is \(found), expected \(expected.source)")
            }
        }
        for path in vector.texts("unknown_enum_fields") {
            let isCounted = answer.unknowns.contains { unknown in
                unknown.field.hasSuffix("." + path) && unknown.value != nil
            }
            guard isCounted, answer.model?.at(path).isAbsent == false else {
                return .wrongFields("\(path) was not kept as unknown")
            }
        }
        return .passed
    }

    private func jwsVerifier() throws(JSONWebSignatureError) -> JWSVerifier {
        var roots: [[UInt8]] = []
        for text in vector.texts("trusted_roots") {
            guard let root = Base64.decodeStandard(Array(text.utf8)[...]) else {
                throw JSONWebSignatureError(.certificate, "a trusted root is not base64")
            }
            roots.append(root)
        }
        return try JWSVerifier(
            roots: TrustedRoots(fingerprints: [], certificateFiles: roots),
            markers: AppleCertificates.markers, now: { Self.presentMilliseconds })
    }

    /// Some vectors depend on the present lying between 2026-11 and 2032.
    private static let presentMilliseconds: Int64 = 1_795_219_200_000

    private static func verdict(_ error: JSONWebSignatureError) -> String {
        switch error.reason {
        case .format: "invalid_format"
        case .undetermined: "undetermined"
        case .chainLength: "invalid_chain_length"
        case .certificate: "invalid_certificate"
        case .chain: "invalid_chain"
        case .signature, .key: "verification_failure"
        }
    }

    private static func verdict(_ reason: VerificationFailure.Reason) -> String {
        switch reason {
        case .format: "invalid_format"
        case .chainLength: "invalid_chain_length"
        case .certificate: "invalid_certificate"
        case .chain: "invalid_chain"
        case .signature: "verification_failure"
        case .app: "invalid_app_identifier"
        case .environment: "invalid_environment"
        case .crossCheck: "cross_check"
        case .digest, .nothingSigned: reason.rawValue
        case .revocation: "undetermined"
        }
    }
}
