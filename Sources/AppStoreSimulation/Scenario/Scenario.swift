import Subscriptions
import Yams

/// A scripted world as written: named customers with their lives, and a population with rates.
///
/// Source of the file format: `docs/simulator.md`.
struct Scenario: Decodable, Sendable {
    var about: String?
    /// Where the clock stands still, as text; the command line wins.
    var now: Timestamp?
    /// 3, 16 or 28 days, or 0 for no grace period.
    var graceDays: Int?
    var customers: [ScriptedCustomer] = []
    var population: PopulationText?

    /// Reads a scenario.
    static func read(_ text: String) throws(SimulatorError) -> Scenario {
        do {
            return try YAMLDecoder().decode(Scenario.self, from: text)
        } catch {
            throw .badOption("The scenario cannot be read: \(SimulatorError.sentence(of: error))")
        }
    }

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: ["about", "now", "grace_days", "customers", "population"])
        about = try keys.value(String.self, "about")
        if let text = try keys.value(String.self, "now") {
            guard let moment = Timestamp(rfc3339: text) else {
                throw SimulatorError.badOption("\"now\" must be a time, not \"\(text)\".")
            }
            now = moment
        }
        graceDays = try keys.value(Int.self, "grace_days")
        if let graceDays, ![0, 3, 16, 28].contains(graceDays) {
            throw SimulatorError.badOption("\"grace_days\" is 3, 16, 28, or 0 for none.")
        }
        customers = try keys.value([ScriptedCustomer].self, "customers") ?? []
        population = try keys.value(PopulationText.self, "population")
    }
}

/// A population as written: how many, and how often things happen to them.
struct PopulationText: Decodable, Sendable {
    var customers: Int
    var rates = LifeRates()

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["customers", "rates"])
        customers = try keys.value(Int.self, "customers") ?? 0
        guard (0...1_000_000).contains(customers) else {
            throw SimulatorError.badOption("\"customers\" must be from 0 to 1000000.")
        }
        rates = try keys.value(RatesText.self, "rates")?.rates ?? LifeRates()
    }

    private struct RatesText: Decodable {
        var rates = LifeRates()

        init(from decoder: any Decoder) throws {
            let keys = try StrictKeys(decoder, allowed: LifeRates.names.map(\.name))
            for (name, path) in LifeRates.names {
                guard let value = try keys.value(Double.self, name) else { continue }
                guard (0...1).contains(value) else {
                    throw SimulatorError.badOption("The rate \"\(name)\" must be from 0 to 1.")
                }
                rates[keyPath: path] = value
            }
        }
    }
}
