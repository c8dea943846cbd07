extension JSONTree {
    /// Reads JSON that this simulator wrote itself; `nil` for anything else.
    init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes)
        guard let tree = reader.value(), reader.isAtEnd else { return nil }
        self = tree
    }

    private struct Reader {
        let bytes: [UInt8]
        var place = 0

        var isAtEnd: Bool { place == bytes.count }

        private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

        private mutating func takes(_ character: Character) -> Bool {
            guard next == character.asciiValue else { return false }
            place += 1
            return true
        }

        private mutating func takes(word: String) -> Bool {
            guard bytes[place...].starts(with: word.utf8) else { return false }
            place += word.utf8.count
            return true
        }

        mutating func value() -> JSONTree? {
            switch next {
            case UInt8(ascii: "{"): return object()
            case UInt8(ascii: "["): return array()
            case UInt8(ascii: "\""): return string().map { .string($0) }
            case UInt8(ascii: "t"): return takes(word: "true") ? .bool(true) : nil
            case UInt8(ascii: "f"): return takes(word: "false") ? .bool(false) : nil
            case UInt8(ascii: "n"): return takes(word: "null") ? .null : nil
            default: return number()
            }
        }

        private mutating func object() -> JSONTree? {
            place += 1
            var members: [Member] = []
            if takes("}") { return .object(members) }
            repeat {
                guard let name = string(), takes(":"), let value = value() else { return nil }
                members.append(Member(name: name, value: value))
            } while takes(",")
            return takes("}") ? .object(members) : nil
        }

        private mutating func array() -> JSONTree? {
            place += 1
            var elements: [JSONTree] = []
            if takes("]") { return .array(elements) }
            repeat {
                guard let value = value() else { return nil }
                elements.append(value)
            } while takes(",")
            return takes("]") ? .array(elements) : nil
        }

        private mutating func number() -> JSONTree? {
            let start = place
            while let byte = next, "+-.0123456789Ee".utf8.contains(byte) { place += 1 }
            guard place > start else { return nil }
            return .number(String(decoding: bytes[start..<place], as: UTF8.self))
        }

        /// A text; of escapes those that `JSONWriter` writes.
        private mutating func string() -> String? {
            guard takes("\"") else { return nil }
            var text: [UInt8] = []
            while let byte = next {
                place += 1
                if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
                guard byte == UInt8(ascii: "\\") else {
                    text.append(byte)
                    continue
                }
                guard let escaped = next else { return nil }
                place += 1
                guard escaped == UInt8(ascii: "u") else {
                    text.append(escaped)
                    continue
                }
                guard place + 4 <= bytes.count,
                    let code = UInt8(
                        String(decoding: bytes[place..<(place + 4)], as: UTF8.self), radix: 16)
                else { return nil }
                place += 4
                text.append(code)
            }
            return nil
        }
    }
}
