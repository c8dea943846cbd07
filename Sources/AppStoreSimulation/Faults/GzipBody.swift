/// The body under `Content-Encoding: gzip`.
enum GzipForm: String, Sendable, CaseIterable {
    /// Correct, although the client did not ask for it.
    case right
    /// Not compressed at all.
    case plain
    case truncated
    case badChecksum = "bad_checksum"
    case garbage

    /// The bytes to send.
    func body(of bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .right: return GzipBody.compressed(bytes)
        case .plain: return bytes
        case .truncated:
            let whole = GzipBody.compressed(bytes)
            return Array(whole.prefix(whole.count / 2))
        case .badChecksum:
            var whole = GzipBody.compressed(bytes)
            whole[whole.count - 8] ^= 0xFF
            return whole
        case .garbage: return GzipBody.header + [UInt8](repeating: 0xFF, count: 64)
        }
    }
}

/// The gzip format (RFC 1952) with stored blocks (RFC 1951, section 3.2.4), which are valid but not
/// smaller.
enum GzipBody {
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
    private static let blockBytes = 65_535

    static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var output = header
        var place = 0
        repeat {
            let end = min(place + blockBytes, bytes.count)
            let length = UInt16(end - place)
            output.append(end == bytes.count ? 1 : 0)
            append(length, to: &output)
            append(~length, to: &output)
            output.append(contentsOf: bytes[place..<end])
            place = end
        } while place < bytes.count
        append(checksum(bytes), to: &output)
        append(UInt32(truncatingIfNeeded: bytes.count), to: &output)
        return output
    }

    private static func append(_ value: some FixedWidthInteger, to output: inout [UInt8]) {
        for shift in stride(from: 0, to: type(of: value).bitWidth, by: 8) {
            output.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// CRC-32.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return ~value
    }
}
