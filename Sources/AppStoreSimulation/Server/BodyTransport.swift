import Hummingbird

/// Sends a body whole, or with a fault on its way.
enum BodyTransport {
    /// Nobody reads so much; an endless body ends there for a client that never gives up.
    private static let endlessBytes = 4 << 30

    /// The connection is torn on purpose.
    struct TornOnPurpose: Error {}

    static func body(_ bytes: [UInt8], transport: FrontDoor.Transport) -> ResponseBody {
        switch transport {
        case .whole, .dropConnection: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
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
