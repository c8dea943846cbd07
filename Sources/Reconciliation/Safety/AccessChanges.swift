import Subscriptions

/// For how many rows a plan would end access, and to how many it would give it.
///
/// A row that was not known yet has no direction, nor has one that is inserted.
struct AccessChanges: Hashable, Sendable {
    private(set) var ended = 0
    private(set) var given = 0

    mutating func add(_ correction: PlannedCorrection) {
        guard case .update = correction.target,
            let change = correction.changes[SubscriptionField.status.rawValue],
            let ours = Self.isEntitling(change.before), let apple = Self.isEntitling(change.after)
        else { return }
        if ours, !apple { ended += 1 }
        if !ours, apple { given += 1 }
    }

    private static func isEntitling(_ status: FieldValue) -> Bool? {
        guard case .integer(let number) = status, let number = Int(exactly: number) else {
            return nil
        }
        return SubscriptionStatus(rawValue: number).isEntitling
    }
}
