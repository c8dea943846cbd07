import GRDB
import Subscriptions

/// Whether the end of the ledger holds, before anything is added to it.
///
/// The whole ledger is for `verify`; this reads a few entries and is done at every opening.
struct LedgerHead {
    let db: Database

    /// How many of the newest entries are computed again.
    private static let entries = 32

    func check() throws {
        let newest = try Row.fetchAll(
            db,
            sql:
                "SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l ORDER BY l.entry DESC LIMIT ?",
            arguments: [Self.entries + 1]
        ).map { try LedgerEntry($0) }
        let reported = try ReportedEntries(db: db).last()
        let last = newest.first?.number ?? 0
        guard reported <= last else {
            throw Self.broken("it ends with entry \(last), but reports have shown \(reported)")
        }
        for (index, entry) in newest.prefix(Self.entries).enumerated() {
            let sealed = entry.previousHash + entry.canonicalWithoutHash.rendered
            guard Hexadecimal.sha256(of: sealed.utf8) == entry.hash else {
                throw Self.broken("entry \(entry.number) does not have the hash that it states")
            }
            let isFirst = index + 1 == newest.count
            let before = isFirst ? 0 : newest[index + 1].number
            let hashBefore = isFirst ? LedgerEntry.firstPreviousHash : newest[index + 1].hash
            guard entry.number == before + 1, entry.previousHash == hashBefore else {
                throw Self.broken("entry \(entry.number) does not continue entry \(before)")
            }
        }
    }

    private static func broken(_ what: String) -> StoreError {
        .inconsistent(
            "The ledger of corrections in the database is not as it was written: \(what). Nothing "
                + "was written. `trueup verify` tells what the reports prove; restore a backup of "
                + "the database.")
    }
}
