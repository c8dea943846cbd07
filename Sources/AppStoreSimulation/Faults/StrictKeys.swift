/// Keys of an object, each of which must be known.
///
/// What is refused carries its place in the file, so that a sentence can name the line.
struct StrictKeys {
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private let container: KeyedDecodingContainer<Key>

    init(_ decoder: any Decoder, allowed: [String]) throws {
        container = try decoder.container(keyedBy: Key.self)
        let unknown = names.first { !allowed.contains($0) }
        if let unknown {
            throw refused(
                "the key \"\(unknown)\" is unknown; known are \(allowed.joined(separator: ", ")).",
                at: unknown)
        }
    }

    func value<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value? {
        try container.decodeIfPresent(type, forKey: Key(stringValue: name))
    }

    /// A number within its range, or `nil` where it is absent.
    func number<Value: Decodable & Comparable>(
        _ name: String, in range: ClosedRange<Value>
    ) throws -> Value? {
        guard let value = try value(Value.self, name) else { return nil }
        guard range.contains(value) else {
            throw refused(
                "\"\(name)\" must be from \(Self.plain(range.lowerBound)) to "
                    + "\(Self.plain(range.upperBound)), not \(Self.plain(value)).",
                at: name)
        }
        return value
    }

    /// A whole number without the point that a floating one is written with.
    private static func plain<Value>(_ value: Value) -> String {
        let text = "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// A step or switch that can only be written as `true`.
    func requireTrue(_ name: String) throws {
        guard try value(Bool.self, name) == true else {
            throw refused(
                "\"\(name)\" is written as true; leave it out where it does not happen.", at: name)
        }
    }

    var names: [String] { container.allKeys.map(\.stringValue) }

    /// An error that says what is wrong with the value of a key, or with the object.
    func refused(_ reason: String, at name: String? = nil) -> any Error {
        let path = container.codingPath + (name.map { [Key(stringValue: $0)] } ?? [])
        return DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: reason))
    }
}
