import Crypto
import FoundationEssentials
import Synchronization

/// Verifies compact JWS that contain their certificate chain: `UnverifiedJWS` → `VerifiedJWS`.
///
/// In this order: segments, header (ES256, exactly three certificates), signature over the bytes as
/// received, chain to a trusted root with both markers, payload as a JSON object, and last the
/// chain's dates at the time that the payload states. Nothing is read from a payload, not even that
/// time, before its signature and its chain are valid. A valid leaf is cached, so that later
/// payloads with the same header cost one signature check.
///
/// Without a `RevocationCheck` there is no network access of any kind. With one, revocation is
/// checked last, for chains that are valid otherwise; a cached leaf is not used beyond the OCSP
/// responses.
package final class JWSVerifier: Sendable {
    private let roots: TrustedRoots
    private let policy: MarkedChainPolicy
    private let revocation: RevocationCheck?
    private let now: @Sendable () -> Int64
    private let tally = Mutex(RevocationTally())
    /// The leaf certificates that were verified last, by the exact bytes of their header segment.
    ///
    /// Bounded; the oldest entry makes room. Failures are never cached: a refused chain is validated
    /// again each time.
    private let leaves = Mutex<[TrustedLeaf]>([])
    private let learned = Atomic<Int>(0)
    private let remembered: RememberedSignatures?

    /// - Parameters:
    ///   - roots: The only trusted roots.
    ///   - markers: Extensions that intermediate and leaf must have.
    ///   - revocation: Checks whether certificates are revoked; `nil` for no such check.
    ///   - remembering: Of how many payloads to remember that their signature is valid, where the
    ///     same ones come several times.
    ///   - now: The wall clock in UNIX milliseconds, for payloads without a date.
    /// - Throws: `.format` when a marker is not an object identifier.
    package init(
        roots: TrustedRoots, markers: CertificateMarkers, revocation: RevocationCheck? = nil,
        remembering: Int = 0, now: @escaping @Sendable () -> Int64
    ) throws(JSONWebSignatureError) {
        self.roots = roots
        self.revocation = revocation
        self.policy = try MarkedChainPolicy(markers: markers)
        self.now = now
        remembered = remembering > 0 ? RememberedSignatures(limit: remembering) : nil
    }

    /// How many certificate chains have been validated: one for each distinct header, apart from
    /// concurrent first uses of it.
    package var validatedChains: Int { learned.load(ordering: .relaxed) }

    /// How many leaves are cached; never more than `JWSLimits.cachedLeaves`.
    package var cachedLeaves: Int { leaves.withLock { $0.count } }

    /// The effects of revocation so far.
    package var revocationTally: RevocationTally { tally.withLock { $0 } }

    /// How unknown revocation is treated; `nil` when revocation is not checked.
    package var revocationMode: RevocationMode? { revocation?.mode }

    /// Verifies a JWS; where its leaf is cached, with one signature check and without suspending.
    ///
    /// - Parameters: - jws: The JWS. - signedDate: Reads the date of signing, in UNIX milliseconds,
    ///   from a payload whose signature and chain are valid; `nil` for a payload without one, which
    ///   is checked at the present time.
    /// - Returns: The verified JWS.
    /// - Throws: Why the JWS is refused.
    package func verify(
        _ jws: UnverifiedJWS,
        signedDate: (JSONDocument) throws(JSONWebSignatureError) -> Int64?
    ) async throws(JSONWebSignatureError) -> VerifiedJWS {
        if let leaf = cachedLeaf(forHeader: jws.header),
            leaf.usableUntil == .max || now() < leaf.usableUntil
        {
            return try verify(jws, by: leaf, signedDate: signedDate)
        }
        let chain = try CertificateChain(entries: jws.chainEntries())
        let key = try chain.leafKey()
        var hash = SHA256()
        hash.update(data: jws.compact[..<jws.payload.startIndex])
        let digest = try checkSignature(of: jws, key: key, hash: hash)
        let path = try await path(of: chain)
        var leaf = TrustedLeaf(
            header: Array(jws.header), key: key, hashAfterHeader: hash, validity: path.validity)
        if let revocation {
            // No responder is asked because of a payload that is refused anyway.
            let verified = try dated(
                jws, digest: digest, validity: path.validity, signedDate: signedDate)
            (leaf.usableUntil, leaf.doubt) = try await standing(of: path, by: revocation)
            // The doubt is cached with the leaf, so that the next payloads cause no request.
            cache(leaf)
            if let doubt = leaf.doubt { try weigh(doubt) }
            return verified
        }
        cache(leaf)
        return try dated(jws, digest: digest, validity: path.validity, signedDate: signedDate)
    }

    private func verify(
        _ jws: UnverifiedJWS, by leaf: TrustedLeaf,
        signedDate: (JSONDocument) throws(JSONWebSignatureError) -> Int64?
    ) throws(JSONWebSignatureError) -> VerifiedJWS {
        let digest = try checkSignature(of: jws, key: leaf.key, hash: leaf.hashAfterHeader)
        let verified = try dated(
            jws, digest: digest, validity: leaf.validity, signedDate: signedDate)
        if let doubt = leaf.doubt { try weigh(doubt) }
        return verified
    }

    private func cachedLeaf(forHeader header: ArraySlice<UInt8>) -> TrustedLeaf? {
        let known = leaves.withLock { $0 }
        return known.first { ByteScan.areEqual(header, $0.header) }
    }

    private func cache(_ leaf: TrustedLeaf) {
        leaves.withLock { leaves in
            // The newest entry counts: its revocation may have been checked again.
            leaves.removeAll { $0.header == leaf.header }
            if leaves.count >= JWSLimits.cachedLeaves { leaves.removeFirst() }
            leaves.append(leaf)
        }
    }

    /// Validates a certificate chain alone, at a given time.
    ///
    /// - Parameters:
    ///   - entries: Certificates in DER, the leaf first.
    ///   - unixMilliseconds: When all of them must be valid.
    /// - Returns: The leaf's P-256 key as a DER SubjectPublicKeyInfo.
    /// - Throws: Why the chain is refused.
    package func validateChain(
        _ entries: [[UInt8]], at unixMilliseconds: Int64
    ) async throws(JSONWebSignatureError) -> [UInt8] {
        let chain = try CertificateChain(entries: entries)
        let path = try await path(of: chain)
        try Self.check(path.validity, at: unixMilliseconds)
        if let revocation, let doubt = try await standing(of: path, by: revocation).doubt {
            try weigh(doubt)
        }
        return try Array(chain.leafKey().derRepresentation)
    }

    private func path(
        of chain: CertificateChain
    ) async throws(JSONWebSignatureError) -> TrustedPath {
        let path = try await chain.path(toOneOf: roots, policy: policy)
        learned.add(1, ordering: .relaxed)
        return path
    }

    /// Until when the path may be used without another check, and why its revocation is unknown.
    ///
    /// - Throws: `.chain` when a certificate is revoked.
    private func standing(
        of path: TrustedPath, by revocation: RevocationCheck
    ) async throws(JSONWebSignatureError) -> (usableUntil: Int64, doubt: String?) {
        let standing = await revocation.standing(of: path)
        switch standing.verdict {
        case .good: return (standing.until, nil)
        case .undetermined(let detail): return (standing.until, detail)
        case .revoked(let detail):
            tally.withLock { tally in
                tally.revoked += 1
                tally.revocation = detail
            }
            throw JSONWebSignatureError(.chain, detail)
        }
    }

    /// Counts one payload with unknown revocation, and refuses it in hard mode.
    ///
    /// - Throws: `.undetermined` in hard mode.
    private func weigh(_ doubt: String) throws(JSONWebSignatureError) {
        tally.withLock { tally in
            tally.undetermined += 1
            tally.doubt = doubt
        }
        if revocation?.mode == .hard { throw JSONWebSignatureError(.undetermined, doubt) }
    }

    /// Checks r‖s (RFC 7518, section 3.4) and continues the same hash to the digest of the whole
    /// JWS.
    private func checkSignature(
        of jws: UnverifiedJWS, key: P256.Signing.PublicKey, hash: SHA256
    ) throws(JSONWebSignatureError) -> SHA256Digest {
        guard let bytes = Base64.decodeURL(jws.signature) else {
            throw JSONWebSignatureError(.format, "the JWS signature is not base64url")
        }
        var hash = hash
        hash.update(data: jws.payload)
        var whole = hash
        whole.update(data: jws.compact[jws.payload.endIndex...])
        let digest = SHA256Digest(whole.finalize())
        // The digest covers header, payload and signature: the same bytes by the same key.
        if let remembered, remembered.contains(digest) { return digest }
        let isValid: Bool
        do {
            let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
            isValid = key.isValidSignature(signature, for: hash.finalize())
        } catch {
            throw JSONWebSignatureError(.signature, "the JWS signature is not 64 bytes")
        }
        guard isValid else {
            throw JSONWebSignatureError(.signature, "the JWS signature does not verify")
        }
        remembered?.insert(digest)
        return digest
    }

    /// Decodes the payload and checks the chain's dates at its date of signing.
    private func dated(
        _ jws: UnverifiedJWS, digest: SHA256Digest, validity: ValidityPeriod,
        signedDate: (JSONDocument) throws(JSONWebSignatureError) -> Int64?
    ) throws(JSONWebSignatureError) -> VerifiedJWS {
        guard let bytes = Base64.decodeURL(jws.payload) else {
            throw JSONWebSignatureError(.format, "the JWS payload is not base64url")
        }
        let payload = try JSONDocument(bytes)
        guard payload.root.isObject else {
            throw JSONWebSignatureError(.format, "the JWS payload is not a JSON object")
        }
        try Self.check(validity, at: signedDate(payload) ?? now())
        return VerifiedJWS(
            received: jws.compact, digest: digest.hexadecimal, payload: payload)
    }

    private static func check(
        _ validity: ValidityPeriod, at unixMilliseconds: Int64
    ) throws(JSONWebSignatureError) {
        guard validity.contains(unixMilliseconds: unixMilliseconds) else {
            throw JSONWebSignatureError(
                .chain, "a certificate of the chain was not valid when the payload was signed")
        }
    }
}

