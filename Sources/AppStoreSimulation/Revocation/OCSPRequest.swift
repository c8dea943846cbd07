import SwiftASN1

/// An OCSP request for one certificate (RFC 6960, section 4.1).
struct OCSPRequest {
    /// The whole `CertID` in DER, which the response repeats.
    let certID: [UInt8]
    let issuerKeyHash: [UInt8]
    /// The nonce extension in DER, if there is one.
    var nonce: [UInt8]?

    private static let nonceIdentifier: ASN1ObjectIdentifier = [1, 3, 6, 1, 5, 5, 7, 48, 1, 2]

    init?(_ bytes: [UInt8]) {
        guard let request = try? DER.parse(bytes), let tbs = Self.children(request).first,
            let list = Self.children(tbs).first(where: { $0.identifier == .sequence }),
            let single = Self.children(list).first, let certID = Self.children(single).first,
            Self.children(certID).count == 4,
            let hash = try? ASN1OctetString(derEncoded: Self.children(certID)[2])
        else { return nil }
        self.certID = Array(certID.encodedBytes)
        issuerKeyHash = Array(hash.bytes)
        let tag = ASN1Identifier(tagWithNumber: 2, tagClass: .contextSpecific)
        let extensions = Self.children(tbs).first { $0.identifier == tag }
            .flatMap { Self.children($0).first }
        nonce = extensions.flatMap { list in
            Self.children(list).first { entry in
                Self.children(entry).first.flatMap { try? ASN1ObjectIdentifier(derEncoded: $0) }
                    == Self.nonceIdentifier
            }
        }.map { Array($0.encodedBytes) }
    }

    private static func children(_ node: ASN1Node) -> [ASN1Node] {
        guard case .constructed(let nodes) = node.content else { return [] }
        return Array(nodes)
    }
}
