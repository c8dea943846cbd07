import Crypto
import FoundationEssentials

/// Turns a valid JWS into an invalid one.
struct JWSBreaker: Sendable {
    let chain: SigningChain
    /// Invalid chains, created when they are first needed.
    let chains: FlawedChains

    /// The invalid JWS; if its chain cannot be created, the JWS without a signature.
    func text(breaking jws: [UInt8], as form: BrokenJWS) -> [UInt8] {
        let parts = jws.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { return jws }
        let right = Parts(
            header: Array(parts[0]), payload: Array(parts[1]), signature: signature,
            content: payload)
        return text(of: right, form) ?? right.text(signature: [])
    }

    private struct Parts {
        /// Header and payload are encoded, as in the JWS.
        let header: [UInt8]
        let payload: [UInt8]
        let signature: [UInt8]
        /// The decoded payload.
        let content: [UInt8]

        func text(
            header: [UInt8]? = nil, payload: [UInt8]? = nil, signature: [UInt8]? = nil
        ) -> [UInt8] {
            let sides = [
                header ?? self.header, payload ?? self.payload,
                Base64URL.encode(signature ?? self.signature),
            ]
            return Array(sides.joined(separator: [UInt8(ascii: ".")]))
        }
    }

    private func text(of jws: Parts, _ form: BrokenJWS) -> [UInt8]? {
        switch form {
        case .algNoneEmptySignature, .algNoneMixedCase, .algHS256KeyedWithLeaf, .algES384,
            .algNull, .algMissing:
            algorithm(jws, form)
        case .signatureEmpty, .signatureTruncated, .signatureTooLong, .signatureZero,
            .signatureDER, .signatureSwapped, .signatureOfAnotherKey, .signatureOfAnotherPayload,
            .signatureOverPayloadOnly:
            signature(jws, form)
        case .segmentsTwo, .segmentsFour, .segmentEmptyPayload, .jsonSerialization, .notAJWS,
            .base64IllegalCharacter, .base64NonASCII, .base64Newline, .base64LengthOneModFour:
            serialization(jws, form)
        case .headerNotJSON, .headerIsArray, .headerWithoutX5C, .headerWithKeyOnly,
            .headerCritical, .headerUnencodedPayload:
            header(jws, form)
        case .x5cNull, .x5cEmpty, .x5cOne, .x5cText, .x5cGarbage, .x5cTruncated, .x5cSwapped,
            .x5cRootThrice:
            certificates(jws, form)
        case .leafOfAnotherIntermediate, .leafUnderRoot, .leafNotYetValid, .leafSignatureCorrupt,
            .intermediateExpired, .intermediateNotAuthority, .selfSignedThrice:
            chains.chain(form).flatMap { other in
                signed(
                    PayloadSigner.header(certificates: other.certificates), jws.content,
                    key: other.leafKey)
            }
        case .payloadIsArray:
            signed(rightHeader, Array("[".utf8) + jws.content + Array("]".utf8))
        case .payloadTruncated: signed(rightHeader, Array(jws.content.dropLast(20)))
        case .payloadTwice: signed(rightHeader, jws.payload)
        }
    }

    private var rightHeader: [UInt8] { PayloadSigner.header(certificates: chain.certificates) }

    /// A JWS with a valid signature over any header and payload.
    private func signed(
        _ header: [UInt8], _ payload: [UInt8], key: P256.Signing.PrivateKey? = nil
    ) -> [UInt8]? {
        try? PayloadSigner(header: header, key: key ?? chain.leafKey).sign(payload)
    }

    private func header(_ text: String) -> [UInt8] {
        let x5c = chain.certificates.map { "\"\(Data($0).base64EncodedString())\"" }
            .joined(separator: ",")
        return Array(text.replacing("$", with: "\"x5c\":[\(x5c)]").utf8)
    }

    private func algorithm(_ jws: Parts, _ form: BrokenJWS) -> [UInt8]? {
        func header(alg: String) -> [UInt8] { self.header("{\"alg\":\(alg),$}") }
        switch form {
        case .algNoneEmptySignature, .algNoneMixedCase:
            let name = form == .algNoneMixedCase ? "nOnE" : "none"
            return jws.text(
                header: Base64URL.encode(header(alg: "\"\(name)\"")), signature: [])
        case .algHS256KeyedWithLeaf:
            let encoded = Base64URL.encode(header(alg: "\"HS256\""))
            let signed = encoded + [UInt8(ascii: ".")] + jws.payload
            let key = SymmetricKey(data: Data(chain.leafKey.publicKey.derRepresentation))
            let code = HMAC<SHA256>.authenticationCode(for: Data(signed), using: key)
            return jws.text(header: encoded, signature: Array(code))
        case .algES384: return signed(header(alg: "\"ES384\""), jws.content)
        case .algNull: return signed(header(alg: "null"), jws.content)
        default: return signed(self.header("{$}"), jws.content)
        }
    }

