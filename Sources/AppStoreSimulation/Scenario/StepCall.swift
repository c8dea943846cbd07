import FoundationEssentials

/// A scripted step that a control call lets happen at once.
///
/// The step's name is part of the path; the body has the members that the step has in a scenario.
struct StepCall: Decodable, Sendable {
    let action: ScriptedAction
    /// The label of the purchase that it concerns; `nil` for the customer's latest.
    let purchase: String?
    let delivery: ScriptedDelivery?

    private static let stepName = CodingUserInfoKey(rawValue: "stepName")

    /// Reads the body of a call; it may be empty.
    static func read(
        _ body: [UInt8], step name: String, catalogue: Catalogue
    ) throws(SimulatorError) -> StepCall {
        guard ScriptedAction.names.contains(name) else {
            throw .badOption(
                "There is no step \"\(name)\"; there are "
                    + ScriptedAction.names.joined(separator: ", ") + ".")
        }
        let decoder = JSONDecoder()
        decoder.userInfo = StrictKeys.userInfo(catalogue)
        if let stepName { decoder.userInfo[stepName] = name }
        do {
            return try decoder.decode(
                StepCall.self, from: Data(body.isEmpty ? Array("{}".utf8) : body))
        } catch {
            throw .badOption("The step \"\(name)\": \(SimulatorError.sentence(of: error))")
        }
    }

    init(from decoder: any Decoder) throws {
        let name = Self.stepName.flatMap { decoder.userInfo[$0] as? String } ?? ""
        let keys = try StrictKeys(
            decoder, allowed: ["of", "deliver", name] + ScriptedAction.parameters)
        purchase = try keys.value(String.self, "of")
        delivery = try keys.delivery()
        action = try ScriptedAction(named: name, keys)
        if purchase != nil, !action.concernsPurchase {
            throw keys.refused(
                "this step concerns no earlier purchase, so it has no \"of\".", at: "of")
        }
    }
}

extension StrictKeys {
    /// How the notifications of a step are delivered; `nil` if that is not stated.
    func delivery() throws -> ScriptedDelivery? {
        guard let text = try value(String.self, "deliver") else { return nil }
        guard let known = ScriptedDelivery(rawValue: text) else {
            let names = ScriptedDelivery.allCases.map(\.rawValue).joined(separator: ", ")
            throw refused("\"deliver\" is one of \(names), not \"\(text)\".", at: "deliver")
        }
        return known
    }
}
