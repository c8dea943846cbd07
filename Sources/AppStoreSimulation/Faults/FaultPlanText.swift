import Yams

/// A fault plan file in YAML, of which JSON is a subset.
///
/// Unknown keys are refused: a test with a misspelt fault that never happens would prove nothing.
struct FaultPlanText: Decodable {
    var faults: [FaultRuleText] = []
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
        faults = try keys.value([FaultRuleText].self, "faults") ?? []
        limits = try keys.value(LimitsText.self, "limits")
    }

    var rules: [FaultRule] { faults.map(\.rule) }
}

/// One rule of a fault plan file.
struct FaultRuleText: Decodable {
    /// The keys of all rules.
    private static let conditions = [
        "fault", "endpoint", "endpoints", "environment", "ids", "matches", "body_matches", "share",
        "skip", "count", "every", "after_seconds", "for_seconds", "delay_ms", "combine",
    ]
    /// The keys of rules about connections, before any request is read.
    private static let connectionConditions: Set<String> = [
        "fault", "environment", "skip", "count", "every", "after_seconds", "for_seconds",
    ]
    /// The further keys that a fault takes.
    private static let keysByFault: [String: [String]] = [
        "error": ["code", "message"], "status": ["status", "body", "content_type", "headers"],
        "rate_limited": ["retry_after", "wait_seconds"],
        "quota_used_up": ["retry_after", "wait_seconds"], "reset": ["after_bytes"],
        "cut": ["after_bytes"], "drip": ["interval_ms"], "redirect": ["location"],
        "short_body": ["bytes"], "long_body": ["bytes"], "rst_stream": ["form"], "gzip": ["form"],
        "broken_jws": ["form", "in"], "change": ["set", "drop"], "list_order": ["order"],
        "page_size": ["size"], "late_notifications": ["seconds"],
        "lost_notifications": ["portion"], "as_of": ["seconds"],
    ]

    let values: StrictKeys
    let name: String
    private(set) var rule = FaultRule(fault: .delay, name: "")

    init(from decoder: any Decoder) throws {
        let special = Set(Self.keysByFault.values.joined()).sorted()
        values = try StrictKeys(decoder, allowed: Self.conditions + special)
        guard let name = try values.value(String.self, "fault") else {
            throw values.refused("a rule lacks its \"fault\".")
        }
        self.name = name
        rule = try decoded()
        let mine = Self.keysByFault[name] ?? []
        if let foreign = values.names.first(where: { special.contains($0) && !mine.contains($0) }) {
            throw values.refused("\"\(foreign)\" does not belong to \"\(name)\".", at: foreign)
        }
    }

    private func decoded() throws -> FaultRule {
        var rule = FaultRule(fault: try fault(), name: name)
        try refuseSurplusKeys(of: rule.fault)
        var names = try values.value([String].self, "endpoints") ?? []
        if let one = try values.value(String.self, "endpoint") { names.append(one) }
        for text in names where text != "any" {
            guard let endpoint = Endpoint(rawValue: text) else {
                let known = Endpoint.allCases.map(\.rawValue).joined(separator: ", ")
                throw values.refused(
                    "The endpoint \"\(text)\" is unknown; known are any, \(known).")
            }
            rule.endpoints.append(endpoint)
        }
        if let text = try values.value(String.self, "environment") {
            guard let environment = SimulatedEnvironment(rawValue: text) else {
                throw values.refused(
                    "The environment \"\(text)\" is neither Production nor Sandbox.")
            }
            rule.environment = environment
        }
        rule.ids = Set(try values.value([String].self, "ids") ?? [])
        rule.requestPattern = try pattern("matches")
        rule.bodyPattern = try pattern("body_matches")
        rule.share = try values.number("share", in: 0.0...1.0) ?? 1
        rule.skip = try values.number("skip", in: 0...Int.max) ?? 0
        rule.count = try values.number("count", in: 0...Int.max) ?? Int.max
        rule.every = try values.number("every", in: 1...Int.max) ?? 1
        rule.afterSeconds = try values.number("after_seconds", in: 0...Double.infinity) ?? 0
        rule.forSeconds =
            try values.number("for_seconds", in: 0...Double.infinity) ?? .infinity
        rule.delayMilliseconds = Int64(try values.number("delay_ms", in: 0...3_600_000) ?? 0)
        if case .delay = rule.fault, rule.delayMilliseconds == 0 {
            throw values.refused("\"delay\" needs \"delay_ms\", in milliseconds.")
        }
        rule.combines = try values.value(Bool.self, "combine") ?? false
        return rule
    }

    /// Refuses keys without effect on a connection fault.
    private func refuseSurplusKeys(of fault: Fault) throws {
        guard case .connection(let connection) = fault else { return }
        var allowed = Self.connectionConditions
        // Connections to a closed port are refused by the system and cannot be counted.
        if connection == .refused { allowed.subtract(["skip", "count", "every"]) }
        if let surplus = values.names.first(where: { !allowed.contains($0) }) {
            throw values.refused(
                "\"\(surplus)\" has no meaning for the fault \"\(name)\", which concerns "
                    + "connections; it takes \(allowed.sorted().joined(separator: ", ")).")
        }
    }

    private func pattern(_ key: String) throws -> TextPattern? {
        guard let text = try values.value(String.self, key) else { return nil }
        do {
            return try TextPattern(text, key: key)
        } catch {
            throw values.refused(error.description, at: key)
        }
    }

    /// Reads one of the names of an enumeration.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, _ type: Choice.Type
    ) throws -> Choice? where Choice.RawValue == String {
        guard let text = try values.value(String.self, key) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw values.refused(
                "\"\(key)\" of the fault \"\(name)\" cannot be \"\(text)\"; known are \(known).")
        }
        return choice
    }
}
