import JSONWebSignature
import TestSupport
import Testing

@Suite struct `Trusted roots` {
    @Test func `reads DER and PEM and names both by fingerprint`() throws {
        let first = try TestSigningChain()
        let second = try TestSigningChain()
        let body = Base64.encodeStandard(second.rootDER)
        var lines: [Substring] = []
        var rest = body[...]
        while !rest.isEmpty {
            lines.append(rest.prefix(64))
            rest = rest.dropFirst(64)
        }
        let pem =
            "-----BEGIN CERTIFICATE-----\n\(lines.joined(separator: "\n"))\n-----END CERTIFICATE-----\n"
        let roots = try TrustedRoots(
            fingerprints: [], certificateFiles: [first.rootDER, Array(pem.utf8)])
        #expect(
            roots.listing.map(\.fingerprint)
                == [first.rootFingerprint, second.rootFingerprint].sorted())
        #expect(roots.listing.allSatisfy { $0.certificate != nil })
    }

    @Test(arguments: ["", "abcd", String(repeating: "g", count: 64)])
    func `refuses a fingerprint that is none`(text: String) {
        #expect(throws: JSONWebSignatureError.self) { try TrustedRoots(fingerprints: [text]) }
    }

    @Test func `refuses a file that is not a certificate`() {
        for text in ["", "abc", "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"] {
            let error = #expect(throws: JSONWebSignatureError.self) {
                try TrustedRoots(fingerprints: [], certificateFiles: [Array(text.utf8)])
            }
            #expect(error?.reason == .certificate)
        }
    }
}
