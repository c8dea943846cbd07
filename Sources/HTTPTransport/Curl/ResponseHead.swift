/// Collects the header lines of the final response.
///
/// A status line discards what came before: `100 Continue`, `103 Early Hints` and a proxy's
/// response. Lines after the empty line are trailers and ignored.
struct ResponseHead {
    private var bytes: [UInt8] = []
    private var isOpen = false

    mutating func received(line: some Collection<UInt8>) {
        if line.starts(with: "HTTP/".utf8) {
            bytes.removeAll(keepingCapacity: true)
            isOpen = true
        } else if isOpen {
            if line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
                isOpen = false
            } else {
                bytes.append(contentsOf: line)
            }
        }
    }

    /// Name and value pairs in the order received, names in lowercase.
    func fields() -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        for line in bytes.split(separator: 0x0A) {
            if let first = line.first, Self.isBlank(first), let last = fields.popLast() {
                // The obsolete folding of RFC 9112, section 5.2: a continued value.
                let text = Self.text(line[...])
                fields.append((last.name, last.value + " " + text))
            } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
                let name = line[..<colon].map { byte in
                    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
                }
                fields.append(
                    (String(decoding: name, as: UTF8.self), Self.text(line[(colon + 1)...])))
            }
        }
        return fields
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D
    }
}
