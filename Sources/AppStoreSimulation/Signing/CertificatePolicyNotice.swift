import SwiftASN1
import X509

/// A certificate policy with a notice, which gives the leaf about the size of Apple's.
enum CertificatePolicyNotice {
    private static let notice =
        "This certificate was made for one run of a simulated App Store. Nobody vouches for it, "
        + "nothing outside that run relies on it, and its private key is thrown away when the "
        + "simulator stops; do not add its root to any list of trusted roots that outlives a test."
    private static let address = "http://127.0.0.1/certificates/simulated-app-store/"

    /// RFC 5280, section 4.2.1.4, with one policy, a user notice and a statement address.
    static func makeExtension() throws -> Certificate.Extension {
        var coder = DER.Serializer()
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.serialize(ASN1ObjectIdentifier("1.2.840.113635.100.5.6.1"))
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.serialize(ASN1ObjectIdentifier("1.3.6.1.5.5.7.2.2"))
                        try coder.appendConstructedNode(identifier: .sequence) { coder in
                            try coder.serialize(ASN1UTF8String(notice))
                        }
                    }
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.serialize(ASN1ObjectIdentifier("1.3.6.1.5.5.7.2.1"))
                        try coder.serialize(ASN1IA5String(address))
                    }
                }
            }
        }
        return Certificate.Extension(
            oid: "2.5.29.32", critical: false,
            value: coder.serializedBytes[...])
    }
}
