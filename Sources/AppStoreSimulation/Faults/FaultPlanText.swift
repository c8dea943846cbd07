import Yams

/// A fault plan as written: YAML, or JSON, which is a part of it.
///
/// An unknown key is an error: a misspelt fault that never happens would prove nothing.
struct FaultPlanText: Decodable {
    var faults: [RuleText] = []
    var limits: LimitsText?

    /// Reads a plan.
    static func read(_ text: String) throws(SimulatorError) -> FaultPlanText {
        do {
            return try YAMLDecoder().decode(FaultPlanText.self, from: text)
        } catch {
            throw .badOption("The fault plan cannot be read: \(SimulatorError.sentence(of: error))")
        }
    }

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["faults", "limits"])
        faults = try keys.value([RuleText].self, "faults") ?? []
        limits = try keys.value(LimitsText.self, "limits")
    }

    func rules() throws(SimulatorError) -> [FaultRule] {
        var rules: [FaultRule] = []
        for text in faults { rules.append(try text.rule()) }
        return rules
    }
}

/// Keys of an object, each of which must be known.
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
        let unknown = container.allKeys.map(\.stringValue).first { !allowed.contains($0) }
        if let unknown {
            throw SimulatorError.badOption(
                "the key \"\(unknown)\" is unknown; known are \(allowed.joined(separator: ", ")).")
        }
    }

    func value<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value? {
        try container.decodeIfPresent(type, forKey: Key(stringValue: name))
    }

    var names: [String] { container.allKeys.map(\.stringValue) }
}
