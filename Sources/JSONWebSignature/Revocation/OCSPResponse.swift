import Crypto
import FoundationEssentials
import SwiftASN1
import Synchronization
@_spi(FixedExpiryValidationTime) import X509
import X509

/// Verifies responses to a request, from the network or from the cache.
extension OCSPRequest {
    /// Verifies the response with swift-certificates' policy: form, signature and authority of the
    /// responder, dates, and status.
    ///
    /// The policy only says whether a path passes. In soft mode it fails for exactly one reason, a
    /// verified "revoked"; in hard mode it passes for exactly one reason, a verified "good". Run in
    /// both modes over the same bytes, it distinguishes good, revoked and neither.
    ///
    /// - Parameters:
    ///   - response: The bytes as received.
    ///   - path: The path that the certificate belongs to.
    ///   - now: The present, in UNIX milliseconds.
    /// - Returns: What the response proves, until it is no longer valid.
    /// - Throws: Why the response proves nothing.
    func standing(
        by response: [UInt8], in path: TrustedPath, at now: Int64
    ) async throws(OCSPFault) -> RevocationStanding {
        let date = Date(timeIntervalSince1970: Double(now) / 1000)
        let known = KnownResponse(identity: identity, response: response)
        let refusal = await path.objection(
            by: OCSPVerifierPolicy(
                failureMode: .soft, requester: known, fixedExpiryValidationTime: date))
        let doubt = await path.objection(
            by: OCSPVerifierPolicy(
                failureMode: .hard, requester: known, fixedExpiryValidationTime: date))
        // A policy that never requested the response has verified nothing.
        guard known.timesGiven == 2 else {
            throw OCSPFault("its answer could not be compared with the request")
        }
        let dates = dates(of: response)
        if refusal == nil, let doubt {
            if let dates, now < dates.thisUpdate || dates.nextUpdate <= now {
                throw OCSPFault("its answer is not valid now")
            }
            throw OCSPFault(Self.plain(doubt))
        }
        guard let dates else { throw OCSPFault("its answer does not say how long it is valid") }
        // The policy tolerates 75 minutes after the end, for clocks that differ. A response that is
        // cached and used for every payload must not be used after its end.
        guard now < dates.nextUpdate else { throw OCSPFault("its answer has expired") }
        let isRevoked = "\(subject) is revoked, by a signed answer of \(key.responder)"
        return RevocationStanding(
            verdict: refusal == nil ? .good : .revoked(isRevoked), until: dates.nextUpdate)
    }

    /// The library's reason without the values that it includes.
    private static func plain(_ reason: String) -> String {
        let words = reason.prefix { $0 != "(" && $0 != "[" }
        return "its answer is not accepted: " + words.prefix(RevocationLimits.reasonCharacters)
    }

    /// Returns why the policy rejects the path itself, before any response; `nil` when it does not.
    static func objection(to path: TrustedPath) async -> String? {
        await path.objection(
            by: OCSPVerifierPolicy(
                failureMode: .soft, requester: KnownResponse(identity: [], response: nil)))
    }
}

/// Gives the policy the response about one certificate, and an error for all others.
private final class KnownResponse: OCSPRequester {
    private let identity: [UInt8]
    private let response: [UInt8]?
    private let given = Atomic<Int>(0)

    init(identity: [UInt8], response: [UInt8]?) {
        self.identity = identity
        self.response = response
    }

    var timesGiven: Int { given.load(ordering: .relaxed) }

    func query(request: [UInt8], uri: String) async -> OCSPRequesterQueryResult {
        guard let response, request.contains(identity) else {
            return .nonTerminalError(OCSPFault("the stored answer is for another certificate"))
        }
        given.add(1, ordering: .relaxed)
        return .response(response)
    }
}

