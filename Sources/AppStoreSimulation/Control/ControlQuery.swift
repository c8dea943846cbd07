import Subscriptions

/// The query of a control call.
///
/// Unknown and repeated parameters are refused: a misspelt one must not silently mean the default.
struct ControlQuery {
    private var values: [String: String] = [:]

    init(_ request: ServiceRequest, allowed: [String] = []) throws(SimulatorError) {
        for (name, value) in request.query {
            guard allowed.contains(name) else {
                throw .badOption(
                    "The parameter \"\(name)\" is unknown here"
                        + (allowed.isEmpty
                            ? "." : "; known are \(allowed.joined(separator: ", "))."))
            }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .badOption("The parameter \"\(name)\" is given twice.")
            }
        }
    }

    var isEmpty: Bool { values.isEmpty }

    func text(_ name: String) -> String? { values[name] }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(SimulatorError) -> Int? {
        guard let text = values[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw .badOption(
                "The parameter \"\(name)\" must be from \(range.lowerBound) to "
                    + "\(range.upperBound), not \"\(text)\".")
        }
        return value
    }

    func time(_ name: String) throws(SimulatorError) -> Timestamp? {
        guard let text = values[name] else { return nil }
        guard let moment = Timestamp(rfc3339: text) else {
            throw .badOption(
                "The parameter \"\(name)\" must be a time such as 2026-12-31T00:00:00Z, "
                    + "not \"\(text)\".")
        }
        return moment
    }

    /// One of the names of an enumeration.
    func choice<Value: RawRepresentable & CaseIterable>(
        _ type: Value.Type, _ name: String
    ) throws(SimulatorError) -> Value? where Value.RawValue == String {
        guard let text = values[name] else { return nil }
        guard let value = Value(rawValue: text) else {
            let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badOption("The parameter \"\(name)\" is one of \(names), not \"\(text)\".")
        }
        return value
    }
}
