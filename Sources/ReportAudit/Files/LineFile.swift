import CZlib
import Glibc
import JSONWebSignature
import Synchronization

/// The reason why a file cannot be read, or a record in it has no meaning.
struct UnreadableFile: Error {
    let reason: String

    init(errorNumber: Int32, of path: String) {
        reason = ReadFaults.words(errorNumber)
        ReadFaults.note(errorNumber, of: path)
    }

    init(_ reason: String) {
        self.reason = reason
    }
}

/// Faults of the system during an audit, such as a disk that fails, or a file that this user may not
/// read.
///
/// They prove nothing of a report, and what they leave unread must not look like something that was
/// changed.
final class ReadFaults: Sendable {
    /// Those of the audit that goes on here.
    @TaskLocal static var current: ReadFaults?

    /// Errors that say what is in the place of a file, which a person can have put there.
    private static let saysWhatIsThere = [
        ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, ENXIO, EINVAL,
    ]

    private let noted = Mutex<String?>(nil)

    /// Ends an audit in which something could not be read.
    ///
    /// - Throws: `.unreadable`.
    func refuse() throws(AuditFailure) {
        guard let fault = noted.withLock(\.self) else { return }
        throw .unreadable(
            "\(fault). That proves nothing about the report, and the check is not complete. Remove the "
                + "cause, such as rights that the user of this command lacks, then run trueup verify "
                + "again.")
    }

    /// Notes why the system did not read a path, unless that is due to what is there.
    static func note(_ errorNumber: Int32, of path: String) {
        guard let current, !saysWhatIsThere.contains(errorNumber) else { return }
        current.noted.withLock { noted in
            noted = noted ?? "\(path) could not be read: \(words(errorNumber))"
        }
    }

    static func words(_ errorNumber: Int32) -> String {
        unsafe strerror(errorNumber).map { unsafe String(cString: $0) } ?? "error"
    }
}

/// A plain file, open for reading.
final class PlainFile {
    private let path: String
    private let descriptor: Int32
    let bytes: Int

    /// - Throws: Also for a link, a pipe and everything else that is not a plain file.
    init(_ path: String) throws(UnreadableFile) {
        self.path = path
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno != ELOOP else { throw UnreadableFile("it is a link, not a file") }
            throw UnreadableFile(errorNumber: errno, of: path)
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw UnreadableFile("it is not a plain file")
        }
        bytes = Int(status.st_size)
    }

    deinit {
        close(descriptor)
    }

    /// The bytes from an offset on, at most `limit`; empty at the end.
    func read(upTo limit: Int, at offset: Int) throws(UnreadableFile) -> [UInt8] {
        var failure: Int32?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var taken = unsafe pread(descriptor, buffer.baseAddress, limit, offset)
            while taken < 0 && errno == EINTR {
                taken = unsafe pread(descriptor, buffer.baseAddress, limit, offset)
            }
            if taken < 0 { failure = errno }
            count = max(0, taken)
        }
        if let failure { throw UnreadableFile(errorNumber: failure, of: path) }
        return bytes
    }

    /// A whole small file.
    static func contents(of path: String, limit: Int) throws(UnreadableFile) -> [UInt8] {
        let file = try PlainFile(path)
        guard file.bytes <= limit else {
            throw UnreadableFile("it is larger than \(limit) bytes")
        }
        return try file.read(upTo: limit, at: 0)
    }
}

/// A file read line by line in constant memory.
final class LineFile: RecordReader {
    private static let chunkBytes = 1 << 18
    /// Longer lines are truncated and then cannot be parsed; a JWS may have a mebibyte.
    static let lineLimitBytes = 1 << 23

    private let file: ContentFile
    private var buffer: [UInt8] = []
    private var position = 0
    private var offset = 0
    /// The number of the line that was returned last, from 1.
    private(set) var lineNumber = 0
    /// Where that line begins in the file; has no meaning after a truncated line.
    private(set) var lineStart = 0

