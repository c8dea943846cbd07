import Subscriptions
import Yams

/// A scenario file: named customers with scripted steps, and a random population with rates.
///
/// Source of the file format: `docs/simulator.md`.
struct Scenario: Decodable, Sendable {
    var about: String?
    /// The moment at which the clock stands still; the command line takes precedence.
    var now: Timestamp?
    /// 3, 16 or 28 days, or 0 for no grace period.
    var graceDays: Int?
    var customers: [ScriptedCustomer] = []
    var population: PopulationText?

    /// Reads a scenario, whose products are the catalogue's.
    static func read(
        _ text: String, catalogue: Catalogue
    ) throws(SimulatorError) -> Scenario {
        do {
            var scenario = try YAMLDecoder().decode(
                Scenario.self, from: text, userInfo: StrictKeys.userInfo(catalogue))
            scenario.noteLines(of: text)
            return scenario
        } catch {
            throw .badOption(
                "The scenario cannot be read: \(SimulatorError.sentence(of: error, in: text))")
        }
    }

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: ["about", "now", "grace_days", "customers", "population"])
        about = try keys.value(String.self, "about")
        if let text = try keys.value(String.self, "now") {
            guard let moment = Timestamp(rfc3339: text) else {
                throw keys.refused("\"now\" must be a time, not \"\(text)\".", at: "now")
            }
            now = moment
        }
        graceDays = try keys.value(Int.self, "grace_days")
        if let graceDays, ![0, 3, 16, 28].contains(graceDays) {
            throw keys.refused("\"grace_days\" is 3, 16, 28, or 0 for none.", at: "grace_days")
        }
        customers = try keys.value([ScriptedCustomer].self, "customers") ?? []
        population = try keys.value(PopulationText.self, "population")
    }

    /// Records the line of each step and expectation, for error messages.
    private mutating func noteLines(of text: String) {
        guard let lines = SourceLines(of: text) else { return }
        for number in customers.indices {
            let customer: [any CodingKey] = [
                TextKey(stringValue: "customers"), TextKey(intValue: number),
            ]
            for step in customers[number].life.indices {
                customers[number].life[step].line = lines.line(
                    of: customer + [TextKey(stringValue: "life"), TextKey(intValue: step)])
            }
            for place in customers[number].expectations.indices {
                customers[number].expectations[place].line = lines.line(
                    of: customer + [TextKey(stringValue: "expect"), TextKey(intValue: place)])
            }
        }
    }
}

/// The population of a scenario file: number of customers and event rates.
struct PopulationText: Decodable, Sendable {
    var customers: Int
    var rates = LifeRates()

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["customers", "rates"])
        customers = try keys.number("customers", in: 0...1_000_000) ?? 0
        rates = try keys.value(RatesText.self, "rates")?.rates ?? LifeRates()
    }

    private struct RatesText: Decodable {
        var rates = LifeRates()

        init(from decoder: any Decoder) throws {
            let keys = try StrictKeys(decoder, allowed: LifeRates.names.map(\.name))
            for (name, path) in LifeRates.names {
                guard let value = try keys.number(name, in: 0.0...1.0) else { continue }
                rates[keyPath: path] = value
            }
        }
    }
}
