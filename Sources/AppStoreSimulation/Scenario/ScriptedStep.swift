import Subscriptions

/// One step of a scripted life: a moment and what happens then.
struct ScriptedStep: Decodable, Sendable {
    /// When: relative to the scenario's now, or absolute.
    enum Moment: Sendable {
        case relative(milliseconds: Int64)
        case absolute(Timestamp)

        func timestamp(now: Timestamp) -> Timestamp {
            switch self {
            case .relative(let milliseconds): now.adding(milliseconds: milliseconds)
            case .absolute(let timestamp): timestamp
            }
        }
    }

    let moment: Moment
    /// The label of the purchase that it concerns; the customer's latest when absent.
    var purchase: String?
    let action: ScriptedAction
    /// What becomes of the notifications that this step makes.
    var delivery: String?

    private static let parameters = ["at", "of", "offer", "percent", "reason", "period", "deliver"]

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: Self.parameters + ["label", "consent"] + ScriptedAction.names)
        guard let at = try keys.value(String.self, "at") else {
            throw SimulatorError.badOption("a step lacks its \"at\".")
        }
        moment = try Self.moment(at)
        purchase = try keys.value(String.self, "of")
        delivery = try keys.value(String.self, "deliver")
        if let delivery, !["at_once", "late", "never", "unsent"].contains(delivery) {
            throw SimulatorError.badOption(
                "\"deliver\" is at_once, late, never or unsent, not \"\(delivery)\".")
        }
        action = try ScriptedAction(keys)
    }

    /// For example `-90d`, `-3h`, `+10d12h` or `2026-08-01T00:00:00Z`.
    static func moment(_ text: String) throws(SimulatorError) -> Moment {
        if let timestamp = Timestamp(rfc3339: text) { return .absolute(timestamp) }
        var milliseconds: Int64 = 0
        var number = ""
        var isNegative = false
        for (index, character) in text.enumerated() {
            switch character {
            case "-" where index == 0: isNegative = true
            case "+" where index == 0: break
            case "0"..."9": number.append(character)
            case "d", "h", "m", "s":
                guard let count = Int64(number), count < 100_000 else { throw wrongMoment(text) }
                let units: [Character: Int64] = [
                    "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000,
                ]
                milliseconds += count * (units[character] ?? 0)
                number = ""
            default: throw wrongMoment(text)
            }
        }
        guard number.isEmpty || text == "0" else { throw wrongMoment(text) }
        return .relative(milliseconds: isNegative ? -milliseconds : milliseconds)
    }

    private static func wrongMoment(_ text: String) -> SimulatorError {
        .badOption(
            "\"at\" must be like -90d, +12h30m or 2026-08-01T00:00:00Z, not \"\(text)\".")
    }
}
