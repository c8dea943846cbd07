#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// Where the books of a night on PostgreSQL are.
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
        let server: OwnServer
        private let night: MappedNight
        private let books: Books
        private let seed: String

        /// What a night leaves behind where nothing disturbs it, and how long it takes.
        struct Undisturbed {
            let state: MappedState
            let status: Int32
            let milliseconds: Int
        }

        /// Seconds that each change of a row takes, and again at the commit: so that a random moment
        /// is often one of writing.
        static let slowness = "0.008"

        /// How many transactions the books on the server have had.
        static let generation = "SELECT generation FROM trueup.books"

        init(customers: Int, _ books: Books) throws {
            server = try OwnServer()
            self.books = books
            night = try MappedNight(
                customers: customers, url: server.url, books: books.setting)
            // Longer than one argument of a process may be.
            seed = try night.place.folder.write(
                "SET search_path TO public;\n" + night.sql(for: .postgresql), to: "seed.sql")
        }

        var flag: String { server.folder + "/flag" }
        var origin: PreparedPlace { night.prepared }

        func removeFlag() throws { try FileManager.default.removeItem(atPath: flag) }

        /// Puts the company's database back to the beginning.
        func reset(slowedBy seconds: String? = nil, flagsCommit: Bool = false) throws {
            try server.sql("DROP SCHEMA IF EXISTS trueup CASCADE")
            try server.sql("DROP TABLE IF EXISTS public.apple_subscriptions, public.rights")
            try server.sql("\\i \(seed)")
            if let seconds {
                try disturb("PERFORM pg_sleep(\(seconds))", at: "BEFORE UPDATE OR INSERT")
                try disturb("PERFORM pg_sleep(\(seconds))", atCommit: true)
            }
            // As the server commits, and before the answer to it.
            if flagsCommit { try disturb("COPY (SELECT 1) TO '\(flag)'", atCommit: true) }
            guard books == .onServer else { return }
            for suffix in ["", "-wal", "-shm"] {
                let file = origin.folder.appendingPathComponent("trueup.sqlite" + suffix)
                try? FileManager.default.removeItem(at: file)
            }
            try #require(origin.run(["init"]).status == 0)
        }

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

        private func disturb(
            _ statement: String, at event: String = "AFTER UPDATE OR INSERT",
            atCommit: Bool = false
        ) throws {
            let name = atCommit ? "late" : "early"
            try server.sql(
                """
                CREATE OR REPLACE FUNCTION public.\(name)() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN \(statement); RETURN NEW; END $$
                """)
            try server.sql(
                """
                CREATE \(atCommit ? "CONSTRAINT" : "") TRIGGER \(name) \(event)
                ON public.apple_subscriptions \(atCommit ? "DEFERRABLE INITIALLY DEFERRED" : "")
                FOR EACH ROW EXECUTE FUNCTION public.\(name)()
                """)
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
            // A copy is made as the books on the server are.
            if books == .onServer { try #require(place.run(["status"]).status == 0) }
            let isThere = try server.sql("SELECT to_regclass('trueup.ledger') IS NOT NULL") == "t"
            return try MappedState(
                of: place, table: lines(MappedState.rows.replacing("FROM ", with: "FROM public.")),
                entitlements: lines(MappedState.entitlements(in: "public.rights")),
                ledger: isThere
                    ? lines("SELECT number, digest FROM trueup.ledger ORDER BY number") : [])
        }

        private func lines(_ query: String) throws -> [String] {
            try server.sql(query).split(separator: "\n").map(String.init)
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
