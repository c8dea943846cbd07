import Crypto
import FoundationEssentials
import SwiftASN1
@_spi(DisableValidityCheck) import X509
import X509

/// The three certificates of `x5c`: leaf, intermediate, root.
struct CertificateChain {
    static let length = 3

    private let leaf: Certificate
    private let intermediate: Certificate
    private let root: Certificate
    private let rootFingerprint: SHA256Digest

    /// - Parameter entries: Certificates in DER, the leaf first; exactly three.
    /// - Throws: `.chainLength` or `.certificate`.
    init(entries: [[UInt8]]) throws(JSONWebSignatureError) {
        guard entries.count == Self.length else {
            throw JSONWebSignatureError(
                .chainLength, "the chain has \(entries.count) certificates instead of three")
        }
        leaf = try Self.certificate(fromDER: entries[0])
        intermediate = try Self.certificate(fromDER: entries[1])
        root = try Self.certificate(fromDER: entries[2])
        rootFingerprint = SHA256Digest(of: entries[2])
    }

    static func certificate(fromDER bytes: [UInt8]) throws(JSONWebSignatureError) -> Certificate {
        do {
            return try Certificate(derEncoded: bytes)
        } catch {
            throw JSONWebSignatureError(.certificate, "a certificate is not DER")
        }
    }

    /// The leaf's key for ES256.
    ///
    /// - Throws: `.signature` when it is on another curve: then no ES256 signature can be valid.
    func leafKey() throws(JSONWebSignatureError) -> P256.Signing.PublicKey {
        guard let key = P256.Signing.PublicKey(leaf.publicKey) else {
            throw JSONWebSignatureError(.signature, "the leaf certificate's key is not P-256")
        }
        return key
    }

    /// Validates the path (RFC 5280, section 6) except for its dates, which the result contains.
    ///
    /// The dates are checked for each signature at its own time: archived payloads stay valid after
    /// their leaf has expired, and a cached chain is never used beyond its dates. The third entry
    /// is a trust anchor only when its fingerprint is trusted, and is not used otherwise.
    func path(
        toOneOf roots: TrustedRoots, policy: MarkedChainPolicy
    ) async throws(JSONWebSignatureError) -> TrustedPath {
        var anchors = roots.certificates
        if roots.fingerprints.contains(rootFingerprint), !anchors.contains(root) {
            anchors.append(root)
        }
        var verifier = Verifier(rootCertificates: CertificateStore(anchors)) {
            RFC5280Policy.withValidityCheckDisabled()
            policy
        }
        let result = await verifier.validate(
            leaf: leaf, intermediates: CertificateStore([intermediate]))
        switch result {
        case .validCertificate(let path):
            return TrustedPath(path, policy: policy)
        case .couldNotValidate(let failures):
            let why = failures.first.map { "\($0.policyFailureReason)" }
            throw JSONWebSignatureError(
                .chain,
                "the certificate chain does not hold: "
                    + (why ?? "it does not lead to a trusted root"))
        }
    }
}

/// Leaf, intermediate and trusted root of a chain that is valid, apart from its dates.
///
/// The root is the trust anchor of the path, whatever the chain has as its third entry.
struct TrustedPath: Sendable {
    let leaf: Certificate
    let intermediate: Certificate
    let root: Certificate
    let validity: ValidityPeriod
    private let policy: MarkedChainPolicy

    /// - Parameters:
    ///   - path: Three certificates, as `MarkedChainPolicy` demands.
    ///   - policy: What the path was validated with.
    init(_ path: ValidatedCertificateChain, policy: MarkedChainPolicy) {
        precondition(path.count == CertificateChain.length)
        leaf = path[0]
        intermediate = path[1]
        root = path[2]
        validity = ValidityPeriod(of: path)
        self.policy = policy
    }

    /// Returns why a further policy rejects this path; `nil` when it does not.
    func objection(by further: some VerifierPolicy & Sendable) async -> String? {
        var verifier = Verifier(rootCertificates: CertificateStore([root])) {
            RFC5280Policy.withValidityCheckDisabled()
            policy
            further
        }
        let result = await verifier.validate(
            leaf: leaf, intermediates: CertificateStore([intermediate]))
        switch result {
        case .validCertificate: return nil
        case .couldNotValidate(let failures):
            return failures.first.map { "\($0.policyFailureReason)" } ?? "the path does not hold"
        }
    }
}

/// The time during which every certificate of a chain is valid, in whole UNIX seconds.
///
/// RFC 5280 counts in seconds, both ends included (section 4.1.2.5).
struct ValidityPeriod: Hashable, Sendable {
    let firstSecond: Int64
    let lastSecond: Int64

