import Foundation
import GRDB
import TestSupport
import Testing

/// The examples of `docs/mappings` as they stand there, on SQLite.
@Suite struct `Each example of a table of the company's own` {
    @Test(.timeLimit(.minutes(30)), arguments: ["nightly", "backfill"])
    func `gets what ours gets, and nothing else of it changes`(job: String) throws {
        let night = try ExampleNight(job)
        for example in MappingExample.all {
            let place = try night.place(for: example, url: "sqlite:shop.sqlite")
            let path = place.folder.url.appendingPathComponent("shop.sqlite").path
            let shop = try DatabaseQueue(path: path)
            try shop.write { try $0.execute(sql: example.sql(night.rows, for: .sqlite)) }
            let doctor = try place.run("doctor")
            #expect(doctor.output.contains("understood:"), "\(doctor.output)")
            try night.compare(example, in: place) {
                try shop.read { try Self.snapshot(of: example, $0) }
            }
        }
    }

    private static func snapshot(
        of example: MappingExample, _ db: Database
    ) throws -> ExampleNight.Snapshot {
        var rows: ExampleNight.Snapshot = [:]
        for row in try Row.fetchAll(db, sql: "SELECT * FROM \(example.table)") {
            var values: [String: String] = [:]
            for (name, value) in row { values[name] = "\(value.storage)" }
            values[example.original] = plain(row[example.original])
            rows[plain(row[example.identity])] = values
        }
        return rows
    }

    private static func plain(_ value: DatabaseValue) -> String {
        value.storage.value.map { "\($0)" } ?? ""
    }
}
