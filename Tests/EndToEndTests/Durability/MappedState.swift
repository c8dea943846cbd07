import Foundation
import GRDB
import TestSupport
import Testing

/// What must be the same of a company's own table and of the books however often a job was disturbed.
struct MappedState {
    /// Where the company's command keeps what it was told.
    static let toldFile = "told.jsonl"

    var books: PreparedPlace.State
    /// The company's rows: all columns but the number that its database gives them.
    var table: [String]
    /// Number and hash of each entry of the ledger there.
    var ledgerThere: [String]
    /// The entitlements that services read there.
    var entitlementsThere: [String]
    /// The same of trueup's database.
    var entitlementsHere: [String]
    /// The same of the books, as far as the company's rows are concerned.
    var ledgerHere: [String]
    /// Events by name, row and entry.
    var events: [String]
    /// Those that were told; each idempotency key counts once.
    var told: [String]

    /// A query of `table` for either dialect.
    static let rows = """
        SELECT \(columns.map { "CAST(\($0) AS TEXT)" }.joined(separator: ", "))
        FROM apple_subscriptions ORDER BY otid
        """
    private static let columns = [
        "otid", "account_id", "product", "apple_status", "expires", "auto_renew",
        "last_transaction", "lock_version", "source", "note", "score", "seen_at",
    ]

    /// A query of the company's purchases for either dialect; the version rises with each write.
    static let orders = """
        SELECT CAST(txid AS TEXT), CAST(buyer AS TEXT), product, CAST(bought AS TEXT),
            CAST(refunded AS TEXT), CAST(reason AS TEXT), CAST(share AS TEXT),
            CAST(lock_version AS TEXT), source
        FROM orders ORDER BY txid
        """

    /// A query of the entitlements in `table` for either dialect.
    static func entitlements(in table: String) -> String {
        """
        SELECT customer_id, entitlement, CAST(expires_date AS TEXT),
            CAST(grace_period_expires_date AS TEXT), original_transaction_id, product_id,
            CAST(will_renew AS TEXT), CAST(signed_date AS TEXT)
        FROM \(table)
        """
    }

    /// - Parameters:
    ///   - place: Where the books are.
    ///   - table: The company's rows, as `rows` reads them.
    ///   - entitlements: Those that services read there, as `entitlements(in:)` reads them.
    ///   - ledger: The ledger beside them.
    /// - Throws: When the books cannot be read.
    init(
        of place: PreparedPlace, table: [String], entitlements: [String], ledger: [String]
    ) throws {
        entitlementsThere = entitlements.sorted()
        books = try place.state()
        self.table = table
        ledgerThere = ledger
        let path = place.folder.appendingPathComponent("trueup.sqlite").path
        let database = try DatabaseQueue(path: path)
        defer { try? database.close() }
        entitlementsHere = try database.read { db in
            try Self.lines(db, Self.entitlements(in: "trueup_entitlements")).sorted()
        }
        (ledgerHere, events) = try database.read { db in
            (
                try Self.lines(
                    db,
                    """
                    SELECT entry, hash FROM trueup_ledger
                    WHERE target_table IN ('subscriptions', 'purchases')
                    ORDER BY entry
                    """),
                try Self.lines(
                    db,
                    """
                    SELECT event, original_transaction_id, ledger_entry FROM trueup_outbox
                    ORDER BY ledger_entry
                    """)
            )
        }
        told = try Self.told(in: place.folder)
    }

    /// The rows of a query, their values divided as `psql -At` divides them.
    static func lines(_ db: Database, _ sql: String) throws -> [String] {
        try Row.fetchAll(db, sql: sql).map { row in
            row.databaseValues.map { $0.storage.value.map { "\($0)" } ?? "" }
                .joined(separator: "|")
        }
    }

    /// Apple signs at another moment in each run, and what is not granted any more ends at that time.
    private static func withoutTimes(_ entitlements: [String]) -> [String] {
        entitlements.map { line in
            let values = line.split(separator: "|", omittingEmptySubsequences: false)
            return (values[0...1] + values[4...6]).joined(separator: "|")
        }.sorted()
    }

    private static func told(in folder: URL) throws -> [String] {
        let file = folder.appendingPathComponent(toldFile)
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
        var byKey: [String: String] = [:]
        for line in text.split(separator: "\n") {
            // Whoever was killed as it told leaves half a message, and tells it again.
            guard
                let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)),
                let message = object as? [String: Any],
                let key = message["idempotency_key"] as? String
            else { continue }
            byKey[key] = ["event", "original_transaction_id", "ledger_entry"]
                .map { "\(message[$0] ?? "")" }.joined(separator: "|")
        }
        return byKey.values.sorted()
    }

    /// What is here and not there, and the other way round.
    func differences(from other: MappedState) -> [String] {
        let lists = [
            ("table", table, other.table), ("events", events, other.events),
            ("told", told, other.told), ("ledger there", ledgerThere, ledgerHere),
            (
                "entitlements", Self.withoutTimes(entitlementsThere),
                Self.withoutTimes(other.entitlementsThere)
            ),
            ("entitlements there", entitlementsThere, entitlementsHere),
        ]
        return books.differences(from: other.books)
            + lists.flatMap { name, mine, theirs in
                mine.difference(from: theirs).map { change in
                    switch change {
                    case .insert(_, let element, _): "\(name): too many: \(element)"
                    case .remove(_, let element, _): "\(name): missing: \(element)"
                    }
                }
            }
    }

    /// Looks at what a disturbance left: the company's database is ahead of the books or level with
    /// them, and every changed row has its entry.
    ///
    /// - Parameter when: For whoever reads of a failure.
    /// - Returns: Whether the books lack something.
    func isAhead(_ when: String) -> Bool {
        #expect(ledgerThere.starts(with: ledgerHere), "\(when)")
        let changes = table.reduce(0) { sum, line in
            let values = line.split(separator: "|", omittingEmptySubsequences: false)
            return sum + (Int(values[7]) ?? 0) + (values[8] == "trueup" ? 1 : 0)
        }
        #expect(changes == ledgerThere.count, "\(when)")
        return ledgerThere.count > ledgerHere.count
    }
}
