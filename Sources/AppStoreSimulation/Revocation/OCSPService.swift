import Crypto
import FoundationEssentials
import Subscriptions
import SwiftASN1
import Synchronization
import X509

/// The OCSP responder for the simulated signing chain.
///
/// It uses the real time, not the simulated one, because clients check revocation against their own
/// clock.
final class OCSPService: Sendable {
    struct State: Sendable {
        var mode: OCSPMode
        var delayMilliseconds: Int64 = 20_000
        /// From the response to its nextUpdate.
        var lifetimeSeconds = 43_200.0
        var askedAboutLeaf = 0
        var askedAboutIntermediate = 0
        var unreadable = 0
    }

    struct Outcome: Sendable {
        var answer: ServiceAnswer
        var delayMilliseconds: Int64 = 0
    }

    let state: Mutex<State>
    private let firstMode: OCSPMode
    private let intermediates: IntermediateRotation

    init(mode: OCSPMode, intermediates: IntermediateRotation) {
        firstMode = mode
        state = Mutex(State(mode: mode))
        self.intermediates = intermediates
    }

    /// Answers one request, whatever its path.
    func outcome(_ request: ServiceRequest) -> Outcome {
        guard request.method == "POST" else { return Outcome(answer: .wrongMethod) }
        guard let asked = OCSPRequest(request.body), let subject = subject(of: asked) else {
            state.withLock { $0.unreadable += 1 }
            return Outcome(answer: ServiceAnswer(status: 400, contentType: nil, body: []))
        }
        let state = state.withLock { state in
            if case .leaf = subject {
                state.askedAboutLeaf += 1
            } else {
                state.askedAboutIntermediate += 1
            }
            return state
        }
        var answer =
            fixedAnswer(state.mode) ?? ServiceAnswer(status: 500, contentType: nil, body: [])
        if let body = try? body(about: asked, subject: subject, state: state) {
            answer = ServiceAnswer(
                status: 200, contentType: "application/ocsp-response", body: body)
        }
        // A control call may close the listener a moment later.
        answer.headers.append(("Connection", "close"))
        return Outcome(
            answer: answer,
            delayMilliseconds: state.mode == .late ? state.delayMilliseconds : 0)
    }

    /// What kind of certificate is checked, with the authority that it belongs to.
    private enum Subject {
        case leaf(SigningChain.Authority)
        case intermediate(SigningChain.Authority)
    }

    private func subject(of asked: OCSPRequest) -> Subject? {
        let authorities = intermediates.all
        if let issuer = authorities.first(where: { asked.isIssued(by: $0.intermediate) }) {
            return .leaf(issuer)
        }
        // They have one root.
        return authorities.first { asked.isIssued(by: $0.root) }.map { .intermediate($0) }
    }

    /// The answer of modes that do not depend on the request; `nil` for the others.
    private func fixedAnswer(_ mode: OCSPMode) -> ServiceAnswer? {
        switch mode {
        case .html:
            return ServiceAnswer(
                status: 200, contentType: "text/html", body: Array("<html>Sign in</html>".utf8))
        case .notFound: return .noSuchPath
        case .redirect:
            var answer = ServiceAnswer(status: 302, contentType: nil, body: [])
            answer.headers = [("Location", "/elsewhere")]
            return answer
        default: return nil
        }
    }

    /// The OCSP response; `nil` for modes that answer with something else.
    private func body(
        about asked: OCSPRequest, subject: Subject, state: State
    ) throws -> [UInt8]? {
        let now = Date()
        var writer = OCSPResponse(
            certID: asked.certID, status: .good, thisUpdate: now.addingTimeInterval(-60),
            nextUpdate: now.addingTimeInterval(state.lifetimeSeconds), nonce: asked.nonce)
        let issuer = issuer(of: subject)
        switch state.mode {
        case .good, .late: break
        case .delegated:
            return try writer.signed(by: try delegate(of: issuer, isForeign: false))
        case .revoked: if case .leaf = subject { writer.status = .revoked(at: now - 86_400) }
        case .revokedIntermediate:
            if case .intermediate = subject { writer.status = .revoked(at: now - 86_400) }
        case .unknown: writer.status = .unknown
        case .expired:
            writer.thisUpdate = now.addingTimeInterval(-10 * 86_400)
            writer.nextUpdate = now.addingTimeInterval(-3 * 86_400)
        case .malformed:
            let whole = try writer.signed(by: issuer)
            return Array(whole.prefix(whole.count / 2))
        case .badSignature: return try writer.signed(by: issuer, isForged: true)
        case .foreignSigner:
            return try writer.signed(by: try delegate(of: issuer, isForeign: true))
        case .otherCertificate: writer.certID[writer.certID.count - 1] ^= 1
        case .tryLater: return OCSPResponse.tryLater()
        case .html, .notFound, .serverError, .redirect, .absent: return nil
        }
        return try writer.signed(by: issuer)
    }

