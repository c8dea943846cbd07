import CZlib

/// The form of a packed file: gzip members, each with a fixed size of content.
///
/// `gunzip` and `zcat` read all members as one file. Each member states its own size in an extra
/// field of its header (RFC 1952), so a reader finds a place in the content without unpacking what
/// is before it.
enum PackedMembers {
    static let suffix = ".gz"
    /// The content of a member; only the last one has less.
    static let contentBytes = 256 * 1024
    static let headerBytes = 20
    static let trailerBytes = 8
    private static let level: Int32 = 6

    /// Packs the content of one member; `nil` where zlib fails.
    static func packed(_ content: ArraySlice<UInt8>) -> [UInt8]? {
        let room = content.count + content.count / 1000 + 1024
        let deflated = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            count = unsafe content.withUnsafeBufferPointer { source in
                unsafe zlib_deflate_raw(
                    source.baseAddress, source.count, buffer.baseAddress, room, level)
            }
        }
        guard !deflated.isEmpty else { return nil }
        let size = headerBytes + deflated.count + trailerBytes
        // Deflate with an extra field, no time, system not stated; then the field `TU`.
        var member: [UInt8] = [
            0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 0xFF, 8, 0, UInt8(ascii: "T"), UInt8(ascii: "U"), 4, 0,
        ]
        append(UInt32(truncatingIfNeeded: size), to: &member)
        member += deflated
        append(checksum(of: content), to: &member)
        append(UInt32(truncatingIfNeeded: content.count), to: &member)
        return member
    }

    /// The size of a member by its header; `nil` where the bytes are not a header of trueup's.
    static func size(byHeader header: [UInt8]) -> Int? {
        guard header.count >= headerBytes, header[0] == 0x1F, header[1] == 0x8B, header[2] == 8,
            header[3] == 4, header[10] == 8, header[11] == 0,
            header[12] == UInt8(ascii: "T"), header[13] == UInt8(ascii: "U"), header[14] == 4
        else { return nil }
        let size = Int(number(in: header, at: 16))
        return size > headerBytes + trailerBytes && size <= 2 * contentBytes ? size : nil
    }

    /// The content of a whole member; `nil` where it is damaged or has more than a member may hold.
    static func content(of member: [UInt8]) -> [UInt8]? {
        guard size(byHeader: member) == member.count else { return nil }
        let end = member.count - trailerBytes
        let count = Int(number(in: member, at: end + 4))
        guard count <= contentBytes else { return nil }
        let deflated = member[headerBytes..<end]
        var isWhole = false
        let content = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, made in
            isWhole = unsafe deflated.withUnsafeBufferPointer { source in
                unsafe zlib_inflate_raw(
                    source.baseAddress, source.count, buffer.baseAddress, count) == 1
            }
            made = isWhole ? count : 0
        }
        guard isWhole, checksum(of: content[...]) == number(in: member, at: end) else {
            return nil
        }
        return content
    }

    /// The CRC-32 of bytes that follow others.
    static func checksum(of bytes: ArraySlice<UInt8>, after earlier: UInt32 = 0) -> UInt32 {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            UInt32(
                truncatingIfNeeded: unsafe crc32(
                    UInt(earlier), buffer.baseAddress, UInt32(buffer.count)))
        }
    }

    private static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        for shift in [0, 8, 16, 24] as [UInt32] {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    private static func number(in bytes: [UInt8], at index: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[index + $1]) << UInt32(8 * $1) }
    }
}
