import JSONWebSignature
import Testing

@Suite struct `Base64 over bytes` {
    @Test func `decodes what it encodes`() {
        var generator = SystemRandomNumberGenerator()
        let seed = generator.next()
        print("base64 seed \(seed)")
        var state = seed
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 40)
            }
            #expect(Base64.decodeURL(Array(Base64.encodeURL(bytes).utf8)[...]) == bytes)
            #expect(Base64.decodeStandard(Array(Base64.encodeStandard(bytes).utf8)[...]) == bytes)
        }
    }

    @Test(arguments: [
        ("", [UInt8]()), ("Zg", Array("f".utf8)), ("Zm8", Array("fo".utf8)),
        ("Zm9v", Array("foo".utf8)), ("-_8", [0xFB, 0xFF]),
    ])
    func `decodes base64url`(text: String, expected: [UInt8]) {
        #expect(Base64.decodeURL(Array(text.utf8)[...]) == expected)
    }

    @Test(arguments: ["Z", "Zg==", "Zm9v\n", "Zm 9v", "+_8", "Zh", "Zm9", "Zm9!", "Zm9ü", "AAAAA"])
    func `refuses what is not base64url`(text: String) {
        #expect(Base64.decodeURL(Array(text.utf8)[...]) == nil)
    }

    @Test(arguments: ["Zg", "Zg=", "Zg===", "Zh==", "Zm9v\r\n", "-_8=", "====", "Zm=v", "=g=="])
    func `refuses what is not padded base64`(text: String) {
        #expect(Base64.decodeStandard(Array(text.utf8)[...]) == nil)
    }
}
