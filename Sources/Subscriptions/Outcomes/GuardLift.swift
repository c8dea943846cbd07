/// One guard that somebody lifted for one run, and why.
package struct GuardLift: Hashable, Sendable {
    package var name: GuardName
    package var reason: String
    /// `user@host`.
    package var actor: String
    package var liftedAt: Timestamp
    /// The run that was told to; an earlier one where this run goes on with a killed run's plan.
    package var liftedBy: String
    /// What the guard objected to; `nil` when there was nothing to lift it for.
    package var breach: String?

    package init(
        name: GuardName, reason: String, actor: String, liftedAt: Timestamp, liftedBy: String,
        breach: String? = nil
    ) {
        self.name = name
        self.reason = reason
        self.actor = actor
        self.liftedAt = liftedAt
        self.liftedBy = liftedBy
        self.breach = breach
    }
}
