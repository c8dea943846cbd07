import Testing

@testable import JSONWebSignature

@Suite struct `Remembered signatures` {
    private static func digest(_ number: UInt8) -> SHA256Digest { SHA256Digest(of: [number]) }

    @Test func `are known until there are too many of them`() {
        let remembered = RememberedSignatures(limit: 2)
        #expect(!remembered.contains(Self.digest(1)))
        remembered.insert(Self.digest(1))
        remembered.insert(Self.digest(2))
        #expect(remembered.contains(Self.digest(1)))
        #expect(!remembered.contains(Self.digest(3)))
        remembered.insert(Self.digest(3))
        #expect(!remembered.contains(Self.digest(1)))
        #expect(remembered.contains(Self.digest(3)))
    }
}
