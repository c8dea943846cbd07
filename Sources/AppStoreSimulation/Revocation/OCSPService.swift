import Crypto
import FoundationEssentials
import Subscriptions
import SwiftASN1
import Synchronization
import X509

/// The revocation service of the simulated signing chain: what it is asked and what it answers.
///
/// It lives in the present, whatever the simulated clock shows, as tokens do: revocation is a
/// question about now.
final class OCSPService: Sendable {
    struct State: Sendable {
        var mode: OCSPMode
        var delayMilliseconds: Int64 = 20_000
        /// From the answer to its nextUpdate.
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
    private let authority: SigningChain.Authority

    init(mode: OCSPMode, authority: SigningChain.Authority) {
        state = Mutex(State(mode: mode))
        self.authority = authority
    }

    /// Answers one request, whichever path it came to.
    func outcome(_ request: ServiceRequest) -> Outcome {
        guard request.method == "POST" else { return Outcome(answer: .wrongMethod) }
        guard let asked = OCSPRequestReader(request.body), let subject = subject(of: asked) else {
            state.withLock { $0.unreadable += 1 }
            return Outcome(answer: ServiceAnswer(status: 400, contentType: nil, body: []))
        }
        let state = state.withLock { state in
            if subject == .leaf {
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
        // The listener may have to be gone a moment later.
        answer.headers.append(("Connection", "close"))
        return Outcome(
            answer: answer,
            delayMilliseconds: state.mode == .late ? state.delayMilliseconds : 0)
    }

    private enum Subject {
        case leaf, intermediate
    }

    private func subject(of asked: OCSPRequestReader) -> Subject? {
        if asked.isIssued(by: authority.intermediate) { return .leaf }
        return asked.isIssued(by: authority.root) ? .intermediate : nil
    }

    /// What is answered without regard to the question.
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

    /// `nil` for modes whose answer is no OCSP.
    private func body(
        about asked: OCSPRequestReader, subject: Subject, state: State
    ) throws -> [UInt8]? {
        let now = Date()
        var writer = OCSPAnswerWriter(
            certID: asked.certID, status: .good, thisUpdate: now.addingTimeInterval(-60),
            nextUpdate: now.addingTimeInterval(state.lifetimeSeconds), nonce: asked.nonce)
        let issuer = issuer(of: subject)
        switch state.mode {
        case .good, .late: break
        case .delegated:
            return try writer.signed(by: try delegate(of: issuer, isForeign: false))
        case .revoked: if subject == .leaf { writer.status = .revoked(at: now - 86_400) }
        case .revokedIntermediate:
            if subject == .intermediate { writer.status = .revoked(at: now - 86_400) }
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
        case .tryLater: return OCSPAnswerWriter.tryLater()
        case .html, .notFound, .serverError, .redirect, .absent: return nil
        }
        return try writer.signed(by: issuer)
    }

    private func issuer(of subject: Subject) -> OCSPAnswerWriter.Signer {
        switch subject {
        case .leaf:
            OCSPAnswerWriter.Signer(
                key: authority.intermediateKey, certificate: authority.intermediate)
        case .intermediate:
            OCSPAnswerWriter.Signer(key: authority.rootKey, certificate: authority.root)
        }
    }

    /// A certificate for signing OCSP answers, by the issuer or by a stranger of the same name.
    private func delegate(
        of issuer: OCSPAnswerWriter.Signer, isForeign: Bool
    ) throws -> OCSPAnswerWriter.Signer {
        let key = P384.Signing.PrivateKey()
        let shape = CertificateShape(
            commonName: "Simulated OCSP Responder", organizationalUnit: "",
            organization: "Simulated Inc.", role: .responder, marker: nil, responder: nil,
            notBefore: Date().addingTimeInterval(-86_400),
            notAfter: Date().addingTimeInterval(30 * 86_400))
        let certificate = try shape.certificate(
            for: .init(key.publicKey), issuerName: issuer.certificate.subject,
            issuerKey: .init(isForeign ? P384.Signing.PrivateKey() : issuer.key),
            algorithm: .ecdsaWithSHA384)
        return OCSPAnswerWriter.Signer(key: key, certificate: certificate, isSentAlong: true)
    }
}

extension OCSPRequestReader {
    /// Whether the hash of the issuer's key is the certificate's, with SHA-1 or SHA-256.
    fileprivate func isIssued(by issuer: Certificate) -> Bool {
        let key = issuer.publicKey.subjectPublicKeyInfoBytes
        return issuerKeyHash == Array(Insecure.SHA1.hash(data: key))
            || issuerKeyHash == Array(SHA256.hash(data: key))
    }
}
