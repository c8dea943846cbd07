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
            throw .badOption(
                "The fault plan cannot be read: \(SimulatorError.sentence(of: error, in: text))")
        }
    }

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["faults", "limits"])
        faults = try keys.value([RuleText].self, "faults") ?? []
        limits = try keys.value(LimitsText.self, "limits")
    }

    var rules: [FaultRule] { faults.map(\.rule) }
}
