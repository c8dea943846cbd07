import Foundation
import TestSupport
import Testing

extension Tampering {
    private static let zeros = String(repeating: "0", count: 64)

    /// Entries of the ledger.
    static let ledger = [
        Tampering("an entry is edited", names: "corrections.jsonl:1", "the entry was edited") {
            try $0.edit(Night.first, "corrections.jsonl") { $0["reason"] = "Nothing to see." }
            try $0.relink(from: Night.first)
        },
        Tampering("an entry's hash is edited", names: "corrections.jsonl:1", "ledger entry 1") {
            try $0.edit(Night.first, "corrections.jsonl") { $0["ledger_hash"] = zeros }
            try $0.relink(from: Night.first)
        },
        Tampering("an entry is removed, hashes made anew", names: "the ledger has a gap") {
            reports in
            try reports.editLines(Night.first, "corrections.jsonl") { $0.remove(at: 2) }
            try reports.rehashLedger(from: Night.first)
            try reports.relink(from: Night.first)
        },
        Tampering("two entries change places", names: "corrections.jsonl:2") { reports in
            try reports.editLines(Night.first, "corrections.jsonl") { $0.swapAt(0, 1) }
            try reports.rehashLedger(from: Night.first)
            try reports.relink(from: Night.first)
        },
        Tampering(
            "one night's ledger is numbered anew, the next is not",
            names: "corrections.jsonl:1", "the ledger has a gap"
        ) { reports in
            try keepingNewest(reports) {
                try reports.editLines(Night.second, "corrections.jsonl") { $0.remove(at: 0) }
                try reports.rehashLedger(from: Night.second, renumbering: true)
            }
        },
        Tampering(
            "an entry is edited and its night hashed anew, the next is not",
            names: "corrections.jsonl:1", "does not follow the entry before"
        ) { reports in
            try keepingNewest(reports) {
                try reports.edit(Night.second, "corrections.jsonl") { $0["reason"] = "Other." }
                try reports.rehashLedger(from: Night.second)
            }
        },
        Tampering("the ledger's head is edited", names: "manifest.json", "ledger_head") { reports in
            for file in ["summary.json", "manifest.json"] {
                try reports.editWhole(Night.newest, file) { $0["ledger_head"] = zeros }
            }
            try reports.relink(from: Night.newest)
        },
        Tampering("a member stands twice", names: "corrections.jsonl:1", "not a ledger entry") {
            try $0.replace(
                "\"ledger_entry\":1,", with: "\"ledger_entry\":1,\"ledger_entry\":1,",
                Night.first, "corrections.jsonl")
            try $0.relink(from: Night.first)
        },
        Tampering(
            "the tail of the ledger is cut and the newest night made anew",
            names: "anchor", anchor: .ledgerHead(Night.newest)
        ) { reports in
            try reports.editLines(Night.newest, "corrections.jsonl") { $0.removeLast() }
            try reports.rehashLedger(from: Night.newest)
            try reports.relink(from: Night.newest)
        },
        Tampering(
            "what a row held before is edited and all nights are made anew", names: "anchor",
            anchor: .manifest(Night.newest)
        ) { reports in
            let place = try reports.correction(Night.first, setting: "product_id")
            try reports.editCorrection(Night.first, place) { entry in
                var before = entry["before"] as? [String: Any] ?? [:]
                before["product_id"] = "something.else"
                entry["before"] = before
            }
            try reports.rehashLedger(from: Night.first)
            try reports.relink(from: Night.first)
        },
        Tampering(
            "an entry that takes another back is made up", names: "reverts"
        ) { reports in
            let place = try reports.correction(Night.newest)
            try reports.editCorrection(Night.newest, place) { $0["undo_of"] = 1 }
            try reports.rehashLedger(from: Night.newest)
            try reports.relink(from: Night.newest)
        },
    ]

    /// Puts back what the newest night said; only its digests and links are computed anew.
    private static func keepingNewest(_ reports: ForgedReports, _ body: () throws -> Void) throws {
        let files = ["corrections.jsonl", "corrections.csv", "undo.json", "summary.json"]
        let kept = try files.map { try reports.text(Night.newest, $0) }
        let head = try Anchor.ledgerHead(Night.newest).digest(in: reports)
        try body()
        for (file, text) in zip(files, kept) { try reports.write(text, Night.newest, file) }
        try reports.editWhole(Night.newest, "manifest.json") { $0["ledger_head"] = head }
        try reports.relink(from: Night.second)
    }
}