    /// - Parameter path: The name of the plain file, whose packed form may be there instead.
    /// - Throws: When neither can be read.
    init(_ path: String) throws(UnreadableFile) {
        file = try ContentFile(path)
    }

    /// The next line without its line feed; `nil` at the end.
    func next() throws(UnreadableFile) -> [UInt8]? {
        var searched = position
        while true {
            if let end = buffer.firstLineFeed(from: searched) {
                lineNumber += 1
                lineStart = offset - buffer.count + position
                let line = Array(buffer[position..<end].prefix(Self.lineLimitBytes))
                position = end + 1
                return line
            }
            searched = buffer.count
            if searched - position > Self.lineLimitBytes + Self.chunkBytes {
                // What exceeds the limit is dropped, and the end of the line is searched further.
                buffer.removeLast(searched - position - Self.lineLimitBytes - 1)
                searched = buffer.count
            }
            let chunk = try file.read(upTo: Self.chunkBytes, at: offset)
            offset += chunk.count
            guard !chunk.isEmpty else {
                guard position < buffer.count else { return nil }
                lineNumber += 1
                lineStart = offset - buffer.count + position
                defer { position = buffer.count }
                return Array(buffer[position...].prefix(Self.lineLimitBytes))
            }
            buffer.removeFirst(position)
            searched -= position
            position = 0
            buffer.append(contentsOf: chunk)
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether two pieces have the same bytes, compared with `memcmp` for the same reason.
    func hasSameBytes(as other: ArraySlice<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else {
                    return true
                }
                return unsafe memcmp(left, right, count) == 0
            }
        }
    }
}

extension [UInt8] {
    /// Where the next line feed is, found with `memchr`: reports run to gigabytes.
    func firstLineFeed(from start: Int) -> Int? {
        guard start < count else { return nil }
        return unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = unsafe memchr(base + start, 0x0A, bytes.count - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - base
        }
    }

    var lineFeeds: Int {
        var count = 0
        var start = 0
        while let end = firstLineFeed(from: start) {
            count += 1
            start = end + 1
        }
        return count
    }
}

/// A file whose lines are sorted by a key: binary search in constant memory.
final class SortedLines {
    /// A search reads a line here and there: little more than a line at a time.
    private static let chunkBytes = 1 << 13
    private static let readThroughBytes = 3 * chunkBytes

    private let file: ContentFile

    init(_ path: String) throws(UnreadableFile) {
        file = try ContentFile(path)
    }

    var bytes: Int { file.bytes }

    /// Finds the line with a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - part: Where the line begins, if that is known better; it begins where a line begins.
    ///   - keyOf: The key of a line; a line without one counts as before all others.
    /// - Returns: The line without its line feed; `nil` when there is none.
    /// - Throws: When the file cannot be read.
    func line<Key: Comparable>(
        with key: Key, in part: Range<Int>? = nil, keyOf: ([UInt8]) -> Key?
    ) throws(UnreadableFile) -> [UInt8]? {
        var low = part?.lowerBound ?? 0
        var high = part?.upperBound ?? file.bytes
        // Among the last few lines each would be read several times by halving.
        while high - low > Self.readThroughBytes {
            let middle = low + (high - low) / 2
            guard let start = try firstLineStart(from: middle), start < high else {
                high = middle
                continue
            }
            let line = try line(at: start)
            let found = keyOf(line)
            if found == key { return line }
            if let found, key < found { high = middle } else { low = start + line.count + 1 }
        }
        while low < high {
            let line = try line(at: low)
            let found = keyOf(line)
            if found == key { return line }
            if let found, key < found { return nil }
            low += line.count + 1
        }
        return nil
    }

    /// The first start of a line at or after an offset.
    private func firstLineStart(from offset: Int) throws(UnreadableFile) -> Int? {
        guard offset > 0 else { return 0 }
        var position = offset - 1
        while true {
            let chunk = try file.read(upTo: Self.chunkBytes, at: position)
            if chunk.isEmpty { return nil }
            if let end = chunk.firstLineFeed(from: 0) { return position + end + 1 }
            position += chunk.count
        }
    }

