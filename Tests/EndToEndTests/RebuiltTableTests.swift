import Foundation
import GRDB
import TestSupport
import Testing

/// A service of the company's changes the table in SQLite's own way, create, copy, drop, rename, and
/// the triggers that compare-and-set relies on are gone.
@Suite struct `A rebuilt table` {
    private static let rebuild = """
        CREATE TABLE rebuilt (
            original_transaction_id TEXT NOT NULL, environment TEXT NOT NULL,
            bundle_id TEXT NOT NULL, customer_id TEXT, app_account_token TEXT, product_id TEXT,
            status INTEGER, expires_date INTEGER, grace_period_expires_date INTEGER,
            auto_renew_status INTEGER, auto_renew_product_id TEXT, revocation_date INTEGER,
            in_app_ownership_type TEXT, latest_transaction_id TEXT, web_order_line_item_id TEXT,
            signed_date INTEGER, row_version INTEGER NOT NULL DEFAULT 1,
            PRIMARY KEY (bundle_id, environment, original_transaction_id));
        INSERT INTO rebuilt SELECT * FROM subscriptions;
        DROP TABLE subscriptions;
        ALTER TABLE rebuilt RENAME TO subscriptions;
        """

    @Test(.timeLimit(.minutes(30)))
    func `is refused by name, mended by init, and no later value is overwritten`() throws {
        let simulator = try RunningSimulator([
            "--customers", "40", "--drift", "0.5", "--seed", "5",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        try #require(place.run("check", "nightly").status == 2)
        let plan = try place.folder.write(place.report("plan.json"), to: "plan.json")
        let head = try JSONSerialization.jsonObject(with: Data(place.report("plan.json").utf8))
        let planned = try #require(
            (head as? [String: Any])?["corrections"] as? [[String: Any]])
        let change = try #require(
            planned.first {
                ($0["after"] as? [String: Any])?["status"] is Int && $0["before"] != nil
            })
        let id = try #require(change["original_transaction_id"] as? String)

        try place.sql(Self.rebuild)
        try place.sql("UPDATE subscriptions SET status = 4 WHERE original_transaction_id = '\(id)'")
        let before = try place.rows()
        for command in [["apply", plan], ["run", "nightly"], ["import", "plan.json"]] {
            let refused = try place.run(command)
            #expect(refused.status == 78, "\(refused.errors)")
            #expect(refused.errors.contains("trueup_raise_row_version"))
            #expect(refused.errors.contains("trueup init"))
            #expect(refused.errors.contains("CREATE TRIGGER trueup_raise_row_version"))
        }
        #expect(try place.rows() == before)
        let doctor = try place.run("doctor")
        #expect(doctor.status != 0)
        #expect(doctor.output.contains("trueup_raise_row_version"), "\(doctor.output)")

        let mended = try place.run("init")
        #expect(mended.status == 0, "\(mended.errors)")
        #expect(mended.output.contains("restored trigger `trueup_raise_row_version`"))
        let applied = try place.run("apply", plan)
        #expect(applied.status == 6, "\(applied.errors)\n\(applied.output)")
        let row = try place.rows().values.first { $0["original_transaction_id"] == id }
        #expect(row?["status"] == "4")
    }
}
