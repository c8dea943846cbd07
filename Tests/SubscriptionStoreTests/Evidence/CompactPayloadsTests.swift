import Foundation
import Testing

@testable import SubscriptionStore

@Suite struct `Compact payloads` {
    private let header = Data(String(repeating: "eyJ4NWMiOls", count: 400).utf8)
    private let signature = Data((0..<64).map { UInt8($0 * 3) })

    private func jws(_ payload: Data) -> Data {
        header + Data(".".utf8) + CompactPayload.encoded(payload) + Data(".".utf8)
            + CompactPayload.encoded(signature)
    }

    private func packed(_ text: Data) -> CompactPayload? {
        CompactPayload.Decoded(text).flatMap { CompactPayload(text, $0) }
    }

    @Test(arguments: 0..<40)
    func `gives back the very bytes, whatever the length of the payload`(length: Int) throws {
        let text = jws(Data((0..<length).map { UInt8(truncatingIfNeeded: $0 * 37 + length) }))
        let compact = try #require(packed(text))
        #expect(compact.text == text)
        #expect(compact.rest.count == length + 64)
        #expect(compact.cuts.isEmpty)
    }

    @Test func `cuts the header out of payloads inside the payload`() throws {
        let inner = jws(Data("inner".utf8))
        let outer = jws(Data(#"{"a":""#.utf8) + inner + Data(#"","b":""#.utf8) + inner)
        let compact = try #require(packed(outer))
        #expect(compact.cuts.count == 2)
        #expect(compact.text == outer)
        #expect(compact.rest.count < 400)
    }

    @Test(arguments: [
        "", "a", "a.b", "a.b.c.d", "a.b.c", "a.YQ.YQ", ".YQ." + String(repeating: "A", count: 86),
        // A last character with unused bits that are not zero would come back as another one.
        "a.YR." + String(repeating: "A", count: 86),
        "a.YQ==." + String(repeating: "A", count: 86),
        "a.Y Q." + String(repeating: "A", count: 86),
    ])
    func `leaves alone what it could not give back`(text: String) {
        #expect(packed(Data(text.utf8)) == nil)
    }
}