    init(of chain: some Sequence<Certificate>) {
        var first = Int64.min
        var last = Int64.max
        for certificate in chain {
            first = max(first, Self.seconds(certificate.notValidBefore))
            last = min(last, Self.seconds(certificate.notValidAfter))
        }
        firstSecond = first
        lastSecond = last
    }

    func contains(unixMilliseconds: Int64) -> Bool {
        let (quotient, remainder) = unixMilliseconds.quotientAndRemainder(dividingBy: 1000)
        let second = remainder < 0 ? quotient - 1 : quotient
        return firstSecond <= second && second <= lastSecond
    }

    private static func seconds(_ date: Date) -> Int64 {
        Int64(date.timeIntervalSince1970.rounded(.down))
    }
}

/// The contents of a certificate, for display.
package struct CertificateFacts: Hashable, Sendable {
    package let subject: String
    /// The common name of the subject; the whole subject where it has none.
    package let name: String
    /// Hexadecimal.
    package let serialNumber: String
    /// Both ends of its validity, in UNIX milliseconds.
    package let notBefore: Int64
    package let notAfter: Int64
    /// SHA-256 of its DER form, in lowercase hexadecimal.
    package let fingerprint: String

    /// - Throws: `.certificate` when the bytes are not a certificate in DER.
    package init(der: [UInt8]) throws(JSONWebSignatureError) {
        self.init(try CertificateChain.certificate(fromDER: der), der: der)
    }

    fileprivate init(_ certificate: Certificate, der: [UInt8]) {
        subject = certificate.subject.description
        let names = certificate.subject.flatMap { Array($0) }
            .filter { $0.type == .RDNAttributeType.commonName }
        name = names.last.map { "\($0.value)" } ?? certificate.subject.description
        serialNumber = certificate.serialNumber.bytes.hexadecimal
        notBefore = Self.milliseconds(certificate.notValidBefore)
        notAfter = Self.milliseconds(certificate.notValidAfter)
        fingerprint = SHA256Digest(of: der).hexadecimal
    }

    private static func milliseconds(_ date: Date) -> Int64 {
        Int64(date.timeIntervalSince1970.rounded(.down)) * 1000
    }
}

extension UnverifiedJWS {
    /// The certificates in the header, the leaf first; not verified.
    ///
    /// Empty when the header does not state ES256 with three certificates.
    package var claimedCertificates: [CertificateFacts] {
        guard let entries = try? chainEntries() else { return [] }
        let facts = entries.compactMap { try? CertificateFacts(der: $0) }
        return facts.count == entries.count ? facts : []
    }
}

extension TrustedRoots {
    /// The trusted root that issued the intermediate certificate of a verified JWS.
    ///
    /// `nil` when none did. It explains a verdict and does not influence it.
    package func anchor(of jws: UnverifiedJWS) -> CertificateFacts? {
        guard let entries = try? jws.chainEntries(),
            let intermediate = try? CertificateChain.certificate(fromDER: entries[1])
        else { return nil }
        var candidates = listing.compactMap(\.certificate)
        let brought = entries[2]
        if fingerprints.contains(SHA256Digest(of: brought)) { candidates.append(brought) }
        for der in candidates {
            guard let root = try? CertificateChain.certificate(fromDER: der),
                root.subject == intermediate.issuer,
                root.publicKey.isValidSignature(intermediate.signature, for: intermediate)
            else { continue }
            return CertificateFacts(root, der: der)
        }
        return nil
    }

    /// The contents of the roots that were given as certificates.
    package var certificateFacts: [CertificateFacts] {
        listing.compactMap { $0.certificate.flatMap { try? CertificateFacts(der: $0) } }
    }
}

