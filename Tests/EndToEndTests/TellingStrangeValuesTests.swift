import Foundation
import GRDB
import TestSupport
import Testing

/// What must not go wrong when values or receivers are not what they should be.
extension `Telling others` {
    @Test(.timeLimit(.minutes(30)))
    func `customer ids that are no text are told, exported and taken back, and stay as they are`()
        throws
    {
        let receiver = try EventReceiver()
        let place = try workplace(tell: webhook(receiver.url), customers: 40)
        // Half are BLOBs, as of a binary UUID, half texts that are no UTF-8.
        try place.sql(
            """
            UPDATE subscriptions SET customer_id =
                CASE WHEN original_transaction_id % 2 = 0
                    THEN CAST(X'FF80' || original_transaction_id AS BLOB)
                    ELSE CAST(CAST(X'FF80' || original_transaction_id AS BLOB) AS TEXT) END
            """)
        func stored() throws -> [String] {
            let path = place.folder.url.appendingPathComponent("trueup.sqlite").path
            return try DatabaseQueue(path: path).read { db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT original_transaction_id || typeof(customer_id) || hex(customer_id)
                        FROM subscriptions WHERE customer_id IS NOT NULL ORDER BY 1
                        """)
            }
        }
        let before = try stored()
        let first = try run(place)
        #expect([0, 2, 3].contains(first.status), "\(first.errors)")
        #expect(!receiver.received.isEmpty)
        let runID = try #require(try place.summary()["run_id"] as? String)
        let undo = try place.run("undo", runID, "--execute", environment: Self.environment)
        #expect(undo.status == 0, "\(undo.errors)\n\(undo.output)")
        #expect(Set(try stored()).isSuperset(of: before))
        let export = try place.run("export")
        #expect(export.status == 0)
        #expect(export.output.contains(",ff80"))
    }

    @Test(.timeLimit(.minutes(30)))
    func `an address that is no receiver, or whose certificate is not trusted, is told nothing`()
        throws
    {
        let simulator = try RunningSimulator([
            "--customers", "40", "--drift", "0.2", "--seed", "11",
        ])
        let place = try Workplace(on: simulator)
        let settings = try place.folder.text("trueup.yaml")
        let tell = "tell:\n" + webhook(simulator.ready.endpoint + "/hooks/S3GM3NT")
        try place.folder.write(settings + tell, to: "trueup.yaml")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let untrusted = try run(place, now: Self.nights[0])
        #expect(untrusted.errors.contains("is not trusted"), "\(untrusted.errors)")
        try place.folder.write(
            settings + tell + "  ca_file: \(simulator.ready.caFile)\n", to: "trueup.yaml")
        let trusted = try run(place, now: "2026-12-01T04:00:00Z")
        #expect(trusted.errors.contains("the receiver answered 4"), "\(trusted.errors)")
        let told = try outbox(place)
        #expect(told["told"] as? Int == 0)
        for text in [untrusted.errors, trusted.errors, try place.run("status").output] {
            #expect(!text.contains("S3GM3NT"))
            #expect(!text.contains(Self.secret))
        }
        let database = try Data(
            contentsOf: place.folder.url.appendingPathComponent("trueup.sqlite"))
        #expect(database.range(of: Data(Self.secret.utf8)) == nil)
    }
}
