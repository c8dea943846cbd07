/// JSON with the order of its members and the text of its numbers, for answers that are changed.
indirect enum JSONTree: Hashable, Sendable {
    struct Member: Hashable, Sendable {
        var name: String
        var value: JSONTree
    }

    case object([Member])
    case array([JSONTree])
    case string(String)
    /// As written.
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

/// Values of a fault plan, which is YAML or JSON; what stands in quotes stays a text.
extension JSONTree: Decodable {
    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
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

    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