/// The requirements on a chain beyond RFC 5280's basic path validation.
///
/// Exactly three certificates, the markers, and the right key usage where it is stated:
/// `keyCertSign` on issuers, `digitalSignature` on the leaf (RFC 5280, section 4.2.1.3;
/// swift-certificates does not check key usage, on purpose). RFC 5280 would also accept a leaf that
/// is a certificate authority, and a wrong authority key identifier; no genuine chain has either.
struct MarkedChainPolicy: VerifierPolicy {
    private let intermediateMarker: ASN1ObjectIdentifier
    private let leafMarker: ASN1ObjectIdentifier
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier]

    init(markers: CertificateMarkers) throws(JSONWebSignatureError) {
        do {
            intermediateMarker = try ASN1ObjectIdentifier(dotRepresentation: markers.intermediate)
            leafMarker = try ASN1ObjectIdentifier(dotRepresentation: markers.leaf)
        } catch {
            throw JSONWebSignatureError(.format, "a certificate marker is not an object identifier")
        }
        verifyingCriticalExtensions = [intermediateMarker, leafMarker]
    }

    mutating func chainMeetsPolicyRequirements(
        chain: UnverifiedCertificateChain
    ) async -> PolicyEvaluationResult {
        guard chain.count == CertificateChain.length else {
            return .failsToMeetPolicy(reason: "the path does not have three certificates")
        }
        guard chain[1].extensions[oid: intermediateMarker] != nil else {
            return .failsToMeetPolicy(reason: "the intermediate lacks its marker extension")
        }
        guard chain[0].extensions[oid: leafMarker] != nil else {
            return .failsToMeetPolicy(reason: "the leaf lacks its marker extension")
        }
        do {
            return try Self.objection(to: Array(chain)).map { .failsToMeetPolicy(reason: $0) }
                ?? .meetsPolicy
        } catch {
            return .failsToMeetPolicy(reason: "an extension of a certificate cannot be read")
        }
    }

    private static func objection(to chain: [Certificate]) throws -> String? {
        for issuer in chain.dropFirst() {
            guard try issuer.extensions.keyUsage?.keyCertSign ?? true else {
                return "an issuer may not sign certificates"
            }
        }
        if case .isCertificateAuthority = try chain[0].extensions.basicConstraints {
            return "the leaf is a certificate authority"
        }
        guard try chain[0].extensions.keyUsage?.digitalSignature ?? true else {
            return "the leaf may not sign data"
        }
        for (certificate, issuer) in zip(chain, chain.dropFirst()) {
            let named = try certificate.extensions.authorityKeyIdentifier?.keyIdentifier
            let identifier = try issuer.extensions.subjectKeyIdentifier?.keyIdentifier
            guard named == nil || identifier == nil || named == identifier else {
                return "a certificate names another key of its issuer"
            }
        }
        return nil
    }
}

/// Extensions whose presence shows the purpose of a certificate.
///
/// A trusted root signs intermediates and leaves for many purposes; the markers identify those for
/// this one. Only presence counts, not the extension's value.
package struct CertificateMarkers: Hashable, Sendable {
    /// Object identifiers in dotted decimal form.
    package let intermediate: String
    package let leaf: String

    package init(intermediate: String, leaf: String) {
        self.intermediate = intermediate
        self.leaf = leaf
    }
}

/// The trusted root certificates.
///
/// A root is given by its SHA-256 fingerprint; then the chain must contain the certificate as its
/// third entry. Or it is given as a certificate; then the chain need not contain it.
package struct TrustedRoots: Sendable {
    let fingerprints: Set<SHA256Digest>
    let certificates: [Certificate]

    /// The fingerprint of every root, in lowercase hexadecimal and sorted, with its DER where it
    /// was given as a certificate.
    package let listing: [(fingerprint: String, certificate: [UInt8]?)]

    /// - Parameters:
    ///   - fingerprints: SHA-256 of certificates in DER, 64 hexadecimal digits each.
    ///   - files: Contents of files: one certificate in DER, or one or several in PEM.
    /// - Throws: `.certificate` when something cannot be read.
    package init(
        fingerprints: [String], certificateFiles files: [[UInt8]] = []
    ) throws(JSONWebSignatureError) {
        var digests: Set<SHA256Digest> = []
        var listing: [String: [UInt8]?] = [:]
        for text in fingerprints {
            guard let digest = SHA256Digest(hexadecimal: text) else {
                throw JSONWebSignatureError(
                    .certificate, "a trusted root's fingerprint is not 64 hexadecimal digits")
            }
            digests.insert(digest)
            listing[digest.hexadecimal] = .some(nil)
        }
        var certificates: [Certificate] = []
        for file in files {
            for encoded in try Self.encodedCertificates(file: file) {
                certificates.append(try CertificateChain.certificate(fromDER: encoded))
                let digest = SHA256Digest(of: encoded)
                digests.insert(digest)
                listing[digest.hexadecimal] = encoded
            }
        }
        guard digests.count <= JWSLimits.configuredRoots else {
            throw JSONWebSignatureError(
                .certificate, "more than \(JWSLimits.configuredRoots) trusted roots")
        }
        self.fingerprints = digests
        self.certificates = certificates
        self.listing = listing.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func encodedCertificates(
        file: [UInt8]
    ) throws(JSONWebSignatureError) -> [[UInt8]] {
        // DER of a certificate begins with a SEQUENCE; PEM with text.
        if file.first == 0x30 { return [file] }
        do {
            let documents = try PEMDocument.parseMultiple(
                pemString: String(decoding: file, as: UTF8.self))
            let encoded = documents.filter { $0.discriminator == "CERTIFICATE" }.map(\.derBytes)
            if !encoded.isEmpty { return encoded }
        } catch {}
        throw JSONWebSignatureError(
            .certificate, "a trusted root is neither a PEM nor a DER certificate")
    }
}