    private func signature(_ jws: Parts, _ form: BrokenJWS) -> [UInt8]? {
        let right = jws.signature
        guard right.count == 64 else { return nil }
        switch form {
        case .signatureEmpty: return jws.text(signature: [])
        case .signatureTruncated: return jws.text(signature: Array(right.dropLast()))
        case .signatureTooLong: return jws.text(signature: right + [0])
        case .signatureZero: return jws.text(signature: [UInt8](repeating: 0, count: 64))
        case .signatureDER:
            let value = try? P256.Signing.ECDSASignature(rawRepresentation: right)
            return value.map { jws.text(signature: Array($0.derRepresentation)) }
        case .signatureSwapped: return jws.text(signature: right.suffix(32) + right.prefix(32))
        case .signatureOfAnotherKey:
            let header = Base64URL.decode(jws.header) ?? []
            return signed(header, jws.content, key: P256.Signing.PrivateKey())
        case .signatureOfAnotherPayload:
            let other = signed(rightHeader, jws.content + [UInt8(ascii: " ")])
            let end = other?.split(separator: UInt8(ascii: ".")).last
            return end.flatMap { Base64URL.decode($0) }.map { jws.text(signature: $0) }
        default:
            let value = try? chain.leafKey.signature(for: Data(jws.payload))
            return value.map { jws.text(signature: Array($0.rawRepresentation)) }
        }
    }

    private func serialization(_ jws: Parts, _ form: BrokenJWS) -> [UInt8]? {
        let right = jws.text()
        func inserting(_ bytes: [UInt8]) -> [UInt8] {
            let middle = jws.payload.count / 2
            return jws.text(
                payload: Array(jws.payload[..<middle]) + bytes + Array(jws.payload[middle...]))
        }
        switch form {
        case .segmentsTwo: return jws.header + [UInt8(ascii: ".")] + jws.payload
        case .segmentsFour: return right + Array(".AAAA".utf8)
        case .segmentEmptyPayload: return jws.text(payload: [])
        case .jsonSerialization:
            var json = JSONWriter()
            json.object { json in
                json.field("payload", jws: jws.payload)
                json.field("protected", jws: jws.header)
                json.field("signature", jws: Base64URL.encode(jws.signature))
            }
            return json.bytes
        case .notAJWS: return Array("this is no JWS".utf8)
        case .base64IllegalCharacter: return inserting(Array("!!!!".utf8))
        case .base64NonASCII: return inserting(Array("ää".utf8))
        case .base64Newline: return inserting([0x0A])
        default: return jws.text(payload: jws.payload + Array("A".utf8))
        }
    }

    private func header(_ jws: Parts, _ form: BrokenJWS) -> [UInt8]? {
        switch form {
        case .headerNotJSON: return signed(Array("alg: ES256".utf8), jws.content)
        case .headerIsArray:
            return signed(Array("[".utf8) + rightHeader + Array("]".utf8), jws.content)
        case .headerWithoutX5C: return signed(Array(#"{"alg":"ES256"}"#.utf8), jws.content)
        case .headerWithKeyOnly:
            let key = P256.Signing.PrivateKey()
            let point = Array(key.publicKey.rawRepresentation)
            let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
            let jwk =
                #"{"kty":"EC","crv":"P-256","x":"\#(String(decoding: x, as: UTF8.self))","#
                + #""y":"\#(String(decoding: y, as: UTF8.self))"}"#
            return signed(Array(#"{"alg":"ES256","jwk":\#(jwk)}"#.utf8), jws.content, key: key)
        case .headerCritical:
            return signed(
                header(#"{"alg":"ES256","crit":["signed_at"],"signed_at":1,$}"#), jws.content)
        default:
            // RFC 7797: the signature is over the unencoded payload, while the JWS contains the encoded one.
            let header = header(#"{"alg":"ES256","b64":false,"crit":["b64"],$}"#)
            let encoded = Base64URL.encode(header)
            let signed = encoded + [UInt8(ascii: ".")] + jws.content
            let value = try? chain.leafKey.signature(for: Data(signed))
            return value.map {
                jws.text(header: encoded, signature: Array($0.rawRepresentation))
            }
        }
    }

    private func certificates(_ jws: Parts, _ form: BrokenJWS) -> [UInt8]? {
        let right = chain.certificates
        func signed(_ certificates: [[UInt8]]) -> [UInt8]? {
            self.signed(PayloadSigner.header(certificates: certificates), jws.content)
        }
        switch form {
        case .x5cNull: return self.signed(header(#"{"alg":"ES256","x5c":null}"#), jws.content)
        case .x5cEmpty: return signed([])
        case .x5cOne: return signed([right[0]])
        case .x5cText:
            let text = right.map { Data($0).base64EncodedString() }.joined(separator: ",")
            return self.signed(header(#"{"alg":"ES256","x5c":"\#(text)"}"#), jws.content)
        case .x5cGarbage: return signed([Array("garbage".utf8), right[1], right[2]])
        case .x5cTruncated: return signed([Array(right[0].dropLast(40)), right[1], right[2]])
        case .x5cSwapped: return signed([right[1], right[0], right[2]])
        default: return signed([right[2], right[2], right[2]])
        }
    }
}
