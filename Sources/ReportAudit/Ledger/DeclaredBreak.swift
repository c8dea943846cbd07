import Crypto
import Subscriptions

/// A declared break of the ledger: the database was restored from a backup, or rebuilt, and lacks
/// entries that reports show.
///
/// The declaration is an entry of the ledger itself, with the table `ledger`. It states which
/// entries were lost, why, and who declared it.
package struct DeclaredBreak: Hashable, Sendable {
    /// The last entry that is left; 0 for a rebuilt database.
    package var keptEntry: Int64
    package var keptHash: String
    /// The last entry that was lost; `nil` where its number is not known.
    package var lostEntry: Int64?
    package var lostHash: String
    package var reason: String
    package var actor: String
    package var runID: String

    /// A sentence that names the lost entries.
    package var description: String {
        "a declared break of the ledger: the database was restored or rebuilt, and \(lostEntries) "
            + "are in these reports alone (\(reason); declared by \(actor), run \(runID))"
    }

    private var lostEntries: String {
        guard let last = lostEntry else { return "entries after \(keptEntry) of the ledger" }
        guard last > keptEntry else {
            return "entries of the ledger up to \(last), which followed an older backup,"
        }
        return last == keptEntry &+ 1
            ? "entry \(last) of the ledger"
            : "entries \(keptEntry &+ 1) to \(last) of the ledger"
    }

    /// Reads an entry of the ledger; `nil` when it declares no break.
    init?(_ entry: JSONRecord) {
        guard entry.text("table") == Self.table, let before = entry.record("before"),
            let after = entry.record("after"), let keptEntry = after.integer("ledger_entry"),
            let keptHash = after.text("ledger_head"), keptHash.isDigest,
            let lostHash = before.text("ledger_head"), lostHash.isDigest
        else { return nil }
        self.keptEntry = keptEntry
        self.keptHash = keptHash
        self.lostHash = lostHash
        lostEntry = before.integer("ledger_entry")
        reason = entry.text("reason") ?? ""
        actor = entry.text("actor") ?? ""
        runID = entry.text("run_id") ?? ""
    }

    static let table = "ledger"
}

extension JSONRecord {
    /// Why the record is not a ledger entry with the hash that it states; `nil` when it is.
    var sealProblem: String? {
        guard let previous = text("ledger_previous"), previous.isDigest,
            let hash = text("ledger_hash"), hash.isDigest
        else { return "its ledger_previous or ledger_hash is no digest" }
        let sealed = previous + text(leavingOut: "ledger_hash")
        if !SHA256.hash(data: Array(sealed.utf8)).hexadecimal.isSame(as: hash) {
            return "its ledger_hash is not the hash of its contents: the entry was edited"
        }
        return isCanonical ? nil : "it is not spelled as canonical JSON"
    }
}