extension OCSPRequest {
    /// The validity of a response about the certificate, in UNIX milliseconds (RFC 6960, section
    /// 4.2.2.1).
    ///
    /// swift-certificates checks these dates but does not return them. They are only used of responses
    /// that its policy has verified.
    ///
    /// - Parameter response: The bytes as received.
    /// - Returns: `nil` where it is not about the certificate, has no end, or cannot be read.
    private func dates(of response: [UInt8]) -> (thisUpdate: Int64, nextUpdate: Int64)? {
        guard let outer = try? Self.children(of: DER.parse(response)), outer.count == 2,
            let typed = try? Self.children(of: outer[1]), let pair = typed.first,
            let bytes = try? Self.children(of: pair).last,
            let basic = try? DER.parse(ASN1OctetString(derEncoded: bytes).bytes),
            let data = try? Self.children(of: basic).first,
            let responses = try? Self.children(of: data).first(where: { $0.identifier == .sequence }
            ),
            let entries = try? Self.children(of: responses)
        else { return nil }
        for entry in entries {
            guard let members = try? Self.children(of: entry), let certID = members.first,
                let named = try? Self.children(of: certID).dropFirst().flatMap(\.encodedBytes),
                named == identity, members.count > 3,
                let start = Self.time(members[2]),
                // [0] EXPLICIT, where it is there at all.
                members[3].identifier
                    == ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific),
                let inner = try? Self.children(of: members[3]).first, let end = Self.time(inner)
            else { continue }
            return (start, end)
        }
        return nil
    }

    private static func time(_ node: ASN1Node) -> Int64? {
        guard let time = try? GeneralizedTime(derEncoded: node) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(
            year: time.year, month: time.month, day: time.day, hour: time.hours,
            minute: time.minutes, second: time.seconds)
        return calendar.date(from: parts).map { Int64($0.timeIntervalSince1970) * 1000 }
    }

    private static func children(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else {
            throw ASN1Error.unexpectedFieldType(node.identifier)
        }
        return Array(nodes)
    }
}

/// A request for the revocation status of one certificate of a path (RFC 6960, section 4.1).
struct OCSPRequest: Sendable {
    let key: OCSPResponseKey
    /// The request in DER, for one certificate and without a nonce.
    ///
    /// Responses are cached until they expire, so a nonce would protect from nothing; responders
    /// that sign in advance do not repeat it anyway (RFC 5019, section 2.1.1).
    let encoded: [UInt8]
    /// The last three members of `CertID`: both hashes of the issuer, and the serial number.
    let identity: [UInt8]
    /// The name of the certificate in messages.
    let subject: String

    /// The responder that the certificate names; `nil` where it names none.
    var address: String? { key.responder.isEmpty ? nil : key.responder }

    /// - Parameters:
    ///   - certificate: The certificate that is asked about.
    ///   - name: Its name in messages.
    ///   - issuer: The certificate that signed it.
    /// - Throws: Where a part of it has no form in DER.
    init(about certificate: Certificate, named name: String, issuedBy issuer: Certificate) throws {
        subject = "\(name) (serial \(certificate.serialNumber))"
        key = OCSPResponseKey(
            certificate: SHA256Digest(of: try Self.der(certificate)).hexadecimal,
            issuer: SHA256Digest(of: try Self.der(issuer)).hexadecimal,
            responder: Self.responder(of: certificate) ?? "")
        // SHA-1 only identifies the issuer here and protects nothing; every responder supports it.
        let issuerName = Insecure.SHA1.hash(data: try Self.der(issuer.subject))
        let publicKey = Insecure.SHA1.hash(data: issuer.publicKey.subjectPublicKeyInfoBytes)
        var members = DER.Serializer()
        try members.serialize(ASN1OctetString(contentBytes: Array(issuerName)[...]))
        try members.serialize(ASN1OctetString(contentBytes: Array(publicKey)[...]))
        try members.serialize(certificate.serialNumber.bytes)
        identity = members.serializedBytes
        encoded = try Self.encoded(identity: identity)
    }

    /// The first OCSP address of the certificate that is a URL.
    private static func responder(of certificate: Certificate) -> String? {
        let access = try? certificate.extensions.authorityInformationAccess
        for description in access ?? AuthorityInformationAccess([])
        where description.method == .ocspServer {
            if case .uniformResourceIdentifier(let address) = description.location {
                return address
            }
        }
        return nil
    }

    private static func encoded(identity: [UInt8]) throws -> [UInt8] {
        let sha1: ASN1ObjectIdentifier = [1, 3, 14, 3, 2, 26]
        var coder = DER.Serializer()
        // OCSPRequest, TBSRequest, requestList, Request, CertID.
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.appendConstructedNode(identifier: .sequence) { coder in
                            try coder.appendConstructedNode(identifier: .sequence) { coder in
                                try coder.serialize(sha1)
                                try coder.serialize(ASN1Null())
                            }
                            coder.serializeRawBytes(identity)
                        }
                    }
                }
            }
        }
        return coder.serializedBytes
    }

    private static func der(_ value: some DERSerializable) throws -> [UInt8] {
        var coder = DER.Serializer()
        try coder.serialize(value)
        return coder.serializedBytes
    }
}
