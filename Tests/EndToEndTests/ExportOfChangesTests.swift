import Foundation
import GRDB
import TestSupport
import Testing

/// `trueup export --changed-since` and `--cursor`: what a warehouse follows.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `An export of changes` {
    private static let simulator = try? RunningSimulator([
        "--customers", "40", "--seed", "33", "--drift", "0",
    ])

    private func place() throws -> (place: Workplace, ids: [String]) {
        let place = try Workplace(on: try #require(Self.simulator))
        try place.writeJob(
            "nightly", "settle: 0s", steps: "[walk]",
            guards: "max_changes: 1000, max_change_share: 1, max_same_direction_share: 1")
        try #require(place.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(try place.run("import", table).status == 0)
        let ids = try place.rows().values.compactMap { $0["original_transaction_id"] }
        return (place, ids.sorted())
    }

    /// Lets a run correct these rows.
    private func correct(_ ids: [String], in place: Workplace) throws -> String {
        for id in ids {
            try place.sql(
                "UPDATE subscriptions SET expires_date = expires_date + 86400000 "
                    + "WHERE original_transaction_id = '\(id)'")
        }
        let run = try place.run("run", "nightly")
        try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        return try #require(try place.summary()["run_id"] as? String)
    }

    private func lines(_ place: Workplace, _ arguments: String...) throws -> [[String: Any]] {
        let shown = try place.run(["export", "--json"] + arguments)
        try #require(shown.status == 0, "\(shown.errors)")
        return try shown.output.split(separator: "\n").map {
            try #require(
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    private func ids(_ lines: [[String: Any]]) -> [String] {
        lines.compactMap { $0["original_transaction_id"] as? String }
    }

    @Test func `has the rows that a run and later ones changed, each once and as it is now`() throws
    {
        let (place, ids) = try place()
        let first = try correct([ids[4], ids[1]], in: place)
        let second = try correct([ids[2], ids[1]], in: place)
        let later = try lines(place, "--changed-since", second)
        #expect(self.ids(later) == [ids[1], ids[2]])
        #expect(later.allSatisfy { $0["change"] as? String == "update" })
        #expect(later.allSatisfy { $0["run_id"] as? String == second })
        let all = try lines(place, "--changed-since", first)
        // By their newest corrections: that of the second run counts where both changed a row.
        #expect(self.ids(all) == [ids[4], ids[1], ids[2]])
        #expect(all.compactMap { $0["run_id"] as? String } == [first, second, second])
        let stored = try place.rows()
        for line in all {
            let id = try #require(line["original_transaction_id"] as? String)
            let row = try #require(stored.values.first { $0["original_transaction_id"] == id })
            #expect(line["expires_date"] as? String == row["expires_date"])
            #expect(line["product_id"] as? String == row["product_id"])
        }
        let csv = try place.run("export", "--changed-since", second)
        let columns = csv.output.split(separator: "\r\n")[0].split(separator: ",")
        #expect(columns.prefix(4) == ["change", "ledger_entry", "run_id", "changed_at"])
        #expect(Set(columns.map(String.init)) == Set(try #require(all.first).keys))
        #expect(try place.run("export", "--changed-since", "20010101T000000Z-000000").status == 64)
        #expect(try place.run("export", "--changed-since", first, "--cursor", "c").status == 64)
    }

    @Test func `goes on behind the last one, and begins again after a restore`() throws {
        let (place, ids) = try place()
        let path = place.folder.url.appendingPathComponent("trueup.sqlite").path
        let whole = try lines(place, "--cursor", "cursor")
        #expect(whole.count == ids.count)
        #expect(whole.allSatisfy { $0["change"] is NSNull })
        #expect(try lines(place, "--cursor", "cursor").isEmpty)
        _ = try correct([ids[3]], in: place)
        // No row is told before the file can say so: a full disk or a folder in the way tells it again.
        try FileManager.default.createDirectory(
            atPath: place.folder.url.appendingPathComponent("taken").path,
            withIntermediateDirectories: true)
        #expect(try place.run("export", "--cursor", "taken").status == 65)
        #expect(self.ids(try lines(place, "--cursor", "cursor")) == [ids[3]])
        #expect(try lines(place, "--cursor", "cursor").isEmpty)

        try DatabaseQueue(path: path).backup(to: DatabaseQueue(path: path + ".backup"))
        _ = try correct([ids[5]], in: place)
        #expect(self.ids(try lines(place, "--cursor", "cursor")) == [ids[5]])
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
        try FileManager.default.moveItem(atPath: path + ".backup", toPath: path)
        let again = try place.run("export", "--cursor", "cursor")
        #expect(again.status == 0)
        #expect(again.output.split(separator: "\r\n").count == ids.count + 1)
        #expect(again.errors.contains("All rows were printed"), "\(again.errors)")
        #expect(try lines(place, "--cursor", "cursor").isEmpty)
        #expect(try place.run("export", "--purchases", "--cursor", "cursor").status == 65)
        try place.folder.write("not one of ours", to: "cursor")
        #expect(try place.run("export", "--cursor", "cursor").status == 65)
    }

    /// A row that a correction inserted and its undo deleted has a key and no values.
    @Test func `names a row that is gone`() throws {
        let (place, ids) = try place()
        // Another row of the customer brings the answer that shows the missing one.
        let pair = try place.stored(
            """
            SELECT a.original_transaction_id FROM subscriptions AS a JOIN subscriptions AS b
                ON a.customer_id = b.customer_id
                    AND a.original_transaction_id <> b.original_transaction_id
            WHERE a.status = 1 ORDER BY a.original_transaction_id LIMIT 1
            """)
        let gone = try #require(pair.first?.first)
        #expect(ids.contains(gone))
        try place.sql("DELETE FROM subscriptions WHERE original_transaction_id = '\(gone)'")
        _ = try correct([], in: place)
        let inserted = try lines(place, "--changed-since", "latest")
        #expect(self.ids(inserted) == [gone])
        #expect(inserted.first?["change"] as? String == "insert")
        try #require(place.run("undo", "latest", "--execute").status == 0)
        let deleted = try lines(place, "--changed-since", "latest")
        #expect(self.ids(deleted) == [gone])
        #expect(deleted.first?["change"] as? String == "delete")
        #expect(deleted.first?["product_id"] is NSNull)
    }
}
