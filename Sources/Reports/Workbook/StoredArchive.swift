/// A ZIP archive whose entries are stored as they are, without compression.
///
/// Entry by entry: the size and checksum of each must be known before its bytes follow, so that even
/// readers that never go back can follow. All entries have one fixed time, so that the same contents
/// give the same bytes. Entries and offsets must stay below 4 GiB: there is no zip64. Source:
/// PKWARE, APPNOTE.TXT, .ZIP File Format Specification.
struct StoredArchive {
    private struct Entry {
        let name: [UInt8]
        let size: UInt32
        let checksum: UInt32
        let offset: UInt32
    }

    private var entries: [Entry] = []
    private var offset: UInt32 = 0

    /// The bytes before those of an entry.
    mutating func opening(of name: String, size: UInt32, checksum: UInt32) -> [UInt8] {
        let entry = Entry(
            name: Array(name.utf8), size: size, checksum: checksum, offset: offset)
        entries.append(entry)
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(UInt32(0x0403_4B50))
        Self.append(entry, to: &bytes)
        bytes.append(contentsOf: entry.name)
        advance(by: UInt32(clamping: bytes.count))
        advance(by: size)
        return bytes
    }

    /// A whole entry.
    mutating func entry(_ name: String, holding bytes: [UInt8]) -> [UInt8] {
        var checksum = Checksum()
        checksum.update(bytes)
        return opening(of: name, size: UInt32(clamping: bytes.count), checksum: checksum.value)
            + bytes
    }

    /// The end of the archive: its directory.
    func directory() -> [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries {
            bytes.appendLittleEndian(UInt32(0x0201_4B50))
            bytes.appendLittleEndian(Self.version)
            Self.append(entry, to: &bytes)
            // Comment, disk, internal and external attributes.
            bytes.append(contentsOf: [UInt8](repeating: 0, count: 2 + 2 + 2 + 4))
            bytes.appendLittleEndian(entry.offset)
            bytes.append(contentsOf: entry.name)
        }
        let size = UInt32(clamping: bytes.count)
        let count = UInt16(clamping: entries.count)
        bytes.appendLittleEndian(UInt32(0x0605_4B50))
        // This disk, and the one on which the directory begins.
        bytes.append(contentsOf: [UInt8](repeating: 0, count: 2 + 2))
        bytes.appendLittleEndian(count)
        bytes.appendLittleEndian(count)
        bytes.appendLittleEndian(size)
        bytes.appendLittleEndian(offset)
        // The length of a comment.
        bytes.appendLittleEndian(UInt16(0))
        return bytes
    }

    private static let version: UInt16 = 20
    /// 1980-01-01, the first day that the format has.
    private static let day: UInt16 = 0x0021

    /// What a local header and the directory say alike.
    private static func append(_ entry: Entry, to bytes: inout [UInt8]) {
        bytes.appendLittleEndian(version)
        // Flags, method "stored", time.
        bytes.append(contentsOf: [UInt8](repeating: 0, count: 2 + 2 + 2))
        bytes.appendLittleEndian(day)
        bytes.appendLittleEndian(entry.checksum)
        bytes.appendLittleEndian(entry.size)
        bytes.appendLittleEndian(entry.size)
        bytes.appendLittleEndian(UInt16(clamping: entry.name.count))
        // The length of an extra field.
        bytes.appendLittleEndian(UInt16(0))
    }

    private mutating func advance(by count: UInt32) {
        let (sum, overflow) = offset.addingReportingOverflow(count)
        offset = overflow ? .max : sum
    }
}

/// CRC-32, as ZIP uses it (reflected polynomial 0xEDB88320).
struct Checksum: Equatable {
    private var state: UInt32 = .max

    var value: UInt32 { ~state }

    mutating func update(_ bytes: [UInt8]) {
        var state = state
        for byte in bytes {
            state = Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ (state >> 8)
        }
        self.state = state
    }

    private static let table: [UInt32] = (0..<256).map { (index: UInt32) in
        (0..<8).reduce(index) { value, _ in
            value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1
        }
    }
}

extension [UInt8] {
    fileprivate mutating func appendLittleEndian(_ number: some FixedWidthInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
