import Crypto
import FoundationEssentials
import SwiftASN1
import X509

/// A signed OCSP response (RFC 6960, section 4.2), written without an OCSP library, so that any mistake
/// can be put into it.
struct OCSPResponse {
    enum Status {
        case good
        case revoked(at: Date)
        case unknown
    }

    /// The signing key, with the certificate that proves its right to sign.
    struct Signer {
        var key: P384.Signing.PrivateKey
        var certificate: Certificate
        /// Whether the response contains the certificate.
        var isIncluded = false
    }

    var certID: [UInt8]
    var status: Status
    var thisUpdate: Date
    var nextUpdate: Date
    var nonce: [UInt8]?

    private static let basicResponse: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 1]
    private static let ecdsaWithSHA384: ASN1ObjectIdentifier = [1, 2, 840, 10045, 4, 3, 3]

    /// The unsigned response tryLater.
    static func tryLater() -> [UInt8] {
        var coder = DER.Serializer()
        coder.appendConstructedNode(identifier: .sequence) { coder in
            coder.appendPrimitiveNode(identifier: .enumerated) { $0.append(3) }
        }
        return coder.serializedBytes
    }

    /// The complete response; with `isForged`, the signature is of other data.
    func signed(by signer: Signer, isForged: Bool = false) throws -> [UInt8] {
        let data = try responseData(of: signer)
        let signature = try signer.key.signature(for: isForged ? data + [0] : data)
        var basic = DER.Serializer()
        try basic.appendConstructedNode(identifier: .sequence) { coder in
            coder.serializeRawBytes(data)
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.serialize(Self.ecdsaWithSHA384)
            }
            try coder.serialize(ASN1BitString(bytes: Array(signature.derRepresentation)[...]))
            guard signer.isIncluded else { return }
            try coder.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) {
                coder in
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.serialize(signer.certificate)
                }
            }
        }
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            coder.appendPrimitiveNode(identifier: .enumerated) { $0.append(0) }
            try coder.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) {
                coder in
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.serialize(Self.basicResponse)
                    try coder.serialize(ASN1OctetString(contentBytes: basic.serializedBytes[...]))
                }
            }
        }
        return coder.serializedBytes
    }

    private func responseData(of signer: Signer) throws -> [UInt8] {
        let keyHash = Insecure.SHA1.hash(
            data: signer.certificate.publicKey.subjectPublicKeyInfoBytes)
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(explicitlyTaggedWithTagNumber: 2, tagClass: .contextSpecific) {
                coder in
                try coder.serialize(ASN1OctetString(contentBytes: Array(keyHash)[...]))
            }
            try coder.serialize(Self.time(thisUpdate))
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    coder.serializeRawBytes(certID)
                    try write(status, into: &coder)
                    try coder.serialize(Self.time(thisUpdate))
                    try coder.serialize(
                        Self.time(nextUpdate), explicitlyTaggedWithTagNumber: 0,
                        tagClass: .contextSpecific)
                }
            }
            guard let nonce else { return }
            coder.serialize(explicitlyTaggedWithTagNumber: 1, tagClass: .contextSpecific) {
                coder in
                coder.appendConstructedNode(identifier: .sequence) { coder in
                    coder.serializeRawBytes(nonce)
                }
            }
        }
        return coder.serializedBytes
    }

    private func write(_ status: Status, into coder: inout DER.Serializer) throws {
        switch status {
        case .good: coder.appendPrimitiveNode(identifier: Self.tag(0)) { _ in }
        case .revoked(let date):
            try coder.appendConstructedNode(identifier: Self.tag(1)) { coder in
                try coder.serialize(Self.time(date))
                coder.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) {
                    coder in
                    // keyCompromise
                    coder.appendPrimitiveNode(identifier: .enumerated) { $0.append(1) }
                }
            }
        case .unknown: coder.appendPrimitiveNode(identifier: Self.tag(2)) { _ in }
        }
    }

    private static func tag(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }

    private static func time(_ date: Date) throws -> GeneralizedTime {
        let seconds = Int64(date.timeIntervalSince1970.rounded(.down))
        let (day, second) = (seconds / 86_400, Int(seconds % 86_400))
        let (year, month, dayOfMonth) = CivilCalendar.date(fromDays: day)
        return try GeneralizedTime(
            year: Int(year), month: Int(month), day: Int(dayOfMonth), hours: second / 3600,
            minutes: second / 60 % 60, seconds: second % 60, fractionalSeconds: 0)
    }
}
