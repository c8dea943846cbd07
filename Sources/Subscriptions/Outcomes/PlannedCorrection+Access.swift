extension PlannedCorrection {
    /// Whether a row of the company's stops giving access by it.
    package var endsAccess: Bool {
        guard table == "subscriptions" else { return false }
        guard let change = changes[SubscriptionField.status.rawValue] else { return false }
        return change.before.isEntitlingStatus && !change.after.isEntitlingStatus
    }

    /// Whether a row of the company's gives access once it is written.
    package var givesAccess: Bool {
        guard table == "subscriptions" else { return false }
        return changes[SubscriptionField.status.rawValue]?.after.isEntitlingStatus ?? false
    }
}

extension FieldValue {
    fileprivate var isEntitlingStatus: Bool {
        guard case .integer(let number) = self, let number = Int(exactly: number) else {
            return false
        }
        return SubscriptionStatus(rawValue: number).isEntitling
    }
}
