/// When a fault happens, and which: one entry of a fault plan.
///
/// Every member but `fault` is optional; those given must all hold.
struct FaultRule: Sendable {
    var fault: Fault
    /// The text of `fault` in the plan.
    var name: String
    /// Endpoint names, or none for all.
    var endpoints: [Endpoint] = []
    var environment: SimulatedEnvironment?
    /// Ids in the path, or none for all.
    var ids: Set<String> = []
    /// The share of ids that are affected: always the same ones.
    var share = 1.0
    /// So many matching requests pass first.
    var skip = 0
    /// So many are affected at most.
    var count = Int.max
    /// Of the matching requests every so manieth is affected.
    var every = 1
    /// Seconds after the plan was set from which it holds, and how long.
    var afterSeconds = 0.0
    var forSeconds = Double.infinity
    /// Waited before anything else.
    var delayMilliseconds: Int64 = 0

    /// Whether a request is one that the rule is about, whatever its count says.
    func concerns(
        _ endpoint: Endpoint, id: String, environment: SimulatedEnvironment, age: Double
    ) -> Bool {
        if !endpoints.isEmpty, !endpoints.contains(endpoint) { return false }
        if let wanted = self.environment, wanted != environment { return false }
        if !ids.isEmpty, !ids.contains(id) { return false }
        guard age >= afterSeconds, age < afterSeconds + forSeconds else { return false }
        guard share < 1 else { return true }
        let point = Double(PageTokens.digest(Array(id.utf8)) >> 11) * 0x1.0p-53
        return point < share
    }
}
