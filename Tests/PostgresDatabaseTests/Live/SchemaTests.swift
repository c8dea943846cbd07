#if PostgreSQL
    import Foundation
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `The schema of a company's database` {
        private func problem(
            _ live: LiveCompany, mayWrite: Bool = true
        ) throws -> String {
            do throws(StoreError) {
                try live.company.check(mayWrite: mayWrite)
                return ""
            } catch {
                #expect(error.exitStatus == .config)
                return error.description
            }
        }

        @Test(arguments: SeedTable.all)
        func `holds the mapping`(table: SeedTable) throws {
            #expect(try problem(try LiveCompany(table)) == "")
        }

        @Test func `is refused where a column has another name or type`() throws {
            let renamed = try LiveCompany(
                preparing: "ALTER TABLE subs RENAME COLUMN expires_at TO ends_at")
            #expect(try problem(renamed).contains("\"expires_at\""))
            let retyped = try LiveCompany(
                preparing: "ALTER TABLE subs ALTER expires_at TYPE bigint USING 0")
            #expect(try problem(retyped).contains("\"expires_at\" is of type bigint"))
            let words = try LiveCompany(
                .statusText,
                preparing: "ALTER TABLE subscriptions ALTER status TYPE integer USING 1")
            #expect(try problem(words).contains("\"status\" is of type integer"))
            let key = try LiveCompany(
                preparing: """
                    ALTER TABLE subs ALTER original_transaction_id TYPE bigint
                        USING original_transaction_id::bigint
                    """)
            #expect(try problem(key).contains("\"original_transaction_id\" is of type bigint"))
            let gone = try LiveCompany(preparing: "ALTER TABLE subs RENAME TO other")
            #expect(try problem(gone).contains("no table or view subs"))
        }

        @Test(arguments: [
            "CREATE TYPE kind AS ENUM ('trialing'); ALTER TABLE subs DROP CONSTRAINT subs_check;"
                + "ALTER TABLE subs ALTER status TYPE kind USING status::kind",
            "CREATE DOMAIN kind AS text; ALTER TABLE subs ALTER status TYPE kind",
            "ALTER TABLE subs ALTER status TYPE varchar(20)",
            "ALTER TABLE subs ALTER product_id TYPE uuid USING gen_random_uuid()",
        ])
        func `may keep texts in types of its own`(change: String) throws {
            #expect(try problem(try LiveCompany(preparing: change)) == "")
        }

        @Test func `is refused to a run that writes where it generates a column`() throws {
            let live = try LiveCompany(
                preparing: """
                    ALTER TABLE subs DROP CONSTRAINT subs_check;
                    ALTER TABLE subs RENAME COLUMN status TO raw;
                    ALTER TABLE subs ADD status text GENERATED ALWAYS AS (raw) STORED
                    """)
            #expect(try problem(live, mayWrite: false) == "")
            #expect(try problem(live).contains("\"status\" is generated"))
        }

        @Test func `is refused to a run that writes where it is a view`() throws {
            let live = try LiveCompany(
                preparing: """
                    ALTER TABLE subs RENAME TO base; CREATE VIEW subs AS SELECT * FROM base
                    """)
            #expect(try problem(live, mayWrite: false) == "")
            #expect(try problem(live).contains("a view"))
        }

        @Test func `is refused where a domain is over a number`() throws {
            let live = try LiveCompany(
                .statusText,
                preparing: """
                    CREATE DOMAIN code AS integer;
                    ALTER TABLE subscriptions ALTER status TYPE code USING 1
                    """)
            #expect(try problem(live).contains("\"status\""))
        }

        @Test func `is refused where a right is missing, and names it`() throws {
            let role = "reader\(Int.random(in: 1...999_999_999))"
            let live = try LiveCompany(
                user: role,
                preparing: """
                    CREATE ROLE \(role) LOGIN;
                    GRANT SELECT ON subs TO \(role); GRANT UPDATE (status) ON subs TO \(role)
                    """)
            #expect(try problem(live, mayWrite: false) == "")
            let text = try problem(live)
            #expect(text.contains("GRANT UPDATE (\"expires_at\""))
            #expect(!text.contains("\"status\""))
            #expect(!text.contains("\"note\""))
        }

        @Test func `may be as docs/postgresql.md grants it, and no more is asked for`() throws {
            let role = "page\(Int.random(in: 1...999_999_999))"
            let live = try LiveCompany(
                .statusText, user: role, preparing: try Self.grantsOfThePage(to: role))
            #expect(try live.company.obstacleToLedger() == nil)
            #expect(try problem(live) == "")
            #expect(try problem(live) == "")
            let row = try #require(try live.company.row(LiveCompany.key(1)))
            try live.company.begin()
            let time = FieldValue.time(Timestamp(unixMilliseconds: 1_796_119_200_000))
            let fate = try live.company.write(
                CompanyChange(
                    action: .update, key: row.key,
                    before: row.values.filter { $0.key != .customerID },
                    after: [
                        .status: .integer(2), .productID: .text("other"), .expiresDate: time,
                    ]))
            #expect(fate == .applied(version: nil))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
        }

        /// The SQL of the page, for another role.
        private static func grantsOfThePage(to role: String) throws -> String {
            // …/Tests/PostgresDatabaseTests/Live/SchemaTests.swift
            var root = URL(fileURLWithPath: #filePath)
            for _ in 0..<4 { root.deleteLastPathComponent() }
            let page = try String(
                contentsOf: root.appendingPathComponent("docs/postgresql.md"), encoding: .utf8)
            let block = try #require(page.components(separatedBy: "```sql\n").dropFirst().first)
            let sql = try #require(block.components(separatedBy: "```").first)
            return ["ROLE ", "AUTHORIZATION ", "TO "].reduce(sql) { sql, word in
                sql.replacing(word + "trueup", with: word + role)
            }
        }

        @Test func `without a place for our ledger is refused, and the right is named`() throws {
            let role = "guest\(Int.random(in: 1...999_999_999))"
            let live = try LiveCompany(
                user: role,
                preparing: """
                    CREATE ROLE \(role) LOGIN;
                    GRANT SELECT, UPDATE ON subs TO \(role)
                    """)
            #expect(try problem(live, mayWrite: false) == "")
            #expect(try live.company.obstacleToLedger()?.contains("CREATE SCHEMA") == true)
            #expect(try problem(live).contains("CREATE SCHEMA trueup AUTHORIZATION \"\(role)\""))
            _ = try live.service.script("CREATE SCHEMA trueup")
            #expect(try problem(live).contains("GRANT USAGE, CREATE ON SCHEMA trueup"))
            _ = try live.service.script("GRANT USAGE, CREATE ON SCHEMA trueup TO \(role)")
            #expect(try problem(live) == "")
        }

        @Test func `is asked for INSERT of each column, only where rows may be inserted`() throws {
            let role = "inserter\(Int.random(in: 1...999_999_999))"
            var table = SeedTable.statusText
            table.mapping.inserts = [:]
            let live = try LiveCompany(
                table, user: role,
                preparing: try Self.grantsOfThePage(to: role)
                    + "GRANT INSERT (status, product_id) ON subscriptions TO \(role)")
            #expect(
                try problem(live).contains(
                    #"GRANT INSERT ("expires_at", "original_transaction_id", "user_id")"#))
        }

        @Test func `gets trueup's schema, in steps that are done once`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            try live.company.check(mayWrite: true)
            #expect(
                try live.text("SELECT string_agg(number::text, ',') FROM trueup.migrations")
                    == "1,2,3,4,5,6")
            _ = try live.service.script("INSERT INTO trueup.migrations (number) VALUES (99)")
            #expect(try problem(live).contains("version 99"))
        }

        @Test func `is not taken for a lost one while another worker makes it`() throws {
            let live = try LiveCompany()
            let address = try PostgresAddress(url: TestServer.url(database: live.database))
            let overtaken = PostgresCompany(
                PostgresConnector(address) { () throws(ServerFailure) in
                    OvertakenSession(try LibpqSession(address)) {
                        try? live.company.check(mayWrite: true)
                    }
                },
                mapping: live.table.mapping, books: "books")
            try overtaken.check(mayWrite: true)
            #expect(try live.text("SELECT count(*)::text FROM trueup.migrations") == "6")
        }

        @Test func `says what to do where the version of trueup's schema is unknown`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            _ = try live.service.script("DELETE FROM trueup.migrations")
            #expect(try problem(live).contains("trueup.migrations lists no step"))
            #expect(try live.company.obstacleToLedger()?.contains("6 leases.place") == true)
            _ = try live.service.script(
                "INSERT INTO trueup.migrations (number) VALUES (1), (2), (3), (4), (5), (6)")
            try live.company.check(mayWrite: true)
        }

        @Test(arguments: [
            ("leases", "trueup.leases, trueup.leases.place are missing", "(2, 6)"),
            ("refusals", "trueup.refusals is missing", "(5)"),
        ])
        func `says how dropped tables of trueup's are made again`(
            table: String, words: String, steps: String
        ) throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            _ = try live.service.script("DROP TABLE trueup.\(table)")
            #expect(try live.company.obstacleToLedger()?.contains(words) == true)
            let found = try problem(live)
            #expect(found.contains(words), "\(found)")
            let statement = "DELETE FROM trueup.migrations WHERE number IN \(steps)"
            #expect(found.contains(statement), "\(found)")
            _ = try live.service.script(statement)
            try live.company.check(mayWrite: true)
            #expect(try live.text("SELECT to_regclass('trueup.\(table)')") != nil)
        }

        /// Who maps a part of a table misses the rows of the others.
        @Test func `is proposed without the parts of a table`() throws {
            let live = try LiveCompany(
                preparing: """
                    CREATE TABLE parted (otid text, ends date) PARTITION BY RANGE (ends);
                    CREATE TABLE a_part PARTITION OF parted DEFAULT;
                    CREATE TABLE archive () INHERITS (subs)
                    """)
            let address = try PostgresAddress(url: TestServer.url(database: live.database))
            let proposed = try SharedSession(.libpq(address)).tables().map(\.name.description)
            #expect(proposed == ["public.parted", "public.subs"])
            #expect(
                try live.company.tables().map(\.name.name)
                    == ["a_part", "archive", "parted", "subs"])
        }

        @Test func `is described, without ours`() throws {
            let live = try LiveCompany(
                .perTransaction, preparing: "CREATE VIEW seen AS SELECT 1 AS one")
            try live.company.check(mayWrite: true)
            let tables = try live.company.tables()
            #expect(tables.map(\.name.description) == ["billing.Purchases", "public.seen"])
            let table = try #require(tables.first)
            #expect(!table.isView)
            #expect(table.primaryKey == ["transactionId"])
            #expect(table.indexes.map(\.columns) == [["originalId"]])
            #expect(table.column("expiresAt")?.type == "timestamp(3) without time zone")
            #expect(table.column("expiresAt")?.isNullable == true)
            #expect(table.rights.maySelect && table.rights.insertable.contains("sku"))
            #expect(table.rights.updatable.contains("sku"))
            #expect(tables.last?.isView == true)
        }
    }

    /// Lets another worker make the schema between two of its questions about it.
    private final class OvertakenSession: ServerSession {
        private let session: LibpqSession
        private let overtake: @Sendable () -> Void

        init(_ session: LibpqSession, overtake: @escaping @Sendable () -> Void) {
            self.session = session
            self.overtake = overtake
        }

        func run(_ sql: String, _ parameters: [String?]) throws(ServerFailure) -> ServerRows {
            if sql.contains("to_regclass('trueup.ledger')") { overtake() }
            return try session.run(sql, parameters)
        }

        func script(_ sql: String) throws(ServerFailure) -> ServerRows { try session.script(sql) }
    }
#endif
