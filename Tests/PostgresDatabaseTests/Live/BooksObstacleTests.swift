#if PostgreSQL
    import PostgresDatabase
    import Subscriptions
    import TestSupport
    import Testing

    /// What a database may be like, and what may have been done to it, before a run begins.
    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `A database for books` {
        private let database: String

        init() throws { database = try TestServer.makeDatabase() }

        private func books(user: String = "trueup", of database: String? = nil) throws
            -> PostgresBooks
        {
            let url = TestServer.url(database: database ?? self.database, user: user)
            return PostgresBooks(
                try .libpq(PostgresAddress(url: url)), name: "main", holder: "test",
                machine: "one")
        }

        private func sql(_ text: String) throws {
            _ = try TestServer.session(database: database).script(text)
        }

        private func placed() throws -> (books: PostgresBooks, state: BooksState) {
            let books = try books()
            try books.claim()
            let state = try books.begin(identity: "id", schema: 33)
            try books.conclude(state)
            return (books, state)
        }

        @Test func `has nothing against them before and after they are made`() throws {
            #expect(try self.books().obstacle(mayWrite: true) == nil)
            _ = try placed()
            #expect(try self.books().obstacle(mayWrite: true) == nil)
        }

        @Test(arguments: [
            ("INSERT INTO trueup.books_migrations VALUES (99)", "use the newer version"),
            ("DROP TABLE trueup.books_checks", "trueup.books_checks is gone"),
            ("DROP TABLE trueup.books_holders", "trueup.books_holders is gone"),
        ])
        func `that was changed is refused before anything is read`(
            change: String, words: String
        ) throws {
            _ = try placed()
            try sql(change)
            let obstacle = try #require(try self.books().obstacle(mayWrite: true))
            #expect(obstacle.contains(words))
            let error = #expect(throws: StoreError.self) { try books().claim() }
            #expect(error?.exitStatus == .config && error?.description.contains(words) == true)
        }

        @Test func `names the rights that are missing, and how they are given`() throws {
            _ = try placed()
            let role = "reader_of_\(database)"
            try sql(
                """
                CREATE ROLE \(role) LOGIN; GRANT USAGE, CREATE ON SCHEMA trueup TO \(role);
                GRANT SELECT ON ALL TABLES IN SCHEMA trueup TO \(role)
                """)
            #expect(try self.books(user: role).obstacle(mayWrite: false) == nil)
            let obstacle = try #require(try self.books(user: role).obstacle(mayWrite: true))
            #expect(
                obstacle.contains("lacks DELETE, INSERT, UPDATE on trueup.books "), "\(obstacle)")
            let grant = try #require(obstacle.firstMatch(of: /\((GRANT .*)\)/)).1
            try sql(String(grant))
            #expect(try self.books(user: role).obstacle(mayWrite: true) == nil)
        }

        @Test func `with a narrow encoding is refused`() throws {
            let narrow = database + "_latin1"
            try sql(
                """
                CREATE DATABASE \(narrow) TEMPLATE template0 ENCODING 'LATIN1'
                LC_COLLATE 'C' LC_CTYPE 'C'
                """)
            let error = #expect(throws: StoreError.self) { try books(of: narrow).claim() }
            #expect(error?.exitStatus == .config, "\(String(describing: error))")
            #expect(error?.description.contains("sqlite:FILE") == true)
            #expect(try self.books(of: narrow).state() == nil)
        }

        /// Ways in which a database or a user may want values written.
        @Test func `is read alike whatever it is set to`() throws {
            let header = BooksTable(
                name: "trueup_evidence_headers",
                columns: [
                    BooksColumn(name: "header_id", form: .integer),
                    BooksColumn(name: "digest", form: .text),
                    BooksColumn(name: "segment", form: .blob),
                ], key: ["header_id"])
            let rate = BooksTable(
                name: "trueup_quota_refusals",
                columns: [
                    BooksColumn(name: "bundle_id", form: .text),
                    BooksColumn(name: "environment", form: .text),
                    BooksColumn(name: "endpoint", form: .text),
                    BooksColumn(name: "resumes_at", form: .integer),
                    BooksColumn(name: "rate_share", form: .real),
                ], key: ["bundle_id", "environment", "endpoint"])
            let rows: [[BooksValue]] = [
                [.integer(1), .text("\\\n✓'"), .blob([0, 92, 39, 255])],
                [.text("a"), .text("p"), .text("e"), .integer(1), .real(0.1 + 0.2)],
            ]
            try sql(
                """
                ALTER DATABASE \(database) SET bytea_output = 'escape';
                ALTER DATABASE \(database) SET extra_float_digits = -5;
                ALTER DATABASE \(database) SET standard_conforming_strings = off;
                ALTER DATABASE \(database) SET "DateStyle" = 'German'
                """)
            let (books, state) = try placed()
            _ = try books.commit(
                [
                    BooksChange(table: header, rows: [rows[0]]),
                    BooksChange(table: rate, rows: [rows[1]]),
                ],
                to: state)
            let found = try books.reading { reading in
                [
                    try reading.rows(of: header, after: nil, limit: 2),
                    try reading.rows(of: rate, after: nil, limit: 2),
                ]
            }
            #expect(found == [[rows[0]], [rows[1]]])
        }
    }
#endif
