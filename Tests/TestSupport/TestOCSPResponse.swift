import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// A signed OCSP answer about a certificate of a test chain, right unless told otherwise.
package struct TestOCSPResponse: Sendable {
    package enum Status: Sendable {
        case good, revoked, unknown
    }

    package enum Subject: Sendable {
        case leaf, intermediate
    }

    package enum Signer: Sendable {
        /// The certificate's issuer.
        case issuer
        /// A certificate of the issuer's, with or without the right to sign OCSP answers.
        case delegate(mayAnswer: Bool)
        /// A certificate for OCSP that another authority issued.
        case stranger
        /// The issuer's name and another key.
        case forger
    }

    package var subject: Subject
    package var status = Status.good
    package var signer = Signer.issuer
    /// UNIX seconds.
    package var thisUpdate: Int64
    /// `nil` leaves it out.
    package var nextUpdate: Int64?
    package var serialIsOther = false
    package var carriesNonce = false

    package init(_ subject: Subject, at unixMilliseconds: Int64) {
        self.subject = subject
        thisUpdate = unixMilliseconds / 1000 - 60
        nextUpdate = unixMilliseconds / 1000 + 3600
    }

    /// The whole answer in DER.
    package func encoded(for chain: TestSigningChain) throws -> [UInt8] {
        let certificates = try chain.certificates.map { try Certificate(derEncoded: $0) }
        let (certificate, issuer, issuerKey) =
            switch subject {
            case .leaf: (certificates[0], certificates[1], chain.intermediateKey)
            case .intermediate: (certificates[1], certificates[2], chain.rootKey)
            }
        let (key, extra) = try signing(issuer: issuer, issuerKey: issuerKey)
        let data = try responseData(
            about: certificate, issuer: issuer, responder: extra?.publicKey ?? issuer.publicKey)
        let signature = try key.signature(for: data).derRepresentation
        let basic = try sequence { coder in
            coder.serializeRawBytes(data)
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                let ecdsaWithSHA384: ASN1ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 3]
                try coder.serialize(ecdsaWithSHA384)
            }
            try coder.serialize(ASN1BitString(bytes: Array(signature)[...]))
            guard let extra else { return }
            try coder.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) {
                try $0.appendConstructedNode(identifier: .sequence) { try $0.serialize(extra) }
            }
        }
        return try sequence { coder in
            coder.appendPrimitiveNode(identifier: .enumerated) { $0.append(0) }
            try coder.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) {
                try $0.appendConstructedNode(identifier: .sequence) { coder in
                    let basicResponse: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 1]
                    try coder.serialize(basicResponse)
                    try coder.serialize(ASN1OctetString(contentBytes: basic[...]))
                }
            }
        }
    }

    /// The key that signs, and the certificate that goes along with it.
    private func signing(
        issuer: Certificate, issuerKey: P384.Signing.PrivateKey
    ) throws -> (P384.Signing.PrivateKey, Certificate?) {
        let own = P384.Signing.PrivateKey()
        switch signer {
        case .issuer: return (issuerKey, nil)
        case .forger: return (own, nil)
        case .delegate(let mayAnswer):
            return (
                own,
                try delegate(
                    own, issuer: issuer, issuerKey: issuerKey,
                    usage: mayAnswer ? .ocspSigning : .serverAuth)
            )
        case .stranger:
            return (
                own,
                try delegate(
                    own, issuer: issuer, issuerKey: P384.Signing.PrivateKey(), usage: .ocspSigning)
            )
        }
    }

    private func delegate(
        _ key: P384.Signing.PrivateKey, issuer: Certificate, issuerKey: P384.Signing.PrivateKey,
        usage: ExtendedKeyUsage.Usage
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(),
            publicKey: .init(key.publicKey),
            notValidBefore: Date(timeIntervalSince1970: Double(thisUpdate) - 86_400),
            notValidAfter: Date(timeIntervalSince1970: Double(thisUpdate) + 86_400),
            issuer: issuer.subject,
            subject: DistinguishedName { CommonName("Test OCSP Responder") },
            signatureAlgorithm: .ecdsaWithSHA384,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([usage])
            },
            issuerPrivateKey: .init(issuerKey))
    }

    private func responseData(
        about certificate: Certificate, issuer: Certificate, responder: Certificate.PublicKey
    ) throws -> [UInt8] {
        let responderHash = Insecure.SHA1.hash(data: responder.subjectPublicKeyInfoBytes)
        let keyHash = Insecure.SHA1.hash(data: issuer.publicKey.subjectPublicKeyInfoBytes)
        var name = DER.Serializer()
        try name.serialize(issuer.subject)
        let nameHash = Insecure.SHA1.hash(data: name.serializedBytes)
        var serial = certificate.serialNumber.bytes
        if serialIsOther { serial[serial.endIndex - 1] ^= 1 }
        return try sequence { coder in
            try coder.serialize(explicitlyTaggedWithTagNumber: 2, tagClass: .contextSpecific) {
                try $0.serialize(ASN1OctetString(contentBytes: Array(responderHash)[...]))
            }
            try coder.serialize(Self.time(thisUpdate))
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.appendConstructedNode(identifier: .sequence) { coder in
                            let sha1: ASN1ObjectIdentifier = [1, 3, 14, 3, 2, 26]
                            try coder.serialize(sha1)
                            try coder.serialize(ASN1Null())
                        }
                        try coder.serialize(ASN1OctetString(contentBytes: Array(nameHash)[...]))
                        try coder.serialize(ASN1OctetString(contentBytes: Array(keyHash)[...]))
                        try coder.serialize(serial)
                    }
                    try writeStatus(into: &coder)
                    try coder.serialize(Self.time(thisUpdate))
                    guard let nextUpdate else { return }
                    try coder.serialize(
                        Self.time(nextUpdate), explicitlyTaggedWithTagNumber: 0,
                        tagClass: .contextSpecific)
                }
            }
            guard carriesNonce else { return }
            try coder.serialize(explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific) {
                try $0.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        let nonce: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 2]
                        try coder.serialize(nonce)
                        var value = DER.Serializer()
                        try value.serialize(
                            ASN1OctetString(contentBytes: [UInt8](repeating: 7, count: 16)[...]))
                        try coder.serialize(
                            ASN1OctetString(contentBytes: value.serializedBytes[...]))
                    }
                }
            }
        }
    }

    private func writeStatus(into coder: inout DER.Serializer) throws {
        switch status {
        case .good: coder.appendPrimitiveNode(identifier: Self.tag(0)) { _ in }
        case .unknown: coder.appendPrimitiveNode(identifier: Self.tag(2)) { _ in }
        case .revoked:
            try coder.appendConstructedNode(identifier: Self.tag(1)) {
                try $0.serialize(Self.time(thisUpdate - 3600))
            }
        }
    }

    private func sequence(
        _ write: (inout DER.Serializer) throws -> Void
    ) throws -> [UInt8] {
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence, write)
        return coder.serializedBytes
    }

    private static func tag(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }

    private static func time(_ seconds: Int64) throws -> GeneralizedTime {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second],
            from: Date(timeIntervalSince1970: Double(seconds)))
        return try GeneralizedTime(
            year: parts.year ?? 0, month: parts.month ?? 1, day: parts.day ?? 1,
            hours: parts.hour ?? 0, minutes: parts.minute ?? 0, seconds: parts.second ?? 0,
            fractionalSeconds: 0)
    }
}
