import Subscriptions

/// One step of a scripted customer: a moment and what happens then.
struct ScriptedStep: Decodable, Sendable {
    /// The time of a step: relative to the scenario's now, or absolute.
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
    /// The label of the purchase that it concerns; without one, the customer's latest.
    var purchase: String?
    let action: ScriptedAction
    /// How the notifications of this step are delivered; `nil` as usual.
    var delivery: ScriptedDelivery?
    /// Its line in the file.
    var line: Int?

    init(
        moment: Moment, purchase: String?, action: ScriptedAction, delivery: ScriptedDelivery?
    ) {
        self.moment = moment
        self.purchase = purchase
        self.action = action
        self.delivery = delivery
    }

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder,
            allowed: ["at", "of", "deliver"] + ScriptedAction.parameters + ScriptedAction.names)
        guard let at = try keys.value(String.self, "at") else {
            throw keys.refused("a step lacks its \"at\".")
        }
        do {
            moment = try Self.moment(at)
        } catch {
            throw keys.refused(error.description, at: "at")
        }
        purchase = try keys.value(String.self, "of")
        delivery = try keys.delivery()
        action = try ScriptedAction(keys)
        if purchase != nil, !action.concernsPurchase {
            throw keys.refused(
                "this step concerns no earlier purchase, so it has no \"of\".", at: "of")
        }
    }

    /// The error with the line and customer of the step.
    func refusal(_ error: SimulatorError, customer: String) -> SimulatorError {
        let place = line.map { "line \($0), " } ?? ""
        return .badOption("\(place)customer \"\(customer)\": \(error.description)")
    }

    /// For example `-90d`, `-3h`, `+10d12h` or `2026-08-01T00:00:00Z`.
    static func moment(_ text: String) throws(SimulatorError) -> Moment {
        if let timestamp = Timestamp(rfc3339: text) {
            guard timestamp.unixMilliseconds >= 0 else { throw wrongMoment(text) }
            return .absolute(timestamp)
        }
        guard !text.isEmpty else { throw wrongMoment(text) }
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
                    "d": CivilCalendar.millisecondsPerDay, "h": CivilCalendar.millisecondsPerHour,
                    "m": 60_000, "s": 1000,
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

/// How the notifications of a step are delivered, as in scenario files.
enum ScriptedDelivery: String, Sendable, CaseIterable {
    case atOnce = "at_once"
    case late
    case twice
    case never
    case unsent

    /// `nil` if Apple itself neither sends nor records them.
    var plan: NotificationRecord.Delivery? {
        switch self {
        case .atOnce: .atOnce
        case .late: NotificationRecord.Delivery(failedAttempts: 2)
        case .twice: .twice
        case .never: .never
        case .unsent: nil
        }
    }
}
