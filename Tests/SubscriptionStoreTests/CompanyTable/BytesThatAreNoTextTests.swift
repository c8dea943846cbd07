import Foundation
import SubscriptionStore
import Subscriptions
import Testing

/// Whatever somebody stored where a text belongs is shown and kept; nothing traps over it.
@Suite struct `Bytes that are no text` {
    @Test(arguments: [
        ("X'00112233445566778899AABBCCDDEEFF'", "00112233445566778899aabbccddeeff"),
        ("CAST(X'FFFE41' AS TEXT)", "fffe41"), ("CAST('cust-1' AS BLOB)", "cust-1"),
        ("X''", nil), ("'Zoë \u{FFFD}'", "Zoë \u{FFFD}"), ("'ï'", "ï"),
    ])
    func `are shown in hexadecimal wherever a row is read`(stored: String, shown: String?)
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try database.execute("UPDATE subscriptions SET customer_id = \(stored)")
        #expect(try store.subscriptions().map(\.customerID) == [shown])
        let night = try await Night.begin(store, Night.header("run-1"))
        let rows = try await store.rows(after: nil, limit: 10)
        #expect(rows.map(\.row.customerID) == [shown])
        #expect(try await store.rows(holding: ["1"]).map(\.row.customerID) == [shown])
        let before = try database.rows(
            "SELECT typeof(customer_id), hex(customer_id) FROM subscriptions")
        // What is told, and what is taken back, is read again beside the write.
        try await night.stage(drift("1", version: rows[0].row.rowVersion))
        #expect(try await night.apply() == 1)
        _ = try await night.conclude()
        var undo: [UndoItem] = []
        try store.forEachUndo(ofRun: "run-1") { undo.append($0) }
        #expect(undo.count == 1)
        #expect(
            try database.rows("SELECT typeof(customer_id), hex(customer_id) FROM subscriptions")
                == before)
    }

    @Test(.timeLimit(.minutes(10)))
    func `in a key are met once by the walk, which goes on behind them`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("3")])
        for key in ["X'31'", "X'00FF'", "X''", "CAST(X'32FF' AS TEXT)", "CAST(X'320033' AS TEXT)"] {
            try database.execute(
                """
                PRAGMA ignore_check_constraints = 1;
                INSERT INTO subscriptions (bundle_id, environment, original_transaction_id)
                VALUES ('com.example.app', 'Production', \(key))
                """)
        }
        var position: SubscriptionKey?
        var met: [String] = []
        while met.count < 20 {
            let page = try await store.rows(after: position, limit: 1)
            guard let row = page.first else { break }
            met.append(row.row.key.originalTransactionID)
            position = row.row.key
        }
        #expect(met.count == 7, "\(met)")
    }

    @Test func `and versions at the end of their range end nothing`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try database.execute("DROP TRIGGER IF EXISTS trueup_raise_row_version")
        try database.execute("UPDATE subscriptions SET row_version = 9223372036854775806")
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1", version: .max - 1))
        _ = try await night.apply()
        _ = try await night.conclude()
        try store.forEachUndo(ofRun: "run-1") { _ in }
    }
}
