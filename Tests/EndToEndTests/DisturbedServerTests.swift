#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// Nights on PostgreSQL in which the program is killed, the server is stopped at once, or a disk
    /// fills, the server's or that of the books; the nights after them end where an undisturbed one
    /// ends.
    @Suite(
        .enabled(if: OwnServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"),
        .serialized, .timeLimit(.minutes(30)))
    struct `A disturbed night on PostgreSQL` {
        /// `TRUEUP_EVERY_STEP=1` tries more moments.
        private static let trials =
            ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] == nil ? 2 : 8
        private static let disturbancesPerTrial = 3

        @Test func `is finished after SIGKILL at random moments`() throws {
            try disturbAtRandom(mayEndWith: 137) { night, running in
                running.send(signal: SIGKILL)
                let killed = running.wait()
                try night.server.waitForEndOfSessions()
                return killed
            }
        }

        @Test func `is finished after the server was stopped at once at random moments`() throws {
            try disturbAtRandom(mayEndWith: 69) { night, running in
                try night.server.stopAtOnce()
                let left = running.wait()
                try night.server.start()
                return left
            }
        }

        /// Disturbs nights at moments of their length, and lets the next ones go on.
        private func disturbAtRandom(
            mayEndWith status: Int32,
            _ disturb: (ServerNight, BuiltExecutable.Running) throws -> BuiltExecutable.Result
        ) throws {
            let night = try ServerNight(customers: 120)
            defer { night.server.stop() }
            let undisturbed = try night.undisturbed(slowedBy: ServerNight.slowness)
            for trial in 1...Self.trials {
                try night.reset(slowedBy: ServerNight.slowness)
                let copy = try night.origin.copy()
                defer { copy.remove() }
                for _ in 1...Self.disturbancesPerTrial {
                    let running = try BuiltExecutable("trueup")
                        .start(MappedNight.command, in: copy.folder)
                    let after = Int.random(in: 0...undisturbed.milliseconds)
                    usleep(UInt32(after) * 1000)
                    let left = try disturb(night, running)
                    let when = "trial \(trial), after \(after) ms"
                    #expect(
                        [status, undisturbed.status, 0].contains(left.status),
                        "\(when): \(left.status) \(left.errors)")
                    _ = try night.state(of: copy).isAhead(when)
                }
                try night.finish(copy, as: undisturbed, "trial \(trial)")
            }
        }

        @Test(
            .enabled(if: OwnServer.mayMount, "needs the right to mount a disk (root)"),
            arguments: [24, 64, 160])
        func `is finished after the server's disk was full`(kilobytesLeft: Int) throws {
            let night = try ServerNight(customers: 120)
            defer { night.server.stop() }
            let undisturbed = try night.undisturbed()
            let disk = try night.server.mountDisk()
            try night.reset()
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let filler = disk + "/filler"
            try night.server.fill(filler, leaving: kilobytesLeft)
            let left = try copy.run(MappedNight.command)
            #expect(left.status == 74, "\(left.status) \(left.errors)")
            #expect(
                (left.output + left.errors).contains("has no room"),
                "\(left.output)\(left.errors)")
            _ = try night.state(of: copy).isAhead("\(kilobytesLeft) kB")
            try FileManager.default.removeItem(atPath: filler)
            try night.finish(copy, as: undisturbed, "\(kilobytesLeft) kB")
        }

        @Test func `is finished where the books lack what the server has committed`() throws {
            let night = try ServerNight(customers: 40)
            defer { night.server.stop() }
            let undisturbed = try night.undisturbed()
            let steps = try DurableSteps()
            for disturbance in [DurableSteps.Disturbance.kill, .full] {
                try night.reset(flagsCommit: true)
                let copy = try night.origin.copy()
                defer { copy.remove() }
                let left = try steps.disturbed(
                    by: disturbance, once: night.flag, MappedNight.command, in: copy.folder)
                #expect(
                    disturbance == .kill ? left.status == 137 : [73, 74].contains(left.status),
                    "\(left.status) \(left.errors)")
                try night.server.waitForEndOfSessions()
                try night.removeFlag()
                #expect(try night.state(of: copy).isAhead("\(disturbance)"))
                try night.finish(copy, as: undisturbed, "\(disturbance)")
            }
        }
    }

    /// A mapped night on a server of its own, which can be put back to its beginning.
    private struct ServerNight {
        let server: OwnServer
        private let night: MappedNight
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

        init(customers: Int) throws {
            server = try OwnServer()
            night = try MappedNight(customers: customers, url: server.url)
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
            try server.sql("DROP TABLE IF EXISTS public.apple_subscriptions")
            try server.sql("\\i \(seed)")
            if let seconds {
                try disturb("PERFORM pg_sleep(\(seconds))", at: "BEFORE UPDATE OR INSERT")
                try disturb("PERFORM pg_sleep(\(seconds))", atCommit: true)
            }
            // As the server commits, and before the answer to it.
            if flagsCommit { try disturb("COPY (SELECT 1) TO '\(flag)'", atCommit: true) }
        }

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
            let isThere = try server.sql("SELECT to_regclass('trueup.ledger') IS NOT NULL") == "t"
            return try MappedState(
                of: place, table: lines(MappedState.rows.replacing("FROM ", with: "FROM public.")),
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
