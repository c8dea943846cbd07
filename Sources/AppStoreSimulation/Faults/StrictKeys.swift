/// Decodes an object and refuses unknown keys.
///
/// Errors carry the path of the key, from which the line in the file is found.
struct StrictKeys {
    private let container: KeyedDecodingContainer<TextKey>
    /// What the app sells, for the names of products, offers and storefronts.
    let catalogue: Catalogue

    /// Makes a catalogue known to the decoders of scripted customers and steps.
    static func userInfo(_ catalogue: Catalogue) -> [CodingUserInfoKey: any Sendable] {
        catalogueKey.map { [$0: catalogue] } ?? [:]
    }

    static func catalogue(of decoder: any Decoder) -> Catalogue {
        catalogueKey.flatMap { decoder.userInfo[$0] as? Catalogue } ?? .standard
    }

    private static let catalogueKey = CodingUserInfoKey(rawValue: "catalogue")

    init(_ decoder: any Decoder, allowed: [String]) throws {
        catalogue = Self.catalogue(of: decoder)
        container = try decoder.container(keyedBy: TextKey.self)
        let unknown = names.first { !allowed.contains($0) }
        if let unknown {
            throw refused(
                "the key \"\(unknown)\" is unknown; known are \(allowed.joined(separator: ", ")).",
                at: unknown)
        }
    }

    func value<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value? {
        try container.decodeIfPresent(type, forKey: TextKey(stringValue: name))
    }

    /// A number, which must be within the range; `nil` if it is absent.
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

    /// The number's text, without ".0".
    private static func plain<Value>(_ value: Value) -> String {
        let text = "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// An environment's name; `nil` if it is absent.
    func environment() throws -> SimulatedEnvironment? {
        guard let text = try value(String.self, "environment") else { return nil }
        guard let environment = SimulatedEnvironment(rawValue: text) else {
            throw refused(
                "The environment \"\(text)\" is neither Production nor Sandbox.",
                at: "environment")
        }
        return environment
    }

    /// Requires the value `true`.
    func requireTrue(_ name: String) throws {
        guard try value(Bool.self, name) == true else {
            throw refused(
                "\"\(name)\" is written as true; leave it out where it does not happen.", at: name)
        }
    }

    var names: [String] { container.allKeys.map(\.stringValue) }

    /// An error about the value of a key, or about the whole object.
    func refused(_ reason: String, at name: String? = nil) -> any Error {
        let path = container.codingPath + (name.map { [TextKey(stringValue: $0)] } ?? [])
        return DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: reason))
    }
}

/// The key of an object, or the index of a list, in a path of keys.
struct TextKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}
