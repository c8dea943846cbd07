import Crypto
import FoundationEssentials

/// Signs payloads as Apple does: compact JWS, ES256, three certificates in the header.
///
/// The header is the same in every JWS of a chain, so its encoding and its part of the digest are computed
/// once.
struct PayloadSigner: Sendable {
    /// The encoded header with the point behind it.
    private let prefix: [UInt8]
    private let prefixDigest: SHA256
    private let key: P256.Signing.PrivateKey

    init(chain: SigningChain) {
        self.init(header: Self.header(certificates: chain.certificates), key: chain.leafKey)
    }

    /// `header`: the JSON of the protected header.
    init(header: [UInt8], key: P256.Signing.PrivateKey) {
        var prefix: [UInt8] = []
        Base64URL.append(header, to: &prefix)
        prefix.append(UInt8(ascii: "."))
        self.prefix = prefix
        var digest = SHA256()
        digest.update(data: prefix)
        self.prefixDigest = digest
        self.key = key
    }

    static func header(certificates: [[UInt8]], algorithm: String = "ES256") -> [UInt8] {
        var json = JSONWriter(capacity: 4096)
        json.object { json in
            json.field("alg", algorithm)
            json.key("x5c")
            json.array { json in
                for certificate in certificates {
                    json.string(Data(certificate).base64EncodedString())
                }
            }
        }
        return json.bytes
    }

    /// The compact JWS of a payload.
    func sign(_ payload: [UInt8]) throws -> [UInt8] {
        var jws: [UInt8] = []
        jws.reserveCapacity(prefix.count + payload.count * 4 / 3 + 96)
        jws.append(contentsOf: prefix)
        Base64URL.append(payload, to: &jws)
        var digest = prefixDigest
        digest.update(data: jws[prefix.count...])
        let signature = try key.signature(for: digest.finalize())
        jws.append(UInt8(ascii: "."))
        Base64URL.append(Array(signature.rawRepresentation), to: &jws)
        return jws
    }
}
