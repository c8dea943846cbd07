import Foundation
import TestSupport
import Testing

/// What the simulator planted, by original transaction id.
struct Planted {
    let kinds: [String: Set<String>]

    /// Reads the list of the table, or with a key path another list.
    init(
        of simulator: RunningSimulator,
        in list: KeyPath<RunningSimulator.Ready, String?> = \.plantedFile
    ) throws {
        let file = try #require(simulator.ready[keyPath: list])
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        let entries = try #require(JSONSerialization.jsonObject(with: data) as? [[String: Any]])
        var kinds: [String: Set<String>] = [:]
        for entry in entries {
            let id = try #require(entry["original_transaction_id"] as? String)
            let kind = try #require(entry["kind"] as? String)
            let all = (entry["kinds"] as? [String]).map(Set.init) ?? [kind]
            kinds[id, default: []].formUnion(all.union([kind]))
        }
        self.kinds = kinds
    }

    /// Kinds that no run corrects (docs/findings.md).
    static let neverCorrected: Set<String> = [
        "not_found", "account_not_found", "invalid_id", "migrated", "wrong_environment",
        "wrong_app", "duplicate_local", "identity", "price", "transaction_unknown",
        "overlapping_subscriptions", "resurrected", "verification_failed", "contradiction",
        "unknown_value", "purchase_unknown",
    ]
}
