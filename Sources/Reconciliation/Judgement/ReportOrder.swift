import Subscriptions

extension Finding {
    /// The order of findings within one outcome: kind, then field, as in the report files.
    var sortKey: (String, String) { (kind.rawValue, field ?? "") }
}

extension [FindingKind] {
    /// Each kind once, in the order of `FindingKind`.
    var inContractOrder: [FindingKind] {
        let held = Set(self)
        return FindingKind.allCases.filter(held.contains)
    }
}

extension Policy {
    /// Whether findings of a kind are reported and corrected in this run.
    func reports(_ kind: FindingKind) -> Bool { onlyKinds?.contains(kind) ?? true }
}

extension Comparison {
    /// The column's value before and after taking over Apple's.
    func change(of field: SubscriptionField) -> FieldChange {
        FieldChange(before: row.storedValue(of: field), after: stated.value(of: field))
    }
}

extension Sequence where Element == AppliedRule {
    /// Each once, by kind in that order and by name.
    var inContractOrder: [AppliedRule] {
        let order = FindingKind.allCases
        return Set(self).sorted { left, right in
            let ranks = [left, right].map { $0.kind.flatMap(order.firstIndex) ?? -1 }
            return (ranks[0], left.rule.name) < (ranks[1], right.rule.name)
        }
    }
}
