/// One rule of a fault plan as written.
struct RuleText: Decodable {
    private static let keys = [
        "fault", "endpoint", "endpoints", "environment", "ids", "share", "skip", "count", "every",
        "after_seconds", "for_seconds", "delay_ms", "code", "message", "status", "body",
        "content_type", "headers", "retry_after", "wait_seconds", "after_bytes", "interval_ms",
        "location",
    ]

    private let values: StrictKeys
    private let name: String

    init(from decoder: any Decoder) throws {
        values = try StrictKeys(decoder, allowed: Self.keys)
        guard let name = try values.value(String.self, "fault") else {
            throw SimulatorError.badOption("a rule lacks its \"fault\".")
        }
        self.name = name
    }

    func rule() throws(SimulatorError) -> FaultRule {
        do {
            return try decoded()
        } catch let error as SimulatorError {
            throw error
        } catch {
            throw .badOption("The rule with the fault \"\(name)\" cannot be read: \(error)")
        }
    }

    private func decoded() throws -> FaultRule {
        var rule = FaultRule(fault: try fault(), name: name)
        var names = try values.value([String].self, "endpoints") ?? []
        if let one = try values.value(String.self, "endpoint") { names.append(one) }
        for text in names where text != "any" {
            guard let endpoint = Endpoint(rawValue: text) else {
                let known = Endpoint.allCases.map(\.rawValue).joined(separator: ", ")
                throw SimulatorError.badOption(
                    "The endpoint \"\(text)\" is unknown; known are any, \(known).")
            }
            rule.endpoints.append(endpoint)
        }
        if let text = try values.value(String.self, "environment") {
            guard let environment = SimulatedEnvironment(rawValue: text) else {
                throw SimulatorError.badOption(
                    "The environment \"\(text)\" is neither Production nor Sandbox.")
            }
            rule.environment = environment
        }
        rule.ids = Set(try values.value([String].self, "ids") ?? [])
        rule.share = try values.value(Double.self, "share") ?? 1
        rule.skip = try number("skip", in: 0...Int.max) ?? 0
        rule.count = try number("count", in: 0...Int.max) ?? Int.max
        rule.every = try number("every", in: 1...Int.max) ?? 1
        rule.afterSeconds = try values.value(Double.self, "after_seconds") ?? 0
        rule.forSeconds = try values.value(Double.self, "for_seconds") ?? .infinity
        rule.delayMilliseconds = Int64(try number("delay_ms", in: 0...3_600_000) ?? 0)
        return rule
    }

    private func fault() throws -> Fault {
        switch name {
        case "error":
            guard let code = try values.value(Int.self, "code"), (4_000_000..<6_000_000) ~= code
            else {
                throw SimulatorError.badOption(
                    "The fault \"error\" needs Apple's seven-digit code.")
            }
            let message = try values.value(String.self, "message")
            return .failure(
                code: code, message: message ?? APIFailure(rawValue: code)?.message ?? "Error.")
        case "status":
            let headers = try values.value([String: String].self, "headers") ?? [:]
            return .status(
                try number("status", in: 200...599) ?? 500,
                contentType: try values.value(String.self, "content_type"),
                body: try values.value(String.self, "body") ?? "",
                headers: headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        case "rate_limited": return try rateLimited()
        case "unauthorized": return .unauthorized
        case "delay": return .delay
        case "reset":
            return .reset(afterBytes: try number("after_bytes", in: 0...1_000_000_000) ?? 1000)
        case "drop_connection": return .dropConnection
        case "drip":
            return .drip(
                intervalMilliseconds: Int64(try number("interval_ms", in: 0...3_600_000) ?? 1000))
        case "cut":
            return .cut(afterBytes: try number("after_bytes", in: 0...1_000_000_000) ?? 1000)
        case "endless": return .endless
        case "empty_body":
            return .status(200, contentType: "application/json", body: "", headers: [])
        case "html":
            let page = "<!DOCTYPE html><html><body><h1>Please sign in</h1></body></html>"
            return .status(200, contentType: "text/html", body: page, headers: [])
        case "redirect":
            let target = try values.value(String.self, "location") ?? "https://127.0.0.1:9/"
            return .status(302, contentType: nil, body: "", headers: [("Location", target)])
        default:
            guard let distortion = Distortion(rawValue: name) else { throw Self.unknown(name) }
            return .distorted(distortion)
        }
    }

    private func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let value = try values.value(Int.self, name) else { return nil }
        guard range.contains(value) else {
            throw SimulatorError.badOption(
                "\"\(name)\" must be from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }

    private func rateLimited() throws -> Fault {
        let text =
            try values.value(String.self, "retry_after")
            ?? RetryAfterForm.unixMilliseconds.rawValue
        guard let form = RetryAfterForm(rawValue: text) else {
            let known = RetryAfterForm.allCases.map(\.rawValue).joined(separator: ", ")
            throw SimulatorError.badOption(
                "The form \"\(text)\" of retry_after is unknown; known are \(known).")
        }
        return .rateLimited(
            form, waitSeconds: Int64(try number("wait_seconds", in: 0...1_000_000_000) ?? 1))
    }

    private static func unknown(_ name: String) -> SimulatorError {
        let plain = [
            "error", "status", "rate_limited", "unauthorized", "delay", "reset",
            "drop_connection", "drip", "cut",
            "endless", "empty_body", "html", "redirect",
        ]
        let known = (plain + Distortion.allCases.map(\.rawValue)).joined(separator: ", ")
        return .badOption("The fault \"\(name)\" is unknown; known are \(known).")
    }
}