    private func line(at start: Int) throws(UnreadableFile) -> [UInt8] {
        var line: [UInt8] = []
        while true {
            let chunk = try file.read(upTo: Self.chunkBytes, at: start + line.count)
            if let end = chunk.firstLineFeed(from: 0) { return line + chunk[..<end] }
            line += chunk
            if chunk.isEmpty || line.count > LineFile.lineLimitBytes { return line }
        }
    }
}

/// A JSON object with access to its members by name; an object with a duplicate member is refused.
///
/// Unknown members are tolerated, because later versions add some.
struct JSONRecord {
    private let members: [(name: String, value: JSONValue)]
    private let source: [UInt8]?

    /// One JSON text, for example a line.
    init?(_ bytes: [UInt8]) {
        guard let document = try? JSONDocument(bytes) else { return nil }
        self.init(document.root, source: bytes)
    }

    /// A value inside another document.
    init?(_ value: JSONValue?) {
        guard let value else { return nil }
        self.init(value, source: nil)
    }

    private init?(_ value: JSONValue, source: [UInt8]?) {
        guard value.isObject else { return nil }
        var members: [(name: String, value: JSONValue)] = []
        for (name, value) in value.members {
            guard let name = name.text, !members.contains(where: { $0.name.isSame(as: name) })
            else { return nil }
            members.append((name, value))
        }
        self.members = members
        self.source = source
    }

    var names: [String] { members.map(\.name) }

    subscript(name: String) -> JSONValue? {
        members.first { $0.name.isSame(as: name) }?.value
    }

    func text(_ name: String) -> String? { self[name]?.text }

    func integer(_ name: String) -> Int64? { self[name]?.integer }

    /// A nested object.
    func record(_ name: String) -> JSONRecord? { JSONRecord(self[name]) }

    /// Whether a member exists and is not null.
    func states(_ name: String) -> Bool { self[name].map { !$0.isNull } ?? false }

    /// The object's text with the wanted members, sorted by name.
    ///
    /// Made from the source text of the members, so that it depends on nothing else. None of our
    /// names needs an escape.
    func text(of isWanted: (String) -> Bool = { _ in true }) -> String {
        let kept = members.filter { isWanted($0.name) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            // Inside another document, the text around it may be spread over lines.
            .map { "\"\($0.name)\":" + (source == nil ? $0.value.compact : $0.value.source) }
        return "{" + kept.joined(separator: ",") + "}"
    }

    /// Whether the text is canonical JSON, as the writer makes it: sorted members, and not a byte
    /// more than they need.
    ///
    /// Told by lengths: an escape in a name, or white space between members, makes the text longer
    /// than its names and values are.
    var isCanonical: Bool {
        guard let source else { return true }
        var bytes = 1 + max(members.count, 1)
        var previous: String?
        for (name, value) in members {
            if let previous, !previous.utf8.lexicographicallyPrecedes(name.utf8) { return false }
            previous = name
            bytes += name.utf8.count + 3 + value.sourceCount
        }
        return bytes == source.count
    }
}

extension JSONValue {
    /// The value without white space and with sorted names: equal values give equal texts.
    var compact: String {
        if isArray { return "[" + elements.map(\.compact).joined(separator: ",") + "]" }
        guard isObject else { return source }
        let members = members.map { ($0.name.source, $0.value.compact) }
            .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
        return "{" + members.map { "\($0.0):\($0.1)" }.joined(separator: ",") + "}"
    }

    /// Whether two values are the same, an absent one being null.
    static func areSame(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        // What is written in the same way is the same; our own lines nearly always are.
        if let left, let right, left.source.isSame(as: right.source) { return true }
        return (left?.compact ?? "null").isSame(as: right?.compact ?? "null")
    }
}

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
