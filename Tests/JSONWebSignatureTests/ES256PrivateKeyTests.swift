import Crypto
import JSONWebSignature
import Testing

@Suite struct `ES256 signing` {
    @Test func `signs a token that its public key verifies`() throws {
        let secret = P256.Signing.PrivateKey()
        let key = try ES256PrivateKey(pem: secret.pemRepresentation)
        let token = try key.compactJWS(header: Array("{}".utf8), payload: Array("{}".utf8))
        let parts = token.split(separator: ".")
        let signature = try #require(Base64.decodeURL(Array(parts[2].utf8)[...]))
        #expect(signature.count == 64)
        #expect(
            secret.publicKey.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: signature),
                for: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test func `reads a key file with line ends of any kind`() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        _ = try ES256PrivateKey(pem: pem + "\n")
        _ = try ES256PrivateKey(pem: pem.replacing("\n", with: "\r\n"))
    }

    @Test func `refuses other keys without quoting them`() {
        let p384 = P384.Signing.PrivateKey().pemRepresentation
        for text in ["", "nothing", p384] {
            let error = #expect(throws: JSONWebSignatureError.self) {
                try ES256PrivateKey(pem: text)
            }
            #expect(error?.reason == .key)
            #expect(error?.description.contains("MI") == false)
        }
    }

    @Test func `prints as redacted`() {
        let key = ES256PrivateKey(P256.Signing.PrivateKey())
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), String(describing: [key]), dumped] {
            #expect(text.contains("redacted"))
            #expect(!text.contains("P256"))
        }
    }
}
