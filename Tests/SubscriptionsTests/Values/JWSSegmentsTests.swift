import Foundation
import Subscriptions
import Testing

@Suite struct `Parts of a compact JWS` {
    @Test func `are three, of which the payload is decoded`() {
        let text = "eyJhIjoxfQ." + Data("{\"b\":2}".utf8).base64EncodedString() + ".c2ln"
        #expect(JWSSegments.payload(of: text) == Array("{\"b\":2}".utf8))
        let parts = JWSSegments(Array(text.utf8))
        #expect(parts?.header == Array("eyJhIjoxfQ".utf8))
        #expect(parts?.signature == Array("c2ln".utf8))
    }

    @Test(arguments: [
        "", "a", "a.b", "a.b.c.d", ".YQ.YQ", "a.Y Q.c", "a.YQ=Q.c", "a.YQ===.c", "a.Y.c",
    ])
    func `are not found in another text`(text: String) {
        #expect(JWSSegments.payload(of: text) == nil)
    }

    /// Of each length, with bytes that need the last two digits of an alphabet.
    @Test(arguments: 0..<70)
    func `hold what the library has encoded, in both alphabets`(length: Int) throws {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 251 &+ length &* 97) }
        let padded = Data(bytes).base64EncodedString()
        let url = Data(bytes)
            .base64EncodedString(options: [.base64URLAlphabet, .omitPaddingCharacter])
        #expect([UInt8](lenientBase64: Array(padded.utf8)) == bytes)
        #expect([UInt8](lenientBase64: Array(url.utf8)) == bytes)
    }
}
