package import Subscriptions

extension AcknowledgedFinding {
    /// For machines, the same wherever it is shown.
    package var json: CanonicalJSON {
        .object([
            "by": .string(actor), "decided_at": .time(decidedAt), "decision": .integer(decision),
            "finding_id": .string(findingID), "kind": .string(kind.rawValue),
            "original_transaction_id": .text(originalTransactionID), "reason": .string(reason),
            "severity": .string(severity.rawValue), "until": .time(until),
        ])
    }
}
