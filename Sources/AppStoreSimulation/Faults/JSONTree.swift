/// JSON that keeps the order of members and the text of numbers, so that a rewritten answer differs only
/// where it was changed.
indirect enum JSONTree: Hashable, Sendable {
    struct Member: Hashable, Sendable {
        var name: String
        var value: JSONTree
    }

    case object([Member])
    case array([JSONTree])
    case string(String)
    /// The number's text.
    case number(String)
    case bool(Bool)
    case null

    var bytes: [UInt8] {
        var json = JSONWriter()
        write(into: &json)
        return json.bytes
    }

    private func write(into json: inout JSONWriter) {
        switch self {
        case .object(let members):
            json.object { json in
                for member in members {
                    json.key(member.name)
                    member.value.write(into: &json)
                }
            }
        case .array(let elements):
            json.array { json in
                for element in elements { element.write(into: &json) }
            }
        case .string(let text): json.string(text)
        case .number(let text): json.number(text)
        case .bool(let value): json.bool(value)
        case .null: json.null()
        }
    }

    subscript(name: String) -> JSONTree? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }
}

/// Reads values of a fault plan (YAML or JSON); a quoted value stays a string.
extension JSONTree: Decodable {
    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: TextKey.self) {
            self = .object(
                try container.allKeys.map { name in
                    Member(
                        name: name.stringValue,
                        value: try container.decode(JSONTree.self, forKey: name))
                })
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONTree] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONTree.self)) }
            self = .array(elements)
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Int64.self) {
                self = .number(String(value))
            } else if let value = try? container.decode(Double.self), value.isFinite {
                self = .number(String(value))
            } else {
                self = .string(try container.decode(String.self))
            }
        }
    }
}

extension JSONTree {
    /// Reads JSON that this simulator wrote; `nil` for anything else.
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

        /// A string; only the escapes that `JSONWriter` writes are understood.
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
