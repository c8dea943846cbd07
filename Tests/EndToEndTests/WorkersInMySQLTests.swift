#if MySQL
    import Foundation
    import GRDB
    import TestSupport
    import Testing

    /// Two workers, each with an app and a database of its own, on one table in MariaDB.
    @Suite(
        .enabled(if: OwnMariaDB.isInstalled, "needs a MariaDB server (apt: mariadb-server)"),
        .timeLimit(.minutes(10)))
    struct `Workers on one table in MySQL` {
        /// The row of its app at which one of them is killed, counted as it writes.
        enum Moment: Int, CaseIterable {
            /// In the middle of its first unit, which its server then gives up.
            case unit = 12
            /// After the first unit of several.
            case commit = 110
        }

        @Test func `leave what undisturbed ones leave, when one is killed`() throws {
            let night = try WorkerNight(customers: 300)
            defer { night.server.stop() }
            let undisturbed = try night.run { _, _ in }
            try #require(undisturbed.ledgers.allSatisfy { $0.count > Moment.commit.rawValue })
            for moment in Moment.allCases {
                let disturbed = try night.run(sleepingAt: moment.rawValue) { places, running in
                    let session = try night.server.sessionAsleep()
                    let committed = try night.committed()
                    #expect(committed > 0 || moment == .unit, "\(committed)")
                    #expect(committed == 0 || moment == .commit, "\(committed)")
                    running[0].send(signal: SIGKILL)
                    #expect(running[0].wait().status == 137)
                    try night.server.sql("KILL \(session); DROP TRIGGER asleep")
                    try refuseOthers(night, places[0])
                    let again = try places[0].run(night.command(0))
                    #expect(again.status == 0, "\(moment): \(again.output)\(again.errors)")
                }
                #expect(disturbed.rows == undisturbed.rows, "\(moment)")
                #expect(disturbed.books == undisturbed.books, "\(moment)")
                #expect(disturbed.ledgers.map(\.count) == undisturbed.ledgers.map(\.count))
            }
        }

        /// The lease of a killed run is in the way of every other database of trueup's.
        private func refuseOthers(_ night: WorkerNight, _ killed: PreparedPlace) throws {
            let newcomer = try night.worker("newcomer")
            defer { newcomer.remove() }
            let held = try newcomer.run(night.command(0))
            #expect(held.status == 75, "\(held.output)\(held.errors)")
            #expect(held.errors.contains("is held by"), "\(held.errors)")
            let copy = try killed.copy()
            defer { copy.remove() }
            let copied = try copy.run(night.command(0))
            #expect(copied.status == 75, "\(copied.output)\(copied.errors)")
            #expect(copied.errors.contains("is a copy of it"), "\(copied.errors)")
        }

        @Test func `see each other's runs and book their calls together`() throws {
            let night = try WorkerNight(customers: 40)
            defer { night.server.stop() }
            _ = try night.run { places, running in
                #expect(running.map { $0.wait().status } == [0, 0])
                let status = try places[0].run(["status", "--json"])
                let members = try JSONSerialization.jsonObject(with: Data(status.output.utf8))
                let others = (members as? [String: Any])?["other_workers"] as? [[String: Any]]
                #expect(others?.count == 1, "\(status.output)")
                let runs = try night.server.sql(
                    "SELECT exit_status, apps FROM trueup_runs ORDER BY apps")
                #expect(runs == "0\tcom.example.one/production\n0\tcom.example.two/production")
                let calls = try night.server.sql(
                    """
                    SELECT bundle_id, SUM(calls) > 10 FROM trueup_calls GROUP BY 1 ORDER BY 1
                    """)
                #expect(calls == "com.example.one\t1\ncom.example.two\t1")
            }
        }
    }

    /// A night of two workers, which can be put back to its beginning.
    private struct WorkerNight {
        /// The things that must not depend on a disturbance.
        struct Outcome {
            var rows: [String]
            /// Number and digest of each worker's entries, as the server has them.
            var ledgers: [[String]]
            /// The rows and kinds of each worker's corrections.
            var books: [[String]]
        }

        let server: OwnMariaDB
        private let stores: [RunningSimulator]
        private let seed: String
        private static let apps = ["com.example.one", "com.example.two"]

        init(customers: Int) throws {
            server = try OwnMariaDB()
            let folder = try TemporaryFolder()
            stores = try Self.apps.enumerated().map { index, app in
                let catalogue = try folder.write(
                    """
                    bundle_id: \(app)
                    app_apple_id: \(1_000_000_001 + index)
                    storefronts:
                      - {country: USA, id: "143441", currency: USD}
                    groups:
                      - id: "21500001"
                        products:
                          - {id: \(app).plus, level: 1, period: P1M, prices: {USA: 9.99}}
                          - {id: \(app).basic, level: 2, period: P1M, prices: {USA: 1.99}}

                    """, to: "app\(index).yaml")
                return try RunningSimulator([
                    "--catalogue", catalogue, "--customers", "\(2 * customers)", "--seed",
                    "\(index + 1)", "--drift", "0.6", "--drift-kinds",
                    "access_missing,access_unpaid,status,expiry,product",
                ])
            }
            // Each store counts its ids from the same number: the company has other customers of each.
            let rows = try stores.enumerated().flatMap { index, store in
                try SeedRow.all(of: #require(store.ready.tableFile), isBare: false)
                    .filter { $0.customer % 2 == index && $0["environment"] == "Production" }
            }
            let values = rows.map { row in
                let texts = ["bundle_id", "environment", "original_transaction_id", "product_id"]
                    .map { "'\(row[$0])'" }
                let numbers = [row.known("status"), row.expires().map { "\($0)" }]
                    .map { $0 ?? "NULL" }
                return "(" + (texts + numbers).joined(separator: ", ") + ", 0)"
            }
            seed = """
                DROP DATABASE shop; CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;
                CREATE TABLE subs (bundle_id VARCHAR(60), environment VARCHAR(20),
                    original_transaction_id VARCHAR(40), product_id VARCHAR(60), status INT,
                    expires_date BIGINT, version INT NOT NULL,
                    PRIMARY KEY (bundle_id, environment, original_transaction_id));
                INSERT INTO subs VALUES \(values.joined(separator: ",\n"));
                """
        }

        func command(_ worker: Int) -> [String] {
            ["run", "nightly", "--app", Self.apps[worker] + "/production"]
        }

        /// A folder with settings and a database of its own.
        func worker(_ name: String) throws -> PreparedPlace {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("trueup-\(name)-\(UUID().uuidString)")
            let jobs = folder.appendingPathComponent("jobs")
            try FileManager.default.createDirectory(at: jobs, withIntermediateDirectories: true)
            let columns = [
                "bundle_id", "environment", "original_transaction_id", "product_id", "status",
            ].map { "      \($0): \($0)\n" }.joined()
            try
                ("apps:\n" + stores.map { $0.appYAML() }.joined() + """
                    store:
                      url: \(server.url())
                      subscriptions:
                        table: subs
                        columns:
                    \(columns)      expires_date: {column: expires_date, form: milliseconds}
                        version: version
                    report:
                      directory: reports

                    """).write(
                    to: folder.appendingPathComponent("trueup.yaml"), atomically: true,
                    encoding: .utf8)
            try """
            steps: [walk]
            mode: apply
            coverage: full
            settle: 0s
            fail_on: none
            guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1, \
            max_same_direction_share: 1, max_excluded_share: 1}

            """.write(
                to: jobs.appendingPathComponent("nightly.yaml"), atomically: true, encoding: .utf8)
            let place = PreparedPlace(folder: folder)
            let made = try place.run(["init"])
            try #require(made.status == 0, "\(made.errors)")
            return place
        }

        /// Lets both work from the beginning, and one of them be disturbed: its session sleeps in the
        /// row with that number of those that it writes.
        func run(
            sleepingAt row: Int? = nil,
            _ disturb: ([PreparedPlace], [BuiltExecutable.Running]) throws -> Void
        ) throws -> Outcome {
            try server.sql(seed, in: "mysql")
            if let row {
                try server.sql(
                    """
                    CREATE TRIGGER asleep AFTER UPDATE ON subs FOR EACH ROW
                        SET @written = IFNULL(@written, 0) + (NEW.bundle_id = '\(Self.apps[0])'),
                            @slept = IF(@written = \(row), SLEEP(600), 0)
                    """)
            }
            let places = try Self.apps.map { try worker($0) }
            defer { for place in places { place.remove() } }
            let running = try places.enumerated().map { index, place in
                try BuiltExecutable("trueup").start(command(index), in: place.folder)
            }
            try disturb(places, running)
            for (index, running) in running.enumerated() {
                let ended = running.wait()
                #expect(
                    [0, 137].contains(ended.status), "\(index): \(ended.output)\(ended.errors)")
            }
            for place in places {
                let verified = try place.run(["verify", "--database"])
                #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
            }
            return try outcome(of: places)
        }

        private func outcome(of places: [PreparedPlace]) throws -> Outcome {
            let rows = try server.sql("SELECT * FROM subs ORDER BY 1, 2, 3")
            var outcome = Outcome(
                rows: rows.split(separator: "\n").map(String.init), ledgers: [], books: [])
            for place in places {
                let path = place.folder.appendingPathComponent("trueup.sqlite").path
                let database = try DatabaseQueue(path: path)
                let (identity, here, corrections) = try database.read { db in
                    (
                        try String.fetchOne(db, sql: "SELECT id FROM trueup_database") ?? "",
                        try MappedState.lines(
                            db, "SELECT entry, hash FROM trueup_ledger ORDER BY entry"),
                        try MappedState.lines(
                            db,
                            """
                            SELECT original_transaction_id, kinds FROM trueup_ledger ORDER BY 1, 2
                            """)
                    )
                }
                let there = try server.sql(
                    """
                    SELECT CONCAT(entry, '|', digest) FROM trueup_corrections
                    WHERE books = '\(identity)' ORDER BY entry
                    """
                ).split(separator: "\n").map(String.init)
                #expect(there == here)
                outcome.ledgers.append(there)
                outcome.books.append(corrections)
            }
            // Each entry is one write to one row, and nobody else wrote.
            let writes = try server.sql("SELECT SUM(version) FROM subs")
            let entries = try server.sql("SELECT count(*) FROM trueup_corrections")
            #expect(writes == entries)
            #expect(Int(entries) == outcome.ledgers.map(\.count).reduce(0, +))
            return outcome
        }

        /// How many entries of the first worker's ledger its server has committed.
        func committed() throws -> Int {
            guard try server.sql("SHOW TABLES LIKE 'trueup_corrections'") != "" else { return 0 }
            let count = try server.sql(
                "SELECT count(*) FROM trueup_corrections WHERE content LIKE '%\(Self.apps[0])%'")
            return try #require(Int(count))
        }
    }
#endif
