#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// Nights through PgBouncer, which gives each transaction whatever session is free.
    @Suite(
        .enabled(
            if: OwnServer.isInstalled && OwnServer.hasPooler,
            "needs a PostgreSQL server and PgBouncer (apt: postgresql pgbouncer)"))
    struct `A table in PostgreSQL behind PgBouncer` {
        private static let all = """
            SELECT s::text FROM subs AS s ORDER BY "c original_transaction_id" COLLATE "C"
            """

        /// Our table, and one of PostgreSQL that is reached through a pool.
        private func places(
            _ server: OwnServer, _ books: Books, through pool: String
        ) throws -> (ours: Workplace, theirs: Workplace) {
            let (ours, theirs) =
                try `A table of the company's own in PostgreSQL, for a night`().places(
                    server, books)
            try lead(theirs, to: pool, from: server)
            return (ours, theirs)
        }

        private func lead(_ place: Workplace, to pool: String, from server: OwnServer) throws {
            let settings = try place.folder.text("trueup.yaml")
            try place.folder.write(
                settings.replacingOccurrences(of: server.url, with: pool), to: "trueup.yaml")
        }

        /// Fewer sessions than workers, and far fewer than the connections that they open.
        @Test(
            .timeLimit(.minutes(30)),
            arguments: [("transaction", Books.onServer), ("session", .inFile)])
        func `is corrected while other workers look`(mode: String, books: Books) throws {
            let server = try OwnServer()
            defer { server.stop() }
            // In session mode each connection of a worker keeps its session.
            let size = mode == "transaction" ? 1 : 20
            let (ours, theirs) = try places(
                server, books, through: try server.pool(mode: mode, size: size))
            let before = try server.sql(Self.all)
            let doctor = try theirs.run("doctor")
            #expect(doctor.output.contains("understood:"), "\(doctor.output)")
            #expect(try [0, 2].contains(ours.run("run", "nightly").status))
            let others = try (1...2).map { number in
                let other = try Workplace(on: theirs.simulator)
                let settings = try theirs.folder.text("trueup.yaml")
                    .replacing(
                        "copy: trueup", with: "books: postgres:worker\(number)\n  copy: trueup")
                try other.folder.write(settings, to: "trueup.yaml")
                try #require(other.run("init").status == 0)
                return other
            }

            let looking = try others.map { try $0.start("check", "nightly") }
            let night = try theirs.run("run", "nightly")
            #expect([0, 2].contains(night.status), "\(night.errors)\n\(night.output)")
            for other in looking {
                let look = other.wait()
                // What was corrected meanwhile is in flight: a guard may say so.
                #expect([0, 2, 4].contains(look.status), "\(look.errors)\n\(look.output)")
            }
            let corrections = try ours.writtenCorrections()
            #expect(!corrections.isEmpty)
            #expect(try theirs.writtenCorrections() == corrections)
            #expect(
                try server.sql("SELECT count(*) FROM trueup.ledger") == "\(corrections.count)")
            #expect(try theirs.run("verify").status == 0)
            #expect(try theirs.run("status").status == 0)
            // A second worker waits for nothing of the first: its leases are given back.
            let again = try others[0].run("run", "nightly")
            #expect([0, 2, 3, 4].contains(again.status), "\(again.errors)\n\(again.output)")

            let run = try #require(try theirs.summary()["run_id"] as? String)
            let undo = try theirs.run("undo", run, "--execute")
            #expect([0, 2].contains(undo.status), "\(undo.errors)\n\(undo.output)")
            #expect(try server.sql(Self.all) == before)
            // All of this went through the pool.
            let stats =
                try server.sql("SHOW STATS_TOTALS", in: "pgbouncer")
                .split(separator: "\n").first { $0.hasPrefix("postgres|") } ?? ""
            let transactions = stats.split(separator: "|").dropFirst().first.flatMap { Int($0) }
            #expect((transactions ?? 0) > 100, "\(stats)")
        }

        @Test(.timeLimit(.minutes(30)), arguments: Books.allCases)
        func `is refused where PgBouncer cannot serve it, and it says why`(books: Books) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let (_, theirs) = try places(
                server, books, through: try server.pool(mode: "statement"))
            let before = try server.sql(Self.all)
            let mode = try theirs.run("run", "nightly")
            #expect(mode.status == 78, "\(mode.errors)")
            let said = (mode.errors + mode.output).split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
            #expect(said.contains("pool_mode"), "\(said)")
            let options = try theirs.run(
                "check", "nightly", environment: ["PGOPTIONS": "-c work_mem=64MB"])
            #expect(options.status == 78, "\(options.errors)")
            let refused = (options.errors + options.output).split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
            #expect(refused.contains("ignore_startup_parameters"), "\(refused)")
            #expect(refused.contains("PGOPTIONS"), "\(refused)")
            #expect(try server.sql(Self.all) == before)
        }
    }
#endif
