#if MySQL
    import Foundation
    import TestSupport
    import Testing

    /// The examples of `docs/mappings` as they stand there, in MariaDB.
    @Suite(.enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"))
    struct `Each example of a table of the company's own in MySQL` {
        @Test(.timeLimit(.minutes(30)), arguments: ["nightly", "backfill"])
        func `gets what ours gets, and nothing else of it changes`(job: String) throws {
            let server = try OwnMariaDB()
            defer { server.stop() }
            let night = try ExampleNight(job)
            for example in MappingExample.allOfMySQL {
                // A ledger belongs to one database of trueup's.
                let database = example.name.replacingOccurrences(of: "-", with: "_")
                try server.sql("CREATE DATABASE \(database) CHARACTER SET utf8mb4")
                let place = try night.place(for: example, url: server.url(database: database))
                try server.sql(example.sql(night.rows, for: .mysql), in: database)
                let doctor = try place.run("doctor")
                #expect(doctor.output.contains("understood:"), "\(doctor.output)")
                #expect(doctor.output.contains("InnoDB"), "\(doctor.output)")
                try night.compare(example, in: place) {
                    try Self.snapshot(of: example, server, database)
                }
            }
        }

        private static func snapshot(
            of example: MappingExample, _ server: OwnMariaDB, _ database: String
        ) throws -> ExampleNight.Snapshot {
            let names = try server.sql(
                """
                SELECT COLUMN_NAME FROM information_schema.COLUMNS
                WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '\(example.table)'
                ORDER BY ORDINAL_POSITION
                """, in: database
            ).split(separator: "\n").map(String.init)
            // As texts, so that nothing is spelled anew on the way.
            let texts = names.map { name in
                name == "raw" ? "HEX(`raw`)" : "CAST(`\(name)` AS CHAR)"
            }
            let lines = try server.sql(
                "SELECT JSON_ARRAY(\(texts.joined(separator: ", "))) FROM \(example.table)",
                in: database)
            var rows: ExampleNight.Snapshot = [:]
            for line in lines.split(separator: "\n") {
                let values = try JSONDecoder().decode([String?].self, from: Data(line.utf8))
                let row = Dictionary(
                    uniqueKeysWithValues: zip(names, values.map { $0 ?? "NULL" }))
                rows[row[example.identity] ?? ""] = row
            }
            return rows
        }
    }
#endif
