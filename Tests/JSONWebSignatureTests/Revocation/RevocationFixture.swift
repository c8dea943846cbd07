import JSONWebSignature
import Synchronization
import TestSupport

/// A verifier that asks a scripted responder, under a clock that tests move.
final class RevocationFixture: OCSPResponder, OCSPResponseCache {
    static let start = VerifierFixture.signedDate + 86_400_000

    typealias Script = @Sendable (TestOCSPResponse.Subject, Int64) -> [UInt8]?

    struct State: Sendable {
        var now = RevocationFixture.start
        var asked: [String] = []
        var kept: [OCSPResponseKey: [UInt8]] = [:]
        var keptUntil: [Int64] = []
        var script: Script
    }

    let chain: TestSigningChain
    let state: Mutex<State>

    /// `script`: what comes for a certificate at a time; `nil` is a fault of the way.
    init(
        _ options: TestSigningChain.Options? = nil, script: @escaping Script = { _, _ in nil }
    ) throws {
        var usual = TestSigningChain.Options()
        usual.leafResponder = "http://ocsp.example/leaf"
        usual.intermediateResponder = "http://ocsp.example/intermediate"
        chain = try TestSigningChain(options ?? usual)
        state = Mutex(State(script: script))
    }

    /// Answers of the chain's own, changed for one certificate or both.
    func answer(
        _ change: @escaping @Sendable (inout TestOCSPResponse) -> Void = { _ in }
    ) {
        let chain = chain
        state.withLock { state in
            state.script = { subject, now in
                var answer = TestOCSPResponse(subject, at: now)
                change(&answer)
                return try? answer.encoded(for: chain)
            }
        }
    }

    func verifier(_ mode: RevocationMode, isKeeping: Bool = false) throws -> JWSVerifier {
        let now: @Sendable () -> Int64 = { [self] in state.withLock { $0.now } }
        return try JWSVerifier(
            roots: TrustedRoots(fingerprints: [chain.rootFingerprint]),
            markers: VerifierFixture.markers,
            revocation: RevocationCheck(
                mode: mode, responder: self, cache: isKeeping ? self : nil, now: now),
            now: now)
    }

    /// A payload of the chain's, signed while everything was valid.
    func payload(_ number: Int = 0) throws -> String {
        try chain.sign("{\"signedDate\":\(VerifierFixture.signedDate),\"n\":\(number)}")
    }

    var asked: [String] { state.withLock { $0.asked } }

    func pass(milliseconds: Int64) {
        state.withLock { $0.now += milliseconds }
    }

    func response(
        to request: [UInt8], at address: String
    ) async -> Result<[UInt8], OCSPFault> {
        let (script, now) = state.withLock { state in
            state.asked.append(address)
            return (state.script, state.now)
        }
        // Others that meet the same certificate must find this question under way.
        await Task.yield()
        let subject: TestOCSPResponse.Subject = address.hasSuffix("leaf") ? .leaf : .intermediate
        return script(subject, now).map { .success($0) }
            ?? .failure(OCSPFault("no connection"))
    }

    func response(for key: OCSPResponseKey) async -> [UInt8]? {
        state.withLock { $0.kept[key] }
    }

    func keep(_ response: [UInt8], for key: OCSPResponseKey, until end: Int64) async {
        state.withLock { state in
            state.kept[key] = response
            state.keptUntil.append(end)
        }
    }
}

extension JWSVerifier {
    /// Why a text is refused; `nil` when it is not.
    func refusal(of compact: String) async -> JSONWebSignatureError? {
        do {
            _ = try await verify(UnverifiedJWS(compact)) { _ in VerifierFixture.signedDate }
            return nil
        } catch {
            return error
        }
    }
}
