import Foundation
import TestSupport

extension Workplace {
    /// What the last run wrote, in a fixed order: without what names run, time and place of an entry, and
    /// without the moment when Apple signed its answer to this run.
    func writtenCorrections() throws -> [String] {
        try reportLines("corrections.jsonl").map { line in
            var told = line.filter {
                ["kinds", "original_transaction_id", "action"].contains($0.key)
            }
            for side in ["before", "after"] {
                let values = line[side] as? [String: Any]
                told[side] = values?.filter { $0.key != "signed_date" }
            }
            let data = try JSONSerialization.data(withJSONObject: told, options: .sortedKeys)
            return String(decoding: data, as: UTF8.self)
        }.sorted()
    }
}