/// The digests of payloads whose signature was found to be valid, up to a number.
///
/// A payload's digest covers its header with the certificates, and its signature, so the same
/// digest is the same check. Full, it forgets all of them and begins again.
final class RememberedSignatures: Sendable {
    private let limit: Int
    private let digests = Mutex(Set<SHA256Digest>())

    init(limit: Int) {
        self.limit = limit
    }

    func contains(_ digest: SHA256Digest) -> Bool { digests.withLock { $0.contains(digest) } }

    func insert(_ digest: SHA256Digest) {
        digests.withLock { digests in
            if digests.count >= limit { digests.removeAll(keepingCapacity: true) }
            digests.insert(digest)
        }
    }
}

/// A leaf whose chain was verified, with everything that the next JWS with it needs.
struct TrustedLeaf: Sendable {
    /// The exact header segment, with algorithm and certificates, in which it was verified.
    let header: [UInt8]
    let key: P256.Signing.PublicKey
    /// The state of SHA-256 after the header segment and its dot, which are most of a JWS.
    let hashAfterHeader: SHA256
    let validity: ValidityPeriod
    /// Until when it may be used without checking revocation again, in UNIX milliseconds.
    var usableUntil = Int64.max
    /// The reason why its revocation could not be determined; `nil` when it was, or is not checked.
    var doubt: String?
}
