#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import Synchronization
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `Books in PostgreSQL` {
        private let database: String

        init() throws { database = try TestServer.makeDatabase() }

        private static let refusals = BooksTable.refusals

        private func row(_ app: String, _ resumes: Int64 = 1) -> [BooksValue] {
            [.text(app), .text("p\u{0}"), .text("e"), .integer(resumes), .real(0.1)]
        }

        private func change(_ rows: [BooksValue]..., deleted: String...) -> [BooksChange] {
            [
                BooksChange(
                    table: Self.refusals, rows: rows,
                    deleted: deleted.map { [.text($0), .text("p\u{0}"), .text("e")] })
            ]
        }

        private func books(
            _ name: String = "main", machine: String = "one", milliseconds: Int64 = 90_000,
            answering: (@Sendable (any ServerSession) -> any ServerSession)? = nil
        ) throws -> PostgresBooks {
            let database = database
            let address = try PostgresAddress(url: TestServer.url(database: database))
            let connector = PostgresConnector(address) { () throws(ServerFailure) in
                let session: any ServerSession
                do {
                    session = try TestServer.session(database: database)
                } catch {
                    throw ServerFailure(state: SQLState(""), endsSession: true, words: "\(error)")
                }
                return answering.map { $0(session) } ?? session
            }
            var limits = SessionLimits()
            limits.pausesMilliseconds = [1, 1, 1]
            return PostgresBooks(
                connector, schema: .ofTests, name: name, holder: "holder on \(machine)",
                machine: machine,
                lifetimeMilliseconds: milliseconds, limits: limits)
        }

        private func placed(_ books: PostgresBooks) throws -> BooksState {
            try books.claim()
            let state = try books.begin(identity: "id", schema: 1)
            try books.conclude(state)
            return state
        }

        private func rows(_ books: PostgresBooks, _ state: BooksState) throws -> [[BooksValue]] {
            try books.reading { reading in
                #expect(reading.state == state)
                return try reading.rows(of: Self.refusals, after: nil, limit: 10)
            }
        }

        @Test func `are none before they are made`() throws {
            #expect(try books().state() == nil)
        }

        @Test func `are as they were committed`() throws {
            let books = try books()
            var state = try placed(books)
            state = try books.commit(change(row("a"), row("b"), row("c")), to: state)
            state = try books.commit(change(row("b", 2), deleted: "a"), to: state)
            #expect(try books.state() == state)
            #expect(state.generation == 2)
            #expect(try rows(books, state) == [row("b", 2), row("c")])
            let second = try books.reading {
                try $0.rows(of: Self.refusals, after: Array(row("b")[..<3]), limit: 1)
            }
            #expect(second == [row("c")])
        }

        @Test func `are read as of one moment, whatever is written meanwhile`() throws {
            let books = try books()
            var state = try books.commit(change(row("a"), row("c")), to: placed(books))
            var readings = 0
            let rows = try books.reading { reading in
                readings += 1
                #expect(reading.state == state)
                var rows = try reading.rows(of: Self.refusals, after: nil, limit: 1)
                // Between two pages, each time: first pages of their own, then one transaction.
                state = try books.commit(change(row("b\(readings)"), deleted: "c"), to: state)
                rows += try reading.rows(
                    of: Self.refusals, after: Array(row("a")[..<3]), limit: 10)
                return rows
            }
            #expect(readings == 2)
            #expect(rows == [row("a"), row("b1")])
        }

        @Test func `of several names do not meet`() throws {
            let (one, other) = (try books("one"), try books("other"))
            let (first, second) = (try placed(one), try placed(other))
            _ = try one.commit(change(row("a")), to: first)
            #expect(try rows(other, second) == [])
        }

        @Test func `are not committed from a state that has passed`() throws {
            let books = try books()
            let state = try placed(books)
            let next = try books.commit(change(row("a")), to: state)
            let error = #expect(throws: StoreError.self) {
                try books.commit(self.change(self.row("b")), to: state)
            }
            #expect(error?.exitStatus == .busy)
            #expect(try books.state() == next)
            #expect(try rows(books, next) == [row("a")])
        }

        @Test func `belong to one machine, until it lets go or is not heard of`() throws {
            let one = try books(milliseconds: 3000)
            let state = try placed(one)
            let other = try books(machine: "two")
            let refused = #expect(throws: StoreError.self) { try other.claim() }
            #expect(refused?.exitStatus == .busy)
            #expect(refused?.description.contains("holder on one") == true)
            #expect(try other.holderElsewhere()?.holder == "holder on one")
            #expect(try one.holderElsewhere()?.holder == nil)
            one.release()
            #expect(try other.holderElsewhere()?.holder == nil)
            try other.claim()
            #expect(throws: StoreError.self) {
                try one.commit(self.change(self.row("a")), to: state)
            }
            #expect(try rows(other, state) == [])
            other.release()
            try one.claim()
            while (try? other.claim()) == nil {}
            #expect(throws: StoreError.self) { try one.claim() }
        }

        @Test func `replace those of the name, and their rows go`() throws {
            let books = try books()
            let first = try placed(books)
            _ = try books.commit(change(row("a")), to: first)
            var second = try books.begin(identity: "new", schema: 1)
            second = try books.commit(change(row("b")), to: second)
            #expect(try books.state()?.identity == "id")
            try books.conclude(second)
            #expect(try books.state() == second)
            let left = try TestServer.session(database: database).run(
                "SELECT count(*) FROM trueup.books_quota_refusals", [])
            #expect(left.first == "1")
        }

        /// A session whose first COMMIT after a write is done, and not answered.
        private final class CutSession: ServerSession {
            let session: any ServerSession
            let cuts: Atomic<Bool>

            init(_ session: any ServerSession, cuts: Bool) {
                self.session = session
                self.cuts = Atomic(cuts)
            }

            func run(_ sql: String, _ values: [String?]) throws(ServerFailure) -> ServerRows {
                try session.run(sql, values)
            }

            func script(_ sql: String) throws(ServerFailure) -> ServerRows {
                let rows = try session.script(sql)
                guard sql == "COMMIT", cuts.exchange(false, ordering: .relaxed) else { return rows }
                throw ServerFailure(state: SQLState(""), endsSession: true, words: "cut")
            }
        }

        @Test func `are committed once where the answer to COMMIT was lost`() throws {
            let state = try placed(books())
            let sessions = Atomic<Int>(0)
            let cut = try books { session in
                CutSession(session, cuts: sessions.add(1, ordering: .relaxed).oldValue == 0)
            }
            let next = try cut.commit(change(row("a")), to: state)
            #expect(sessions.load(ordering: .relaxed) == 2)
            #expect(next.generation == 1)
            #expect(try books().state() == next)
        }

        /// A server that goes away with the answer to a COMMIT, and comes back later.
        @Test func `that were committed without an answer are no other run's`() throws {
            let state = try placed(books())
            let sessions = Atomic<Int>(0)
            let isAway = Atomic<Bool>(true)
            let cut = try books { session in
                let isFirst = sessions.add(1, ordering: .relaxed).oldValue == 0
                return isFirst || !isAway.load(ordering: .relaxed)
                    ? CutSession(session, cuts: isFirst) : DeafSession()
            }
            let first = #expect(throws: StoreError.self) {
                try cut.commit(self.change(self.row("a")), to: state)
            }
            #expect(first?.exitStatus == .unavailable)
            isAway.store(false, ordering: .relaxed)
            let second = #expect(throws: StoreError.self) {
                try cut.commit(self.change(self.row("b")), to: state)
            }
            #expect(second?.exitStatus == .unavailable, "\(String(describing: second))")
            let now = try #require(try books().state())
            #expect(try rows(books(), now) == [row("a")])
        }

        private final class DeafSession: ServerSession {
            private static let failure = ServerFailure(
                state: SQLState(""), endsSession: true, words: "away")

            func run(_ sql: String, _ values: [String?]) throws(ServerFailure) -> ServerRows {
                throw Self.failure
            }

            func script(_ sql: String) throws(ServerFailure) -> ServerRows {
                throw Self.failure
            }
        }
    }
#endif
