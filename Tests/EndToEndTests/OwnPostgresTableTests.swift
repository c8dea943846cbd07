#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// The rows in a table of the company's own in PostgreSQL, for a night of the built program.
    @Suite(.enabled(if: OwnServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `A table of the company's own in PostgreSQL, for a night` {
        private static let times: Set = [
            "expires_date", "grace_period_expires_date", "revocation_date", "signed_date",
        ]
        private static let numbers: Set = ["status", "auto_renew_status"]

        /// The rows of the simulated company in our table, and in one of PostgreSQL.
        func places(
            _ server: OwnServer, _ books: Books = .inFile
        ) throws -> (ours: Workplace, theirs: Workplace) {
            let simulator = try RunningSimulator([
                "--customers", "150", "--drift", "0.1", "--seed", "5",
            ])
            let file = try #require(simulator.ready.tableFile)
            let ours = try Workplace(on: simulator)
            try #require(ours.run("init").status == 0)
            try #require(ours.run("import", file).status == 0)
            let theirs = try Workplace(on: simulator)
            let header = try String(contentsOfFile: file, encoding: .utf8).prefix { !$0.isNewline }
            let columns = header.split(separator: ",").map(String.init)
            let declared = columns.map { name in
                let type =
                    Self.times.contains(name)
                    ? "timestamptz" : Self.numbers.contains(name) ? "smallint" : "text"
                return "\"c \(name)\" \(type)"
            }
            try server.sql(
                """
                CREATE TABLE subs (\(declared.joined(separator: ", ")),
                    PRIMARY KEY ("c bundle_id", "c environment", "c original_transaction_id"))
                """)
            try server.sql("\\copy subs FROM '\(file)' CSV HEADER")
            try server.sql("ALTER TABLE subs ADD note text DEFAULT 'theirs'")
            let mapped = columns.map { name in
                Self.times.contains(name)
                    ? "\(name): {column: \"c \(name)\", form: timestamptz}"
                    : "\(name): \"c \(name)\""
            }
            try theirs.folder.write(
                "apps:\n" + simulator.appYAML() + """
                    store:
                      url: \(server.url)
                      \(books.setting)
                      subscriptions:
                        table: subs
                        columns: {\(mapped.joined(separator: ", "))}
                        insert: {note: inserted}
                    report:
                      directory: reports

                    """, to: "trueup.yaml")
            try #require(theirs.run("init").status == 0)
            return (ours, theirs)
        }

        private static let all = """
            SELECT s::text FROM subs AS s ORDER BY "c original_transaction_id" COLLATE "C"
            """

        @Test(.timeLimit(.minutes(30)), arguments: Books.allCases)
        func `gets the corrections that ours gets, and gives them back`(books: Books) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let (ours, theirs) = try places(server, books)
            let before = try server.sql(Self.all)
            let check = try theirs.run("check", "nightly")
            try #require(check.status == 2, "\(check.errors)")
            #expect(try server.sql(Self.all) == before)
            // A look leaves nothing of ours there, unless the books are there.
            if books == .inFile {
                #expect(try server.sql("SELECT to_regclass('trueup.ledger') IS NULL") == "t")
            }

            let own = try ours.run("run", "nightly")
            let other = try theirs.run("run", "nightly")
            #expect(own.status == other.status, "\(other.errors)\n\(other.output)")
            let corrections = try ours.writtenCorrections()
            #expect(!corrections.isEmpty)
            #expect(try theirs.writtenCorrections() == corrections)
            #expect(
                try server.sql("SELECT count(*) FROM trueup.ledger") == "\(corrections.count)")
            #expect(try server.sql("SELECT count(*) FROM subs WHERE note IS NULL") == "0")
            #expect(try theirs.run("verify").status == 0)
            let doctor = try theirs.run("doctor")
            #expect(doctor.output.contains("understood:"), "\(doctor.output)")

            let run = try #require(try theirs.summary()["run_id"] as? String)
            let undo = try theirs.run("undo", run, "--execute")
            #expect([0, 2].contains(undo.status), "\(undo.errors)\n\(undo.output)")
            #expect(try server.sql(Self.all) == before)
        }

        @Test(.timeLimit(.minutes(30)), arguments: Books.allCases)
        func `continues a plan whose application failed`(books: Books) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let (_, theirs) = try places(server, books)
            try #require(theirs.run("check", "nightly").status == 2)
            let before = try server.sql(Self.all)
            let head = try JSONSerialization.jsonObject(
                with: Data(theirs.report("plan.json").utf8))
            let plan = try #require((head as? [String: Any])?["plan_sha256"] as? String)
            let latest = theirs.folder.url.path + "/reports/latest"
            try server.sql(#"ALTER TABLE subs RENAME COLUMN "c status" TO state"#)
            let failed = try theirs.run("apply", latest)
            #expect(failed.status == 78, "\(failed.output)\(failed.errors)")
            try server.sql(#"ALTER TABLE subs RENAME COLUMN state TO "c status""#)
            #expect(try server.sql(Self.all) == before)
            #expect(try theirs.report("plan.json").contains(plan))
            let applied = try theirs.run("apply", latest)
            #expect(applied.status == 0, "\(applied.output)\(applied.errors)")
            #expect(try server.sql(Self.all) != before)
            #expect(try theirs.run("apply", latest).output.contains("Applied before"))
            #expect(try theirs.run("verify", "--database").status == 0)
        }

        @Test(.timeLimit(.minutes(30)))
        func `with times in whole seconds has nothing to correct a second time`() throws {
            let server = try OwnServer()
            defer { server.stop() }
            let (_, theirs) = try places(server)
            for name in Self.times.sorted() {
                try server.sql(
                    """
                    ALTER TABLE subs ALTER "c \(name)" TYPE timestamptz(0)
                    USING date_trunc('second', "c \(name)")
                    """)
            }
            let doctor = try theirs.run("doctor")
            #expect(doctor.output.contains("keeps whole seconds"), "\(doctor.output)")
            let first = try theirs.run("run", "nightly")
            let written = try server.sql("SELECT count(*) FROM trueup.ledger")
            #expect(written != "0", "\(first.errors)\n\(first.output)")
            _ = try theirs.run("run", "nightly")
            #expect(try server.sql("SELECT count(*) FROM trueup.ledger") == written)
        }
    }

    extension `A table of the company's own in PostgreSQL, for a night` {
        @Test(.timeLimit(.minutes(30)))
        func `is worked on by two workers, who share the hour and the night`() throws {
            let server = try OwnServer()
            defer { server.stop() }
            let (_, first) = try places(server)
            let second = try Workplace(on: first.simulator)
            try second.folder.write(try first.folder.text("trueup.yaml"), to: "trueup.yaml")
            try second.writeJob("audit")
            try #require(second.run("init").status == 0)
            let night = try first.run("run", "nightly")
            #expect([0, 2].contains(night.status), "\(night.errors)\n\(night.output)")
            let counted = "SELECT coalesce(sum(calls), 0) FROM trueup.calls"
            let calls = try #require(Int(try server.sql(counted)))
            #expect(calls > 0)
            let audit = try second.run("run", "audit")
            // What the other has just corrected is in flight: a guard may say so.
            #expect([0, 2, 3, 4].contains(audit.status), "\(audit.errors)\n\(audit.output)")
            #expect(try #require(Int(try server.sql(counted))) > calls)

            // Either of them tells of both, and nothing is written by that.
            let summary = try first.summary()
            let day = try #require(summary["started"] as? String).prefix(10)
            let before = try server.sql("SELECT string_agg(r::text, '') FROM trueup.runs AS r")
            for worker in [first, second] {
                let report = try worker.run("report", "night", String(day))
                #expect(report.status == 0, "\(report.errors)")
                #expect(report.output.contains("(UTC): 2 runs"), "\(report.output)")
                #expect(report.output.contains("nightly"))
                #expect(report.output.contains("audit"))
                let status = try worker.run("status")
                #expect(status.output.contains("Last runs of other workers"), "\(status.output)")
            }
            #expect(
                try server.sql("SELECT string_agg(r::text, '') FROM trueup.runs AS r") == before)
            #expect(
                try server.sql("SELECT count(*) FROM trueup.runs WHERE ended IS NOT NULL") == "2")

            // Without the server each tells of its own, says so, and asks nobody.
            server.stop()
            let alone = try first.run("report", "night", String(day))
            #expect(alone.status == 69, "\(alone.output)")
            #expect(alone.output.contains("(UTC): 1 run"))
            let status = try first.run("status")
            #expect(status.status == 0)
            #expect(status.output.contains("other workers could not be read"), "\(status.output)")
            #expect(try first.run("check", "nightly").status == 69)
        }
    }

    extension `A table of the company's own in PostgreSQL, for a night` {
        /// Whoever looks in the morning finds the night in `status` and in the report folder.
        @Test(.timeLimit(.minutes(30)))
        func `whose server may not be written, or is away, leaves a report that says so`() throws {
            let server = try OwnServer()
            defer { server.stop() }
            let (_, theirs) = try places(server)
            let first = try theirs.run("run", "nightly")
            #expect([0, 2].contains(first.status), "\(first.errors)\n\(first.output)")
            let rows = try server.sql(Self.all)

            let readOnly = "ALTER DATABASE postgres SET default_transaction_read_only"
            try server.sql("\(readOnly) = on", in: "template1")
            try endsUnavailable(theirs.run("run", "nightly"), theirs, saying: "may only be read")
            try server.sql("\(readOnly) = off", in: "template1")
            try server.stopAtOnce()
            for command in ["run", "check"] {
                let run = try theirs.run(command, "nightly")
                try endsUnavailable(run, theirs, saying: "could not be reached")
            }

            try server.start()
            #expect(try server.sql(Self.all) == rows)
            let last = try theirs.run("run", "nightly")
            // What the first has just corrected is in flight: a guard may say so.
            #expect([0, 2, 3, 4].contains(last.status), "\(last.errors)\n\(last.output)")
            #expect(try theirs.run("verify").status == 0)
        }

        @Test(.timeLimit(.minutes(30)))
        func `waits for a standby that is too far behind`() throws {
            let server = try OwnServer()
            defer { server.stop() }
            let (_, theirs) = try places(server)
            let settings = try theirs.folder.text("trueup.yaml")
            try theirs.folder.write(
                settings.replacing("  subscriptions:", with: "  max_lag: 1s\n  subscriptions:"),
                to: "trueup.yaml")
            let before = try server.sql(Self.all)
            let standby = try server.standby()
            try server.sql("CREATE TABLE visits AS SELECT 1 AS visit")
            func lags(_ interval: String) throws -> Bool {
                try server.sql("INSERT INTO visits VALUES (1)")
                let lag = "SELECT max(replay_lag) >= '\(interval)' FROM pg_stat_replication"
                return try server.sql(lag) == "t"
            }
            // The lag is known once the standby has replayed something.
            try wait { try lags("0s") }
            _ = try standby("SELECT pg_wal_replay_pause()")
            try wait { try lags("1s") }
            let running = try theirs.start("run", "nightly")
            try wait { try theirs.run("status").output.contains("store.max_lag") }
            #expect(try server.sql(Self.all) == before)
            _ = try standby("SELECT pg_wal_replay_resume()")
            let night = running.wait()
            #expect([0, 2].contains(night.status), "\(night.errors)\n\(night.output)")
            #expect(night.errors.contains("a replica is"), "\(night.errors)")
            let pauses = try #require(try theirs.summary()["database_pauses"] as? [String: Any])
            #expect(pauses["number"] as? Int ?? 0 > 0, "\(pauses)")
            let after = try server.sql(Self.all)
            #expect(after != before)
            try wait { try standby(Self.all) == after }
        }

        /// Waits until something is so; after a minute it is an error.
        private func wait(until isSo: () throws -> Bool) throws {
            for _ in 0..<600 {
                if try isSo() { return }
                usleep(100_000)
            }
            throw OwnServer.Failure(words: "it did not come to that within a minute")
        }

        private func endsUnavailable(
            _ run: BuiltExecutable.Result, _ place: Workplace, saying words: String
        ) throws {
            #expect(run.status == 69, "\(run.errors)\n\(run.output)")
            let summary = try place.summary()
            let outcome = try #require(summary["outcome"] as? [String: Any])
            #expect(outcome["exit_status"] as? Int == 69, "\(run.errors)")
            let text = try place.report("summary.txt").split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
            #expect(text.contains(words), "\(text)")
            let id = try #require(summary["run_id"] as? String)
            #expect(try place.run("status").output.contains(id))
            #expect(try place.run("verify").status == 0)
        }
    }
#endif
