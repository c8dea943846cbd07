/// What was asked and what was sent.
extension SimulatorControl {
    private static let usualRequests = 100

    /// The production log, or the sandbox's with `?environment=Sandbox`.
    func log(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let query = try ControlQuery(request, allowed: ["environment"])
        let environment = try query.choice(SimulatedEnvironment.self, "environment")
        guard let log = logs[environment ?? .production] else { return .noSuchPath }
        return .json { log.snapshot.write(into: &$0) }
    }

    /// The last requests one by one.
    func requests(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let query = try ControlQuery(
            request, allowed: ["environment", "after", "limit", "endpoint", "status", "token"])
        let environment =
            try query.choice(SimulatedEnvironment.self, "environment") ?? .production
        let after = try query.integer("after", in: 0...Int.max) ?? 0
        let limit =
            try query.integer("limit", in: 1...RecentRequests.capacity) ?? Self.usualRequests
        let status = try query.integer("status", in: 0...599)
        let endpoint =
            query.text("endpoint") == "other"
            ? "other" : try query.choice(Endpoint.self, "endpoint")?.rawValue
        let token = query.text("token")
        guard let recent = logs[environment]?.snapshot.recent else { return .noSuchPath }
        let found = recent.after(after).lazy.filter { request in
            (status == nil || request.status == status)
                && (endpoint == nil || request.endpoint == endpoint)
                && (token == nil || request.token?.text == token)
        }
        return .json { json in
            json.field("count", recent.count)
            json.field("first_kept", recent.firstKept)
            json.key("requests")
            json.array { json in
                for request in found.prefix(limit) {
                    request.write(into: &json, environment: environment)
                }
            }
        }
    }

    /// The notifications by what became of them.
    func notifications(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let listing = try NotificationListing(
            ControlQuery(request, allowed: NotificationListing.parameters))
        return .json { listing.write(of: services, now: clock.now, into: &$0) }
    }
}
