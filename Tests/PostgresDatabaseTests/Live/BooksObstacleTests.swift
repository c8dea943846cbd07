#if PostgreSQL
    import Subscriptions
    import TestSupport
    import Testing

    @testable import PostgresDatabase

    /// What a database may be like, and what may have been done to it, before a run begins.
    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `A database for books` {
        private let database: String

        init() throws { database = try TestServer.makeDatabase() }

        private func books(
            user: String = "trueup", of database: String? = nil, schema: BooksSchema = .ofTests
        ) throws -> PostgresBooks {
            let url = TestServer.url(database: database ?? self.database, user: user)
            return PostgresBooks(
                try .libpq(PostgresAddress(url: url)), schema: schema, name: "main", holder: "test",
                machine: "one")
        }

        private func sql(_ text: String) throws {
            _ = try TestServer.session(database: database).script(text)
        }

        private func placed() throws -> (books: PostgresBooks, state: BooksState) {
            let books = try books()
            try books.claim()
            let state = try books.begin(identity: "id", schema: 1)
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
            (
                "DROP TABLE trueup.books_evidence_headers",
                "trueup.books_evidence_headers was dropped"
            ),
            ("DROP TABLE trueup.books_holders", "trueup.books_holders was dropped"),
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

        /// Another machine may have a later version already.
        @Test func `get what a later version adds, and then refuse the earlier one`() throws {
            let (books, state) = try placed()
            let row: [BooksValue] = [
                .text("a"), .text("p"), .text("e"), .integer(1), .real(0.5),
            ]
            let filled = try books.commit(
                [BooksChange(table: .refusals, rows: [row])], to: state)
            var refusals = BooksTable.refusals
            refusals.columns.append(BooksColumn(name: "added", form: .text))
            let madeUp = BooksTable(
                name: "trueup_made_up", columns: [BooksColumn(name: "id", form: .integer)],
                key: ["id"])
            let tables = [refusals, madeUp, .evidenceHeaders]
            let later = BooksSchema(newest: 2) { version throws(StoreError) in
                version < 2 ? try BooksSchema.ofTests.tables(version) : tables
            }
            let next = try self.books(schema: later)
            #expect(try next.obstacle(mayWrite: true) == nil)
            try next.claim()
            _ = try next.commit(
                [BooksChange(table: madeUp, rows: [[.integer(7)]])], to: filled)
            let found = try next.reading { reading in
                try reading.rows(of: refusals, after: nil, limit: 2)
                    + reading.rows(of: madeUp, after: nil, limit: 2)
            }
            #expect(found == [row + [.null], [.integer(7)]])
            let error = #expect(throws: StoreError.self) { try self.books().claim() }
            #expect(error?.description.contains("use the newer version") == true)
        }

        @Test func `gets a column that a later program added without a step of the schema`() throws
        {
            let (books, state) = try placed()
            let row: [BooksValue] = [
                .text("a"), .text("p"), .text("e"), .integer(1), .real(0.5),
            ]
            let filled = try books.commit(
                [BooksChange(table: .refusals, rows: [row])], to: state)
            var refusals = BooksTable.refusals
            refusals.columns.append(BooksColumn(name: "added", form: .text))
            let tables = [refusals, .evidenceHeaders]
            let later = try self.books(schema: BooksSchema(newest: 1) { _ in tables })
            let before = try later.reading { reading in
                try reading.rows(of: refusals, after: nil, limit: 2)
            }
            #expect(before == [row + [.null]])
            try later.claim()
            let changed = try later.commit(
                [BooksChange(table: refusals, rows: [row + [.text("b")]])], to: filled)
            let found = try later.reading { reading in
                try reading.rows(of: refusals, after: nil, limit: 2)
            }
            #expect(found == [row + [.text("b")]])
            // The earlier program continues next to it, and leaves the column as it is.
            let earlier = try self.books()
            try earlier.claim()
            _ = try earlier.commit(
                [BooksChange(table: .refusals, rows: [row])], to: changed)
            let left = try later.reading { reading in
                try reading.rows(of: refusals, after: nil, limit: 2)
            }
            #expect(left == [row + [.text("b")]])
        }

        @Test func `that lost a table is not made whole by a later version, empty`() throws {
            _ = try placed()
            try sql("DROP TABLE trueup.books_evidence_headers")
            let later = BooksSchema(newest: 2, tables: BooksSchema.ofTests.tables)
            let error = #expect(throws: StoreError.self) { try books(schema: later).claim() }
            #expect(
                error?.description.contains("trueup.books_evidence_headers was dropped") == true)
        }

        /// Ways in which a database or a user may want values written.
        @Test func `is read alike whatever it is set to`() throws {
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
                    BooksChange(table: .evidenceHeaders, rows: [rows[0]]),
                    BooksChange(table: .refusals, rows: [rows[1]]),
                ],
                to: state)
            let found = try books.reading { reading in
                [
                    try reading.rows(of: .evidenceHeaders, after: nil, limit: 2),
                    try reading.rows(of: .refusals, after: nil, limit: 2),
                ]
            }
            #expect(found == [[rows[0]], [rows[1]]])
        }
    }
#endif
