import CZlib

/// A file of a report by its content, which is the same whether the file is plain or packed.
///
/// A large file is packed with gzip and has the ending `.gz`: members with a fixed size of content, of
/// which each states its packed size in its header. So any place is found without unpacking what is
/// before it, and memory does not depend on the file's size.
final class ContentFile {
    static let packedSuffix = ".gz"
    /// The content of a member; only the last one has less.
    private static let memberBytes = 256 * 1024
    private static let headerBytes = 20
    private static let trailerBytes = 8
    /// Our files are packed to a fiftieth at most; one that unpacks to more is meant to do harm.
    private static let largestRatio = 200

    private let file: PlainFile
    /// Where each member begins in a packed file, and behind the last one; `nil` for a plain file.
    private let members: [Int]?
    /// The size of the content.
    let bytes: Int
    /// The member that was unpacked last.
    private var unpacked: (member: Int, content: [UInt8])?

    /// Opens a file, or its packed form where only that is there.
    ///
    /// - Parameter path: The name of the plain file.
    /// - Throws: Also where the packed form is not in the form that the program writes.
    convenience init(_ path: String) throws(UnreadableFile) {
        let isPacked =
            Folder.entry(at: path) == .nothing
            && Folder.entry(at: path + Self.packedSuffix) != .nothing
        try self.init(opening: isPacked ? path + Self.packedSuffix : path, isPacked: isPacked)
    }

    /// - Parameters:
    ///   - path: The file's own name.
    ///   - isPacked: Whether it is packed.
    /// - Throws: As the other.
    init(opening path: String, isPacked: Bool) throws(UnreadableFile) {
        file = try PlainFile(path)
        guard isPacked else {
            members = nil
            bytes = file.bytes
            return
        }
        var starts = [0]
        var last = 0
        while let start = starts.last, start < file.bytes {
            let header = try file.read(upTo: Self.headerBytes, at: start)
            guard let size = Self.size(byHeader: header), start + size <= file.bytes else {
                throw UnreadableFile("it is not packed as a report's files are")
            }
            let trailer = try file.read(upTo: 4, at: start + size - 4)
            last = Self.number(trailer, 0)
            guard last <= Self.memberBytes, start + size == file.bytes || last == Self.memberBytes
            else { throw UnreadableFile("it is not packed as a report's files are") }
            starts.append(start + size)
        }
        members = starts
        bytes = starts.count < 2 ? 0 : (starts.count - 2) * Self.memberBytes + last
        guard bytes / Self.largestRatio <= file.bytes else {
            throw UnreadableFile(
                "it unpacks to more than \(Self.largestRatio) times its size, as no report's does")
        }
    }

    /// Some bytes of the content from an offset on, at most `limit`; empty at the end.
    func read(upTo limit: Int, at offset: Int) throws(UnreadableFile) -> [UInt8] {
        guard members != nil else { return try file.read(upTo: limit, at: offset) }
        guard offset < bytes else { return [] }
        let content = try content(ofMember: offset / Self.memberBytes)
        let start = offset % Self.memberBytes
        guard start < content.count else { throw UnreadableFile("it is damaged") }
        return Array(content[start...].prefix(limit))
    }

    private func content(ofMember index: Int) throws(UnreadableFile) -> [UInt8] {
        if let unpacked, unpacked.member == index { return unpacked.content }
        guard let members, index + 1 < members.count else { return [] }
        let size = members[index + 1] - members[index]
        let packed = try file.read(upTo: size, at: members[index])
        guard packed.count == size, let content = Self.content(of: packed) else {
            throw UnreadableFile("it is damaged and cannot be unpacked")
        }
        unpacked = (index, content)
        return content
    }

    /// The size of a member; `nil` where the bytes are not the header of one.
    private static func size(byHeader header: [UInt8]) -> Int? {
        let signature: [UInt8] = [0x1F, 0x8B, 8, 4]
        let field: [UInt8] = [8, 0, UInt8(ascii: "T"), UInt8(ascii: "U"), 4, 0]
        guard header.count == headerBytes, header.starts(with: signature),
            header[10..<16].elementsEqual(field)
        else { return nil }
        let size = number(header, 16)
        return (headerBytes + trailerBytes + 1...2 * memberBytes).contains(size) ? size : nil
    }

    private static func content(of packed: [UInt8]) -> [UInt8]? {
        let end = packed.count - trailerBytes
        let count = number(packed, end + 4)
        guard count <= memberBytes else { return nil }
        var isWhole = false
        let deflated = packed[headerBytes..<end]
        let content = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, made in
            isWhole = unsafe deflated.withUnsafeBufferPointer { source in
                unsafe zlib_inflate_raw(
                    source.baseAddress, source.count, buffer.baseAddress, count) == 1
            }
            made = isWhole ? count : 0
        }
        let checksum = unsafe content.withUnsafeBufferPointer { buffer in
            Int(unsafe crc32(0, buffer.baseAddress, UInt32(buffer.count)))
        }
        return isWhole && checksum == number(packed, end) ? content : nil
    }

    /// Four bytes, the lowest first.
    private static func number(_ bytes: [UInt8], _ index: Int) -> Int {
        guard index >= 0, index + 4 <= bytes.count else { return 0 }
        return (0..<4).reduce(0) { $0 | Int(bytes[index + $1]) << (8 * $1) }
    }
}
