import Hummingbird

/// Sends a response body, complete or with a transport fault.
enum BodyTransport {
    /// The size at which an "endless" body ends, in case a client never stops reading.
    private static let endlessBytes = 4 << 30

    /// Thrown to reset the connection.
    struct DeliberateReset: Error {}

    /// `end`: called when the fault makes the connection unusable.
    static func body(
        _ bytes: [UInt8], transport: APIGateway.Transport,
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
                throw DeliberateReset()
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
                for _ in 0..<(endlessBytes / 65_536) {
                    try await writer.write(chunk)
                    // A writer hears late that its client has gone; until then others must be answered.
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await writer.finish(nil)
            }
        }
    }
}
