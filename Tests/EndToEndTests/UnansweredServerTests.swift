#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// Runs on a PostgreSQL whose process is frozen in the middle of a statement, or that is reached
    /// through a proxy that forwards nothing any more.
    @Suite(
        .enabled(if: OwnServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"),
        .serialized, .timeLimit(.minutes(30)))
    struct `A server that stops answering` {
        /// Each correction takes so long that a run is met in the middle of one.
        private static let slowness = "0.3"

        private func seconds(since begin: ContinuousClock.Instant) -> Double {
            begin.duration(to: .now) / .seconds(1)
        }

        @Test(arguments: Books.allCases)
        func `is named by status and progress, and a signal ends the run`(books: Books) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let night = try ServerNight(customers: 20, on: server, books)
            let undisturbed = try night.undisturbed(slowedBy: Self.slowness)
            try night.reset(slowedBy: Self.slowness)
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let running = try BuiltExecutable("trueup").start(MappedNight.command, in: copy.folder)
            let session = try server.sessionAsleep()
            server.freeze(session)
            defer { server.thaw(session) }
            sleep(13)
            let status = try copy.run(["status"])
            let said = status.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(said.contains("waiting since"), "\(status.output)")
            #expect(said.contains("(correcting a row)"), "\(status.output)")
            let signalled = ContinuousClock.now
            running.send(signal: SIGTERM)
            let left = running.wait()
            #expect(seconds(since: signalled) < 5)
            #expect(left.status == 143, "\(left.output)\(left.errors)")
            #expect(left.errors.contains("waiting since"), "\(left.errors)")
            #expect(
                (left.output + left.errors).split(whereSeparator: \.isWhitespace)
                    .joined(separator: " ").contains("A signal ended the wait for the database"),
                "\(left.output)\(left.errors)")
            server.thaw(session)
            try server.waitForEndOfSessions()
            try night.finish(copy, as: undisturbed, "after a signal")
        }

        @Test func `is given up, and what it was asked to commit is looked up`() throws {
            let server = try OwnServer()
            defer { server.stop() }
            let night = try ServerNight(customers: 20, on: server, .inFile)
            let undisturbed = try night.undisturbed(slowedBy: Self.slowness)
            try night.reset(slowedBy: Self.slowness)
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let running = try BuiltExecutable("trueup").start(MappedNight.command, in: copy.folder)
            let session = try server.sessionAsleep()
            server.freeze(session)
            defer { server.thaw(session) }
            let frozen = ContinuousClock.now
            let left = running.wait()
            // The statement's 30 s and a margin; what it locks is then in the way.
            #expect((35...120).contains(seconds(since: frozen)))
            #expect([69, 75].contains(left.status), "\(left.output)\(left.errors)")
            server.thaw(session)
            try server.waitForEndOfSessions()
            try night.finish(copy, as: undisturbed, "after it was given up")
        }

        @Test(
            .enabled(if: OwnServer.hasPooler, "needs PgBouncer (apt: pgbouncer)"),
            arguments: Books.allCases)
        func `behind a proxy that forwards nothing ends a run with 69`(books: Books) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let night = try ServerNight(customers: 20, on: server, books)
            let pool = try server.pool(size: 10)
            _ = try night.undisturbed()
            try night.reset(slowedBy: Self.slowness)
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let settings = copy.folder.appendingPathComponent("trueup.yaml")
            let text = try String(contentsOf: settings, encoding: .utf8)
            try text.replacingOccurrences(of: server.url, with: pool)
                .write(to: settings, atomically: true, encoding: .utf8)
            let running = try BuiltExecutable("trueup").start(MappedNight.command, in: copy.folder)
            _ = try server.sessionAsleep()
            let proxy = try server.pooler()
            server.freeze(proxy)
            defer { server.thaw(proxy) }
            let frozen = ContinuousClock.now
            let left = running.wait()
            #expect((35...150).contains(seconds(since: frozen)), "\(seconds(since: frozen))")
            #expect(left.status == 69, "\(left.output)\(left.errors)")
        }
    }
#endif
