#if PostgreSQL
    import Foundation
    import GRDB
    import TestSupport
    import Testing

    /// Nights whose books stand in PostgreSQL, worked on by one machine or by several.
    @Suite(.enabled(if: OwnServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `Nights with books in PostgreSQL` {
        private let server: OwnServer
        private let simulator: RunningSimulator
        private let mapping: String
        private static let times: Set = [
            "expires_date", "grace_period_expires_date", "revocation_date", "signed_date",
        ]

        init() throws {
            server = try OwnServer()
            simulator = try RunningSimulator([
                "--customers", "120", "--drift", "0.2", "--seed", "7",
            ])
            let file = try #require(simulator.ready.tableFile)
            let header = try String(contentsOfFile: file, encoding: .utf8).prefix { !$0.isNewline }
            let columns = header.split(separator: ",").map(String.init)
            let declared = columns.map { name in
                name + (Self.times.contains(name) ? " timestamptz" : " text")
            }
            for table in ["one", "two"] {
                try server.sql(
                    """
                    CREATE TABLE \(table) (\(declared.joined(separator: ", ")),
                        PRIMARY KEY (bundle_id, environment, original_transaction_id))
                    """)
                try server.sql("\\copy \(table) FROM '\(file)' CSV HEADER")
                for column in ["status", "auto_renew_status"] {
                    try server.sql(
                        "ALTER TABLE \(table) ALTER \(column) TYPE smallint USING \(column)::smallint"
                    )
                }
            }
            mapping = columns.map { name in
                Self.times.contains(name)
                    ? "\(name): {column: \(name), form: timestamptz}" : "\(name): \(name)"
            }.joined(separator: ", ")
        }

        /// A machine with settings; nothing else is there.
        private func machine(
            _ books: String, table: String = "one", reports: String = "reports", rate: Int = 5000
        ) throws -> Workplace {
            let place = try Workplace(on: simulator)
            let app = simulator.appYAML().replacingOccurrences(
                of: "requests_per_second: 5000", with: "requests_per_second: \(rate)")
            try place.folder.write(
                "apps:\n" + app + """
                    store:
                      url: \(server.url)
                      \(books)
                      subscriptions:
                        table: \(table)
                        columns: {\(mapping)}
                    report:
                      directory: \(reports)

                    """, to: "trueup.yaml")
            return place
        }

        /// Without the time of Apple's word, which is that of the question.
        private func all(_ table: String) throws -> String {
            try server.sql(
                """
                SELECT to_jsonb(s) - 'signed_date' FROM \(table) AS s
                ORDER BY original_transaction_id COLLATE "C"
                """)
        }

        /// All rows of the books as the server has them: those of a copy that is made now.
        private func booksOnServer() throws -> [String: [String]] {
            let place = try machine("copy: trueup.sqlite")
            let status = try place.run("status")
            try #require(status.status == 0, "\(status.errors)")
            return try rows(place)
        }

        private func rows(_ place: Workplace) throws -> [String: [String]] {
            let path = place.folder.url.appendingPathComponent("trueup.sqlite").path
            return try DatabaseQueue(path: path).read { db in
                let tables = try String.fetchAll(
                    db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
                var rows: [String: [String]] = [:]
                // What a reading of the company's table writes anew.
                for table in tables where !table.hasPrefix("trueup_company_") {
                    rows[table] = try Row.fetchAll(db, sql: "SELECT * FROM \(table)")
                        .map(\.description).sorted()
                }
                return rows
            }
        }

        @Test(.timeLimit(.minutes(30)))
        func `correct what books in a file correct, and another machine goes on`() throws {
            defer { server.stop() }
            let reports = try TemporaryFolder()
            let alone = try machine("books: sqlite:trueup.sqlite", table: "two")
            let first = try machine("copy: trueup.sqlite", reports: reports.url.path)
            for place in [alone, first] { try #require(place.run("init").status == 0) }
            let own = try alone.run("run", "nightly")
            let night = try first.run("run", "nightly")
            #expect(night.status == own.status, "\(night.errors)\n\(night.output)")
            #expect(try all("one") == all("two"))
            #expect(try server.sql("SELECT count(*) FROM trueup.books_ledger") != "0")
            #expect(
                try server.sql("SELECT count(*) FROM trueup.books_ledger")
                    == server.sql(
                        "SELECT count(*) FROM trueup.ledger WHERE books = (SELECT identity FROM trueup.books)"
                    ))
            #expect(try booksOnServer() == rows(first))

            // The other machine has nothing but the settings and the folder of reports.
            let second = try machine("copy: trueup.sqlite", reports: reports.url.path)
            let again = try second.run("run", "nightly")
            #expect([0, 2].contains(again.status), "\(again.errors)\n\(again.output)")
            #expect(try all("one") == all("two"))
            let audit = try second.run("verify")
            #expect(audit.status == 0, "\(audit.output)")
            let status = try first.run("status")
            #expect(status.status == 0, "\(status.errors)")
            #expect(try rows(first) == rows(second))
        }

        @Test(.timeLimit(.minutes(30)))
        func `count the reading of books into a new copy for max_duration`() throws {
            defer { server.stop() }
            let first = try machine("copy: trueup.sqlite")
            try #require(first.run("init").status == 0)
            try server.sql(
                """
                INSERT INTO trueup.books_subscriptions
                    (books, bundle_id, environment, original_transaction_id, row_version)
                SELECT number, 'com.example.many', 'Production', i::text, 1
                FROM trueup.books, generate_series(1, 300000) AS i
                """)
            let second = try machine("copy: trueup.sqlite")
            try second.writeJob("nightly")
            let begun = ContinuousClock.now
            let stopped = try second.run("check", "nightly", "--max-duration", "1s")
            #expect(stopped.status == 3, "\(stopped.errors)\(stopped.output)")
            #expect(stopped.errors.contains("max_duration ended while the run read the database"))
            #expect(begun.duration(to: .now) < .seconds(60))
            #expect(
                !FileManager.default.fileExists(
                    atPath: second.folder.url.appendingPathComponent("trueup.sqlite").path))
        }

        @Test(.timeLimit(.minutes(30)))
        func `end as undisturbed ones where runs are killed and copies are lost`() throws {
            defer { server.stop() }
            let alone = try machine("books: sqlite:trueup.sqlite", table: "two")
            let place = try machine("copy: trueup.sqlite", rate: 60)
            for each in [alone, place] { try #require(each.run("init").status == 0) }
            _ = try alone.run("run", "nightly")
            for milliseconds in [300, 700, 1100, 1500, 900, 500] {
                let run = try place.start("run", "nightly")
                Thread.sleep(forTimeInterval: Double(milliseconds) / 1000)
                kill(run.process.processIdentifier, SIGKILL)
                _ = run.wait()
                guard milliseconds > 800 else { continue }
                for suffix in ["", "-wal", "-shm"] {
                    try? FileManager.default.removeItem(
                        at: place.folder.url.appendingPathComponent("trueup.sqlite" + suffix))
                }
            }
            let night = try place.run("run", "nightly")
            #expect([0, 2].contains(night.status), "\(night.errors)\n\(night.output)")
            #expect(try all("one") == all("two"))
            #expect(try booksOnServer() == rows(place))
            let entries = "SELECT count(*) FROM trueup.ledger WHERE books"
            #expect(
                try server.sql(entries + " = (SELECT identity FROM trueup.books)")
                    == server.sql(entries + " <> (SELECT identity FROM trueup.books)"))
            let audit = try place.run("verify")
            #expect(audit.status == 0, "\(audit.output)")
        }

        @Test(.timeLimit(.minutes(30)))
        func `are copied whole or not at all where the disk fills`() throws {
            defer { server.stop() }
            let place = try machine("copy: trueup.sqlite")
            try #require(place.run("init").status == 0)
            _ = try place.run("run", "nightly")
            let books = try rows(place)
            let steps = try DurableSteps()
            let folder = place.folder.url
            let copy = folder.appendingPathComponent("trueup.sqlite")
            try FileManager.default.removeItem(at: copy)
            let (count, _) = try steps.count(
                .write, at: "trueup.sqlite", of: ["status"], in: folder)
            var refusals = 0
            for step in stride(from: 1, through: count, by: max(1, count / 6)) {
                try FileManager.default.removeItem(at: copy)
                let full = try steps.withFullDisk(from: step, ["status"], in: folder)
                // How many writes there are differs a little from time to time.
                #expect(
                    [0, 73, 74].contains(full.status), "step \(step) of \(count): \(full.errors)")
                refusals += full.status == 0 ? 0 : 1
                let status = try place.run("status")
                #expect(status.status == 0, "step \(step) of \(count): \(status.errors)")
                #expect(try rows(place) == books)
            }
            #expect(refusals >= 4)
        }

        @Test(.timeLimit(.minutes(30)))
        func `are written by one machine at a time, and moved from a file`() throws {
            defer { server.stop() }
            let place = try machine("books: sqlite:trueup.sqlite")
            try #require(place.run("init").status == 0)
            _ = try place.run("run", "nightly")
            let before = try place.run("status").output
            let settings = try place.folder.text("trueup.yaml")
            try place.folder.write(
                settings.replacingOccurrences(
                    of: "books: sqlite:trueup.sqlite", with: "copy: trueup.sqlite"),
                to: "trueup.yaml")
            let missing = try place.run("status")
            #expect(
                missing.status == 69 && missing.errors.contains("trueup init"), "\(missing.errors)")
            let moved = try place.run("init")
            #expect(moved.status == 0 && moved.output.contains("books main"), "\(moved.output)")
            #expect(
                try place.run("status").output.contains("Coverage") && before.contains("Coverage"))
            #expect(try booksOnServer() == rows(place))

            try server.sql(
                """
                INSERT INTO trueup.books_holders
                VALUES ('main', 'ops@elsewhere', 'elsewhere', now(), now() + interval '1 hour')
                ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, place = excluded.place,
                    expires_at = excluded.expires_at
                """)
            let refused = try place.run("run", "nightly")
            #expect(refused.status == 75, "\(refused.errors)")
            #expect(refused.errors.contains("ops@elsewhere"), "\(refused.errors)")

            // One that was not heard of, and stands still with the report folder: it keeps the books.
            try server.sql("UPDATE trueup.books_holders SET expires_at = now() - interval '1 hour'")
            let lock = unsafe open(place.folder.url.path + "/reports/.lock", O_RDWR | O_CLOEXEC)
            try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
            #expect(try place.run("run", "nightly").status == 75)
            #expect(try server.sql("SELECT holder FROM trueup.books_holders") == "ops@elsewhere")
            close(lock)
            try server.sql("DELETE FROM trueup.books_holders")

            // Back in the file, and written there: no copy any more.
            try place.folder.write(settings, to: "trueup.yaml")
            _ = try place.run("run", "nightly")
            try place.folder.write(
                settings.replacingOccurrences(
                    of: "books: sqlite:trueup.sqlite", with: "copy: trueup.sqlite"),
                to: "trueup.yaml")
            let own = try rows(place)
            #expect(try place.run("run", "nightly").status == 78)
            #expect(try rows(place) == own)
        }

        @Test(.timeLimit(.minutes(30)))
        func `are read and taken away by the SQL of docs/postgresql.md`() throws {
            defer { server.stop() }
            let place = try machine("copy: trueup.sqlite")
            try #require(place.run("init").status == 0)
            _ = try place.run("run", "nightly")
            let found = try server.sql(statement(with: "FROM trueup.books_findings"))
            let status = try place.run("status", "--json").output
            let open = try #require(status.firstMatch(of: /"open_findings"\s*:\s*(\[[^\]]*\])/)).1
            let counts = open.matches(of: /"findings"\s*:\s*(\d+)/).compactMap { Int($0.1) }
            #expect(!counts.isEmpty)
            #expect(found.split(separator: "\n").count == counts.reduce(0, +))
            try server.sql(statement(with: "DO $$"))
            #expect(try server.sql("SELECT count(*) FROM trueup.books_evidence") == "0")
            #expect(try server.sql("SELECT count(*) FROM trueup.books") == "0")
            #expect(try place.run("status").status == 69)
        }

        private func statement(with words: String) throws -> String {
            // …/Tests/EndToEndTests/BooksInPostgresTests.swift
            var root = URL(fileURLWithPath: #filePath)
            for _ in 0..<3 { root.deleteLastPathComponent() }
            let page = try String(
                contentsOf: root.appendingPathComponent("docs/postgresql.md"), encoding: .utf8)
            let blocks = page.components(separatedBy: "```sql\n").dropFirst()
                .compactMap { $0.components(separatedBy: "```").first }
            return try #require(blocks.first { $0.contains(words) })
        }
    }
#endif
