import Subscriptions
import Testing

@Suite struct `Hexadecimal digits` {
    @Test func `have two lowercase digits each`() {
        #expect([UInt8]().hexadecimal.isEmpty)
        #expect([0, 9, 10, 15, 16, 127, 128, 255].hexadecimal == "00090a0f107f80ff")
        #expect((0...255).map { UInt8($0) }.hexadecimal.utf8.count == 512)
    }
}
