/// Reads the fault of a rule with the keys that belong to it.
extension FaultRuleText {
    private static let plain = [
        "error", "status", "rate_limited", "quota_used_up", "unauthorized", "expired_token",
        "delay", "reset", "drop_connection", "drip", "cut", "endless", "short_body", "long_body",
        "goaway", "goaway_unprocessed", "rst_stream", "gzip", "empty_body", "html", "redirect",
        "change", "list_order", "page_size", "late_notifications", "lost_notifications",
        "as_of", "broken_jws",
    ]

    /// The fault that the rule names, with its further keys.
    func fault() throws -> Fault {
        if let connection = ConnectionFault(rawValue: name) { return .connection(connection) }
        if let distortion = Distortion(rawValue: name) { return .distorted(distortion) }
        switch name {
        case "error", "status", "rate_limited", "quota_used_up", "unauthorized", "expired_token",
            "empty_body", "html", "redirect":
            return try answer()
        case "change", "list_order", "page_size", "late_notifications", "lost_notifications",
            "as_of", "broken_jws":
            return try content()
        case "delay", "reset", "drop_connection", "drip", "cut", "endless", "short_body",
            "long_body", "goaway", "goaway_unprocessed", "rst_stream", "gzip":
            return try transport()
        default:
            let known =
                Self.plain + Distortion.allCases.map(\.rawValue)
                + ConnectionFault.allCases.map(\.rawValue)
            throw values.refused(
                "The fault \"\(name)\" is unknown; known are \(known.joined(separator: ", ")).")
        }
    }

    /// Faults that replace the answer.
    private func answer() throws -> Fault {
        switch name {
        case "error":
            guard let code = try values.value(Int.self, "code"), (4_000_000..<6_000_000) ~= code
            else {
                throw values.refused(
                    "The fault \"error\" needs Apple's seven-digit code.")
            }
            let message = try values.value(String.self, "message")
            return .failure(
                code: code, message: message ?? APIFailure.message(of: code))
        case "status":
            let headers = try values.value([String: String].self, "headers") ?? [:]
            return .status(
                try values.number("status", in: 200...599) ?? 500,
                contentType: try values.value(String.self, "content_type"),
                body: try values.value(String.self, "body") ?? "",
                headers: headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        case "rate_limited", "quota_used_up":
            let form = try choice("retry_after", RetryAfterForm.self) ?? .unixMilliseconds
            let isQuota = name == "quota_used_up"
            let wait = Int64(
                try values.number("wait_seconds", in: 0...1_000_000_000) ?? (isQuota ? 3600 : 1))
            return isQuota
                ? .quotaUsedUp(form, waitSeconds: wait) : .rateLimited(form, waitSeconds: wait)
        case "unauthorized": return .unauthorized
        case "expired_token": return .expiredToken
        case "empty_body":
            return .status(200, contentType: "application/json", body: "", headers: [])
        case "html":
            let page = "<!DOCTYPE html><html><body><h1>Please sign in</h1></body></html>"
            return .status(200, contentType: "text/html", body: page, headers: [])
        default:
            let target = try values.value(String.self, "location") ?? "https://127.0.0.1:9/"
            return .status(302, contentType: nil, body: "", headers: [("Location", target)])
        }
    }

    /// Faults of the content of an answer.
    private func content() throws -> Fault {
        switch name {
        case "change": return .rewritten(.members(try changes()))
        case "list_order":
            return .rewritten(.order(try choice("order", ListOrder.self) ?? .reversed))
        case "page_size":
            guard let size = try values.number("size", in: 1...1000) else {
                throw values.refused("The fault \"page_size\" needs its \"size\".")
            }
            return .pageSize(size)
        case "late_notifications":
            return .listing(ListingFault(lateMilliseconds: try milliseconds()))
        case "as_of": return .asOf(milliseconds: try milliseconds())
        case "lost_notifications":
            return .listing(
                ListingFault(lostPortion: try values.number("portion", in: 0.0...1.0) ?? 1))
        default:
            guard let form = try choice("form", BrokenJWS.self) else {
                throw values.refused(
                    "The fault \"broken_jws\" needs its \"form\", for example signature_empty.")
            }
            return .rewritten(
                .brokenJWS(form, names: try values.value([String].self, "in") ?? []))
        }
    }

    private func milliseconds() throws -> Int64 {
        guard let seconds = try values.number("seconds", in: 0.0...1e9) else {
            throw values.refused("The fault \"\(name)\" needs its \"seconds\".")
        }
        return Int64(seconds * 1000)
    }

    private func changes() throws -> [MemberChange] {
        let set = try values.value([String: JSONTree].self, "set") ?? [:]
        let drop = try values.value([String].self, "drop") ?? []
        guard !set.isEmpty || !drop.isEmpty else {
            throw values.refused("The fault \"change\" needs \"set\" or \"drop\".")
        }
        do {
            var changes = try set.sorted { $0.key < $1.key }.map {
                MemberChange(path: try MemberPath($0.key), value: $0.value)
            }
            for path in drop {
                changes.append(MemberChange(path: try MemberPath(path), value: nil))
            }
            return changes
        } catch let error as SimulatorError {
            throw values.refused(error.description)
        }
    }

    /// Faults of the sending of an answer.
    private func transport() throws -> Fault {
        let bytes = 0...1_000_000_000
        switch name {
        case "delay": return .delay
        case "reset": return .reset(afterBytes: try values.number("after_bytes", in: bytes) ?? 1000)
        case "drop_connection": return .dropConnection
        case "drip":
            return .drip(
                intervalMilliseconds: Int64(
                    try values.number("interval_ms", in: 0...3_600_000) ?? 1000))
        case "cut": return .cut(afterBytes: try values.number("after_bytes", in: bytes) ?? 1000)
        case "endless": return .endless
        case "short_body":
            return .wrongLength(missingBytes: try values.number("bytes", in: 1...1_000_000) ?? 100)
        case "long_body":
            return .wrongLength(
                missingBytes: -(try values.number("bytes", in: 1...1_000_000) ?? 100))
        case "goaway": return .goAway(isProcessed: true)
        case "goaway_unprocessed": return .goAway(isProcessed: false)
        case "rst_stream":
            return .resetStream(try choice("form", StreamResetCode.self) ?? .refusedStream)
        default: return .gzip(try choice("form", GzipForm.self) ?? .plain)
        }
    }
}
