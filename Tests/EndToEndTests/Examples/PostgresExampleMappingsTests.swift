#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// The examples of `docs/mappings` as they stand there, on a server.
    @Suite(.enabled(if: OwnServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `Each example of a table of the company's own in PostgreSQL` {
        @Test(.timeLimit(.minutes(30)), arguments: ["nightly", "backfill"])
        func `gets what ours gets, and nothing else of it changes`(job: String) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let night = try ExampleNight(job)
            for example in MappingExample.all {
                let books = job == "nightly" ? "sqlite:trueup.sqlite" : "postgres:\(example.name)"
                let place = try night.place(for: example, url: server.url, books: "books: \(books)")
                // Longer than one argument of a process may be. The user is called as our schema is, which
                // a run before has made and which would be the first of its search path.
                let seed = try example.sql(night.rows, for: .postgresql)
                try place.folder.write("SET search_path TO public;\n" + seed, to: "seed.sql")
                try server.sql("\\i \(place.folder.url.appendingPathComponent("seed.sql").path)")
                let doctor = try place.run("doctor")
                #expect(doctor.output.contains("understood:"), "\(doctor.output)")
                try night.compare(example, in: place) { try Self.snapshot(of: example, server) }
            }
        }

        private static func snapshot(
            of example: MappingExample, _ server: OwnServer
        ) throws -> ExampleNight.Snapshot {
            let names = try server.sql(
                """
                SELECT column_name FROM information_schema.columns
                WHERE table_name = '\(example.table)' ORDER BY ordinal_position
                """
            ).split(separator: "\n").map(String.init)
            // As texts, so that nothing is spelled anew on the way.
            let texts = names.map { "\"\($0)\"::text" }.joined(separator: ", ")
            let lines = try server.sql("SELECT json_build_array(\(texts)) FROM \(example.table)")
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
