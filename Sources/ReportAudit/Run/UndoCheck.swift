import JSONWebSignature

/// Holds the items of `undo.json` against the corrections that they take back, in lockstep.
struct UndoCheck {
    static let name = "undo.json"
    private static let shared = [
        "app", "environment", "evidence", "evidence_renewal", "ledger_hash",
        "original_transaction_id", "table", "transaction_id",
    ]

    /// What keeps an item from being the inverse of a correction.
    static func problem(of item: JSONRecord, undoing entry: JSONRecord) -> String? {
        for name in shared where !JSONValue.areSame(item[name], entry[name]) {
            return "its \(name) is not that of the correction"
        }
        guard JSONValue.areSame(item["undo_of"], entry["ledger_entry"]) else {
            return "it takes back another ledger entry than the next correction"
        }
        guard JSONValue.areSame(item["before"], entry["after"]),
            JSONValue.areSame(item["after"], entry["before"])
        else { return "its before and after are not those of the correction exchanged" }
        guard item.text("action") == inverse(of: entry) else {
            return "its action does not take the correction back"
        }
        return nil
    }

    /// Periods are only ever inserted; a subscription is inserted when it was missing.
    private static func inverse(of entry: JSONRecord) -> String {
        switch entry.text("action") {
        case "insert": return "delete"
        case "delete": return "insert"
        case "update": return "update"
        default:
            let kinds = entry["kinds"]?.elements.compactMap(\.text) ?? []
            return entry.text("table") == "transactions" || kinds.contains("missing_locally")
                ? "delete" : "update"
        }
    }
}
