#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// What a user of PostgreSQL may not see or write is named before a run and by it.
    @Suite(
        .enabled(if: OwnServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"),
        .timeLimit(.minutes(30)))
    struct `Rights on a PostgreSQL server` {
        /// A night whose run is a user with the rights of docs/postgresql.md, and no more.
        private func night(
            slowedBy seconds: String? = nil
        ) throws -> (ServerNight, PreparedPlace) {
            let night = try ServerNight(customers: 20, on: OwnServer())
            try night.reset(slowedBy: seconds)
            try night.server.sql(
                """
                CREATE ROLE job LOGIN;
                CREATE SCHEMA trueup AUTHORIZATION job;
                GRANT SELECT, UPDATE, INSERT ON public.apple_subscriptions, public.orders TO job;
                GRANT SELECT, INSERT, UPDATE, DELETE ON public.rights TO job
                """)
            let copy = try night.origin.copy()
            let settings = copy.folder.appendingPathComponent("trueup.yaml")
            let text = try String(contentsOf: settings, encoding: .utf8)
            try text.replacing("postgres://trueup@", with: "postgres://job@")
                .write(to: settings, atomically: true, encoding: .utf8)
            return (night, copy)
        }

        private func words(_ result: BuiltExecutable.Result) -> String {
            (result.output + result.errors).split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
        }

        private func rows(_ night: ServerNight) throws -> String {
            try night.server.sql(
                "SELECT s::text FROM public.apple_subscriptions AS s ORDER BY 1")
        }

        @Test func `are enough as the page lists them`() throws {
            let (night, copy) = try night()
            defer { night.server.stop() }
            defer { copy.remove() }
            let before = try rows(night)
            let doctor = try copy.run(["doctor"])
            #expect(doctor.status == 0, "\(doctor.output)")
            #expect(try rows(night) == before)
            #expect(
                try night.server.sql(
                    "SELECT count(*) FROM pg_class WHERE relnamespace = 'trueup'::regnamespace")
                    == "0")
            let run = try copy.run(MappedNight.command)
            #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
            let again = try copy.run(["doctor"])
            #expect(again.status == 0, "\(again.output)")
            #expect(
                try night.server.sql("SELECT count(*) FROM trueup.ledger WHERE books = 'doctor'")
                    == "0")
        }

        @Test func `that hide rows are named by doctor and by the run, which reads none`() throws {
            let (night, copy) = try night()
            defer { night.server.stop() }
            defer { copy.remove() }
            try night.server.sql(
                """
                ALTER TABLE public.apple_subscriptions ENABLE ROW LEVEL SECURITY;
                CREATE POLICY some_rows ON public.apple_subscriptions TO job
                    USING (length(apple_subscriptions::text) % 3 <> 0)
                """)
            let before = try rows(night)
            for command in [["doctor"], MappedNight.command, ["check", "nightly"]] {
                let refused = try copy.run(command)
                #expect(refused.status == 78, "\(refused.output)\(refused.errors)")
                #expect(words(refused).contains("row-level security"), "\(words(refused))")
                #expect(words(refused).contains("some_rows"), "\(words(refused))")
            }
            #expect(try rows(night) == before)
            // A policy that lets every row pass hides none.
            try night.server.sql(
                "CREATE POLICY every_row ON public.apple_subscriptions TO job USING (true)")
            let doctor = try copy.run(["doctor"])
            #expect(doctor.status == 0, "\(doctor.output)")
            let run = try copy.run(MappedNight.command)
            #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        }

        @Test(arguments: [
            "ALTER ROLE job SET default_transaction_read_only = on",
            "REVOKE INSERT ON trueup.ledger FROM job",
            """
            CREATE FUNCTION public.no() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'not here'; END $$;
            CREATE TRIGGER no BEFORE INSERT ON trueup.ledger
                FOR EACH ROW EXECUTE FUNCTION public.no()
            """,
            "REVOKE UPDATE ON public.apple_subscriptions FROM job",
        ])
        func `that every write would lack are missed by doctor`(change: String) throws {
            let (night, copy) = try night()
            defer { night.server.stop() }
            defer { copy.remove() }
            let run = try copy.run(MappedNight.command)
            try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
            try #require(copy.run(["doctor"]).status == 0)
            try night.server.sql(change)
            let before = try rows(night)
            let doctor = try copy.run(["doctor"])
            #expect(doctor.status == 78, "\(change): \(doctor.output)")
            #expect(try rows(night) == before)
        }

        @Test(arguments: ["SELECT", "UPDATE"])
        func `that are taken away in the middle end the run with 78`(right: String) throws {
            let (night, copy) = try night(slowedBy: "0.3")
            defer { night.server.stop() }
            defer { copy.remove() }
            let plan = try copy.run(["check", "nightly"])
            try #require([0, 2].contains(plan.status), "\(plan.output)\(plan.errors)")
            let before = try rows(night)
            let applying = try BuiltExecutable("trueup")
                .start(["apply", "reports/latest"], in: copy.folder)
            _ = try night.server.sessionAsleep()
            try night.server.sql("REVOKE \(right) ON public.apple_subscriptions FROM job")
            let applied = applying.wait()
            #expect(applied.status == 78, "\(applied.output)\(applied.errors)")
            #expect(try rows(night) == before)
        }
    }
#endif
