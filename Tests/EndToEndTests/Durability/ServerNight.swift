#if PostgreSQL || MySQL
    import Foundation
    import TestSupport
    import Testing

    /// Where the books of a night on a server are; only PostgreSQL takes them.
    enum Books: String, CaseIterable, CustomTestStringConvertible {
        case inFile = "in a file"
        case onServer = "on the server"

        var testDescription: String { rawValue }

        var setting: String {
            self == .inFile ? "books: sqlite:trueup.sqlite" : "copy: trueup.sqlite"
        }
    }

    /// A mapped night on a server of its own, which can be put back to its beginning.
    struct ServerNight {
        let server: any NightServer
        let night: MappedNight
        private let books: Books

        /// What a night leaves behind where nothing disturbs it, and how long it takes.
        struct Undisturbed {
            let state: MappedState
            let status: Int32
            let milliseconds: Int
        }

        /// Seconds that each change of a row takes, and again at the commit: so that a random moment
        /// is often one of writing.
        static let slowness = "0.008"

        /// - Parameters:
        ///   - customers: How many the simulated company has.
        ///   - server: The company's.
        ///   - books: Where the books are.
        ///   - url: Leads to the server, which is asked directly unless said.
        /// - Throws: When it cannot be made ready.
        init(
            customers: Int, on server: any NightServer, _ books: Books = .inFile,
            url: String? = nil
        ) throws {
            self.server = server
            self.books = books
            night = try MappedNight(
                customers: customers, url: url ?? server.url, books: books.setting)
        }

        var flag: String { server.folder + "/flag" }
        var origin: PreparedPlace { night.prepared }

        func removeFlag() throws { try FileManager.default.removeItem(atPath: flag) }

        /// Puts the company's database back to the beginning.
        func reset(slowedBy seconds: String? = nil, flagsCommit: Bool = false) throws {
            try server.reset(to: night.sql(for: type(of: server).dialect))
            if let seconds { try server.slow(by: seconds) }
            if flagsCommit { try server.flagUnits(in: flag) }
            guard books == .onServer else { return }
            for suffix in ["", "-wal", "-shm"] {
                let file = origin.folder.appendingPathComponent("trueup.sqlite" + suffix)
                try? FileManager.default.removeItem(at: file)
            }
            try #require(origin.run(["init"]).status == 0)
        }

        func undisturbed(slowedBy seconds: String? = nil) throws -> Undisturbed {
            try reset(slowedBy: seconds)
            let copy = try origin.copy()
            defer { copy.remove() }
            let began = ContinuousClock.now
            let run = try copy.run(MappedNight.command)
            let took = began.duration(to: .now)
            try #require([0, 2].contains(run.status), "\(run.errors)")
            let state = try state(of: copy)
            try #require(!state.ledgerThere.isEmpty)
            #expect(!state.isAhead("undisturbed"))
            return Undisturbed(
                state: state, status: run.status,
                milliseconds: Int(took.components.seconds) * 1000
                    + Int(took.components.attoseconds / 1_000_000_000_000_000))
        }

        func state(of place: PreparedPlace) throws -> MappedState {
            try server.waitForEndOfSessions()
            // A copy is made as the books on the server are.
            if books == .onServer { try #require(place.run(["status"]).status == 0) }
            return try MappedState(
                of: place, table: server.lines(MappedState.rows) + server.lines(MappedState.orders),
                entitlements: server.lines(MappedState.entitlements(in: "rights")),
                ledger: server.ledger())
        }

        /// Runs the night again and holds what is left against the undisturbed one.
        func finish(
            _ place: PreparedPlace, as undisturbed: Undisturbed, _ when: String
        ) throws {
            let again = try place.run(MappedNight.command)
            #expect([0, undisturbed.status].contains(again.status), "\(when): \(again.errors)")
            let differences = try state(of: place).differences(from: undisturbed.state)
            #expect(differences.isEmpty, "\(when): \(differences)")
            let verified = try place.run(["verify", "--database"])
            #expect(verified.status == 0, "\(when): \(verified.output)\(verified.errors)")
        }
    }
#endif

#if PostgreSQL
    /// The books on the server.
    extension ServerNight {
        /// How many transactions they have had.
        static let generation = "SELECT generation FROM trueup.books"

        /// Writes the flag as the server commits a transaction of the books, before the answer to it.
        func flag(transaction number: Int) throws {
            try atBooks(
                "COPY (SELECT 1) TO '\(flag)'", "AFTER UPDATE", "WHEN (NEW.generation = \(number))")
        }

        /// Lets each transaction of the books take its time once the flag is there.
        func holdUpBooks(seconds: Int) throws {
            try atBooks(
                """
                IF (pg_stat_file('\(flag)', true)).size IS NOT NULL THEN PERFORM pg_sleep(\(seconds));
                END IF
                """, "AFTER UPDATE")
        }

        private func atBooks(
            _ statement: String, _ event: String, _ condition: String = ""
        ) throws {
            try server.sql(
                """
                CREATE OR REPLACE FUNCTION public.books() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN \(statement); RETURN NEW; END $$
                """)
            try server.sql(
                """
                CREATE CONSTRAINT TRIGGER late \(event) ON trueup.books
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW \(condition)
                EXECUTE FUNCTION public.books()
                """)
        }

        func letBooksGoOn() throws { try server.sql("DROP TRIGGER late ON trueup.books") }
    }
#endif
