import Subscriptions

/// Writes JSON directly into bytes, because a simulator signs thousands of payloads a second.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    init(capacity: Int = 1024) {
        bytes.reserveCapacity(capacity)
    }

    mutating func object(_ content: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        content(&self)
        close(UInt8(ascii: "}"))
    }

    mutating func array(_ content: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        content(&self)
        close(UInt8(ascii: "]"))
    }

    mutating func key(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func string(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.contains(where: Self.isEscaped) {
            escape(text)
        } else {
            // At once: nearly every name and value.
            bytes.append(contentsOf: text.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                bytes.append(contentsOf: "\\u00\(digits.utf8.count == 1 ? "0" : "")\(digits)".utf8)
            default: bytes.append(byte)
            }
        }
    }

    /// A string that needs no escaping, such as a JWS.
    mutating func plain(_ text: [UInt8]) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func integer(_ value: some BinaryInteger) {
        separate()
        // The description of a known type is written without the general arithmetic of integers.
        bytes.append(contentsOf: Int64(clamping: value).description.utf8)
    }

    /// A number whose text is known.
    mutating func number(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
    }

    /// A value that is JSON already.
    mutating func encoded(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
    }

    mutating func bool(_ value: Bool) {
        separate()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

/// Members of an object; `nil` writes nothing, as Apple omits what does not apply.
extension JSONWriter {
    mutating func field(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    mutating func field(_ name: String, _ value: (some BinaryInteger)?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    mutating func field(_ name: String, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    mutating func field(_ name: String, _ value: Timestamp?) {
        field(name, value?.unixMilliseconds)
    }

    mutating func field(_ name: String, jws: [UInt8]) {
        key(name)
        plain(jws)
    }
}
