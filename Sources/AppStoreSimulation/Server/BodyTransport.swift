import Hummingbird

/// Sends a body whole, or with a fault on its way.
enum BodyTransport {
    /// Nobody reads so much; an endless body ends there for a client that never gives up.
    private static let endlessBytes = 4 << 30

    /// The connection is torn on purpose.
    struct TornOnPurpose: Error {}

    /// `end`: called where the fault leaves a connection that nobody may go on using.
    static func body(
        _ bytes: [UInt8], transport: FrontDoor.Transport,
        end: @escaping @Sendable () -> Void = {}
    ) -> ResponseBody {
        switch transport {
        case .whole, .dropConnection, .resetStream:
            ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        case .goAway:
            ResponseBody(contentLength: bytes.count) { writer in
                try await writer.write(ByteBuffer(bytes: bytes))
                try await writer.finish(nil)
                end()
            }
        case .wrongLength(let missing):
            ResponseBody(contentLength: bytes.count) { writer in
                try await writer.write(ByteBuffer(bytes: bytes.dropLast(max(0, missing))))
                if missing < 0 {
                    let surplus = [UInt8](repeating: UInt8(ascii: "x"), count: -missing)
                    try await writer.write(ByteBuffer(bytes: surplus))
                }
                try await writer.finish(nil)
                end()
            }
        case .reset(let count):
            ResponseBody(contentLength: bytes.count) { writer in
                try await writer.write(ByteBuffer(bytes: bytes.prefix(count)))
                throw TornOnPurpose()
            }
        case .drip(let interval):
            ResponseBody(contentLength: bytes.count) { writer in
                for byte in bytes {
                    try await writer.write(ByteBuffer(bytes: [byte]))
                    try await Task.sleep(for: .milliseconds(interval))
                }
                try await writer.finish(nil)
            }
        case .endless:
            ResponseBody { writer in
                let chunk = ByteBuffer(bytes: [UInt8](repeating: UInt8(ascii: " "), count: 65_536))
                try await writer.write(ByteBuffer(bytes: bytes.dropLast()))
                for _ in 0..<(endlessBytes / 65_536) { try await writer.write(chunk) }
                try await writer.finish(nil)
            }
        }
    }
}
