import AppStoreServerAPI
import JSONWebSignature
import Subscriptions

/// Verification under hostile bytes: what may be fed in, and what must hold whatever is.
///
/// It must neither crash nor hang, a verifier that has met a header must answer as one that has not,
/// and nothing may verify but what was signed. The first two need no other oracle than themselves.
package struct FuzzedVerification: Sendable {
    private let chain: TestSigningChain
    private let header: [UInt8]
    private let roots: TrustedRoots
    private let met: JWSVerifier
    private let decoder: SignedDataVerifier
    /// Compact texts that verify: nothing else may.
    private let genuine: Set<[UInt8]>
    private let seedsByEntry: [FuzzEntry: [[UInt8]]]
    private let revocation: FuzzedRevocation

    /// - Parameter vectors: Further compact texts and the roots under which they may verify.
    /// - Throws: When the chain to sign with cannot be made.
    package init(vectors: [ConformanceVector] = []) async throws {
        let chain = try TestSigningChain()
        self.chain = chain
        let own = try FuzzSeeds.payloads.map { Array(try chain.sign($0).utf8) }
        header = Self.segment(0, of: own[0]) ?? []
        let anchors = Set(vectors.flatMap { $0.texts("trusted_roots") }).compactMap {
            Base64.decodeStandard(Array($0.utf8)[...])
        }.filter { (try? TrustedRoots(fingerprints: [], certificateFiles: [$0])) != nil }
        let roots = try TrustedRoots(
            fingerprints: [chain.rootFingerprint], certificateFiles: Array(anchors))
        self.roots = roots
        met = try Self.verifier(roots)
        decoder = SignedDataVerifier(
            app: AppIdentity(bundleID: "com.example.app", environment: .production),
            appAppleID: 1_234_567_890, verifier: met)
        let texts = own + vectors.map(\.compactJWS).filter { !$0.isEmpty && $0.count <= 16_384 }
        var genuine: Set<[UInt8]> = []
        for text in texts where try await Self.verdict(on: text, by: Self.verifier(roots)).isValid {
            genuine.insert(text)
        }
        self.genuine = genuine
        revocation = try FuzzedRevocation()
        let answers = FuzzSeeds.answers + vectors.compactMap { $0.text("response_body") }
        seedsByEntry = [
            .jws: texts, .header: texts.compactMap { Self.segment(0, of: $0) },
            .payload: texts.compactMap { Self.segment(1, of: $0) },
            .answer: answers.map { Array($0.utf8) }, .certificate: chain.certificates,
            .revocation: revocation.seeds,
        ]
    }

    /// Inputs to begin with; never empty.
    package func seeds(for entry: FuzzEntry) -> [[UInt8]] { seedsByEntry[entry] ?? [] }

    /// What is wrong with how the bytes were taken; `nil` when all is well.
    package func fault(of bytes: [UInt8], at entry: FuzzEntry) async throws -> String? {
        switch entry {
        case .jws: return try await fault(ofJWS: bytes)
        case .header: return try await fault(ofHeader: bytes)
        case .payload: return try await fault(ofPayload: bytes)
        case .answer:
            _ = try? StatusResponse(json: bytes)
            _ = try? HistoryResponse(json: bytes)
            _ = try? TransactionInfoResponse(json: bytes)
            _ = try? NotificationHistoryResponse(json: bytes)
            _ = ErrorPayload(body: bytes)
            return nil
        case .certificate: return try await fault(ofCertificate: bytes)
        case .revocation: return try await revocation.fault(of: bytes)
        }
    }

    private func fault(ofJWS text: [UInt8]) async throws -> String? {
        let verdict = await Self.verdict(on: text, by: met)
        guard verdict == (try await Self.verdict(on: text, by: Self.verifier(roots))) else {
            return "a verifier that has met the header answers otherwise: \(verdict)"
        }
        guard !verdict.isValid || genuine.contains(text) else {
            return "something that nobody signed verifies"
        }
        return nil
    }

    private func fault(ofHeader bytes: [UInt8]) async throws -> String? {
        guard let genuine = seedsByEntry[.jws]?[0],
            let end = genuine.firstIndex(of: UInt8(ascii: "."))
        else { return "there is no seed" }
        return try await fault(ofJWS: Array(Base64.encodeURL(bytes).utf8) + genuine[end...])
    }

    private func fault(ofPayload bytes: [UInt8]) async throws -> String? {
        _ = try? JWSTransactionDecodedPayload(json: bytes)
        _ = try? JWSRenewalInfoDecodedPayload(json: bytes)
        _ = try? ResponseBodyV2DecodedPayload(json: bytes)
        _ = try? AppTransaction(json: bytes)
        // What is no object is refused right behind the signature; signing it would tell no more.
        guard let document = try? JSONDocument(bytes), document.root.isObject else { return nil }
        let text = Array(
            try ES256PrivateKey(chain.leafKey).compactJWS(header: header, payload: bytes).utf8)
        let unknowns: [[UnknownValue]] = [
            (try? await decoder.signedTransaction(text[...]))?.unknowns ?? [],
            (try? await decoder.signedRenewal(text[...]))?.unknowns ?? [],
            (try? await decoder.recordedNotification(text[...], sendAttempts: []))?.unknowns ?? [],
            (try? await decoder.appTransaction(text[...]))?.model.unknowns ?? [],
        ]
        // A model and what it carries inside.
        guard unknowns.allSatisfy({ $0.count <= 8 * ObjectReader.keptUnknowns }) else {
            return "more unknown members are kept than the limit"
        }
        return nil
    }

    private func fault(ofCertificate bytes: [UInt8]) async throws -> String? {
        _ = try? TrustedRoots(fingerprints: [], certificateFiles: [bytes])
        for place in chain.certificates.indices {
            var entries = chain.certificates
            entries[place] = bytes
            let key = try? await met.validateChain(entries, at: FuzzSeeds.signedMilliseconds)
            if key != nil, bytes != chain.certificates[place] {
                return "a chain holds with another certificate in place \(place)"
            }
        }
        return nil
    }

    private enum Verdict: Hashable {
        case valid(digest: String)
        case invalid(JSONWebSignatureError)

        var isValid: Bool {
            if case .valid = self { true } else { false }
        }
    }

    private static func verdict(on text: [UInt8], by verifier: JWSVerifier) async -> Verdict {
        do {
            let verified = try await verifier.verify(UnverifiedJWS(text[...])) { payload in
                payload.root.member("signedDate")?.integerRoundedDown
            }
            return .valid(digest: verified.digest)
        } catch {
            return .invalid(error)
        }
    }

    private static func verifier(
        _ roots: TrustedRoots
    ) throws(JSONWebSignatureError) -> JWSVerifier {
        try JWSVerifier(
            roots: roots, markers: AppleCertificates.markers,
            now: { FuzzSeeds.signedMilliseconds })
    }

    /// A decoded segment of a compact text.
    private static func segment(_ index: Int, of text: [UInt8]) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.indices.contains(index) ? Base64.decodeURL(parts[index]) : nil
    }
}