    private func issuer(of subject: Subject) -> OCSPResponse.Signer {
        switch subject {
        case .leaf(let authority):
            OCSPResponse.Signer(
                key: authority.intermediateKey, certificate: authority.intermediate)
        case .intermediate(let authority):
            OCSPResponse.Signer(key: authority.rootKey, certificate: authority.root)
        }
    }

    /// A delegated OCSP signing certificate, issued by the issuer or by a foreign key of the same
    /// name.
    private func delegate(
        of issuer: OCSPResponse.Signer, isForeign: Bool
    ) throws -> OCSPResponse.Signer {
        let key = P384.Signing.PrivateKey()
        let template = CertificateTemplate(
            commonName: "Simulated OCSP Responder", organizationalUnit: "",
            organization: "Simulated Inc.", role: .responder, marker: nil, responder: nil,
            notBefore: Date().addingTimeInterval(-86_400),
            notAfter: Date().addingTimeInterval(30 * 86_400))
        let certificate = try template.certificate(
            for: .init(key.publicKey), issuerName: issuer.certificate.subject,
            issuerKey: .init(isForeign ? P384.Signing.PrivateKey() : issuer.key),
            algorithm: .ecdsaWithSHA384)
        return OCSPResponse.Signer(key: key, certificate: certificate, isIncluded: true)
    }
}

extension OCSPRequest {
    /// Whether the hash of the issuer's key is the certificate's, with SHA-1 or SHA-256.
    fileprivate func isIssued(by issuer: Certificate) -> Bool {
        let key = issuer.publicKey.subjectPublicKeyInfoBytes
        return issuerKeyHash == Array(Insecure.SHA1.hash(data: key))
            || issuerKeyHash == Array(SHA256.hash(data: key))
    }
}

/// The body of the control call `ocsp`, which changes the responder.
struct OCSPChange: Decodable {
    var mode: String?
    var delayMilliseconds: Int64?
    var nextUpdateSeconds: Double?

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["mode", "delay_ms", "next_update_seconds"])
        mode = try keys.value(String.self, "mode")
        delayMilliseconds = try keys.number("delay_ms", in: 0...3_600_000)
        nextUpdateSeconds = try keys.number(
            "next_update_seconds", in: -1_000_000_000...1_000_000_000.0)
    }
}

extension OCSPService {
    func apply(_ change: OCSPChange) throws(SimulatorError) {
        let mode = try change.mode.map { name throws(SimulatorError) in
            guard let mode = OCSPMode(rawValue: name) else {
                throw .badOption("\"mode\" must be one of \(OCSPMode.names).")
            }
            return mode
        }
        state.withLock { state in
            state.mode = mode ?? state.mode
            state.delayMilliseconds = change.delayMilliseconds ?? state.delayMilliseconds
            state.lifetimeSeconds = change.nextUpdateSeconds ?? state.lifetimeSeconds
        }
    }

    /// Answers as at the start again.
    func restart() {
        state.withLock { $0 = State(mode: firstMode) }
    }

    func resetCounts() {
        state.withLock { state in
            state.askedAboutLeaf = 0
            state.askedAboutIntermediate = 0
            state.unreadable = 0
        }
    }

    /// The mode, and the numbers of requests since the log was reset.
    func report() -> ServiceAnswer {
        let state = state.withLock { $0 }
        return .json { json in
            json.field("mode", state.mode.rawValue)
            json.field("leaf", state.askedAboutLeaf)
            json.field("intermediate", state.askedAboutIntermediate)
            json.field("unreadable", state.unreadable)
        }
    }
}
