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
        private static let triesAll =
            ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] != nil
        private static let trials = triesAll ? 8 : 1
        private static let disturbancesPerTrial = 3

        @Test(arguments: Books.allCases)
        func `is finished after SIGKILL at random moments`(books: Books) throws {
            try disturbAtRandom(books, mayEndWith: 137) { night, running in
                running.send(signal: SIGKILL)
                let killed = running.wait()
                try night.server.waitForEndOfSessions()
                return killed
            }
        }

        /// A server that comes back is waited for; only what it was asked as it went may be lost.
        @Test(arguments: Books.allCases)
        func `is finished after the server was stopped at once at random moments`(
            books: Books
        ) throws {
            try disturbAtRandom(books, mayEndWith: 69) { night, running in
                try night.server.stopAtOnce()
                try night.server.start()
                return running.wait()
            }
        }

        @Test(arguments: Books.allCases)
        func `is waited for while the server restarts, once the run has begun`(books: Books) throws
        {
            let night = try ServerNight(customers: 60, books)
            defer { night.server.stop() }
            let undisturbed = try night.undisturbed(slowedBy: ServerNight.slowness)
            try night.reset(slowedBy: ServerNight.slowness)
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let running = try BuiltExecutable("trueup").start(MappedNight.command, in: copy.folder)
            usleep(UInt32(undisturbed.milliseconds / 2) * 1000)
            try night.server.stopAtOnce()
            sleep(2)
            try night.server.start()
            let left = running.wait()
            #expect(left.status == undisturbed.status, "\(left.output)\(left.errors)")
            try night.finish(copy, as: undisturbed, "\(books)")
        }

        /// Disturbs nights at moments of their length, and lets the next ones go on.
        private func disturbAtRandom(
            _ books: Books, mayEndWith status: Int32,
            _ disturb: (ServerNight, BuiltExecutable.Running) throws -> BuiltExecutable.Result
        ) throws {
            let night = try ServerNight(customers: 60, books)
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
                    let when = "books \(books), trial \(trial), after \(after) ms"
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
            arguments: [(Books.inFile, 24), (.inFile, 160), (.onServer, 24), (.onServer, 400)])
        func `is finished after the server's disk was full`(
            books: Books, kilobytesLeft: Int
        ) throws {
            let night = try ServerNight(customers: 120, books)
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
                (left.output + left.errors).contains("full or broken disk"),
                "\(left.output)\(left.errors)")
            _ = try night.state(of: copy).isAhead("\(kilobytesLeft) kB")
            try FileManager.default.removeItem(atPath: filler)
            try night.finish(copy, as: undisturbed, "\(kilobytesLeft) kB")
        }

        @Test func `is finished where the books lack what the server has committed`() throws {
            let night = try ServerNight(customers: 40, .inFile)
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

        /// Both are on the server: the rows and `trueup.ledger` are committed before the books.
        @Test func `is finished where the books on the server lack what stands beside the rows`()
            throws
        {
            let night = try ServerNight(customers: 12, .onServer)
            defer { night.server.stop() }
            let undisturbed = try night.undisturbed()
            try night.reset(flagsCommit: true)
            try night.holdUpBooks(seconds: 2)
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let running = try BuiltExecutable("trueup").start(MappedNight.command, in: copy.folder)
            while !FileManager.default.fileExists(atPath: night.flag), running.process.isRunning {
                usleep(5000)
            }
            running.send(signal: SIGKILL)
            #expect(running.wait().status == 137)
            try night.server.waitForEndOfSessions()
            try night.removeFlag()
            try night.letBooksGoOn()
            #expect(try night.state(of: copy).isAhead("killed"))
            try night.finish(copy, as: undisturbed, "killed")
        }

        @Test(arguments: [DurableSteps.Disturbance.kill, .full])
        func `is finished where the copy lacks what the books on the server have`(
            disturbance: DurableSteps.Disturbance
        ) throws {
            let night = try ServerNight(customers: 12, .onServer)
            defer { night.server.stop() }
            let undisturbed = try night.undisturbed()
            let steps = try DurableSteps()
            let transactions = try #require(Int(night.server.sql(ServerNight.generation)))
            for number in Self.some(of: transactions) {
                let when = "\(disturbance) behind transaction \(number) of \(transactions)"
                try night.reset()
                try night.flag(transaction: number)
                let copy = try night.origin.copy()
                defer { copy.remove() }
                let left = try steps.disturbed(
                    by: disturbance, once: night.flag, MappedNight.command, in: copy.folder)
                // How many there are differs by a few from run to run.
                let ends: [Int32] = disturbance == .kill ? [137] : [73, 74]
                #expect(
                    (ends + [undisturbed.status]).contains(left.status), "\(when): \(left.errors)")
                try night.server.waitForEndOfSessions()
                try night.letBooksGoOn()
                try? night.removeFlag()
                try night.finish(copy, as: undisturbed, when)
            }
        }

        /// One of each part of a night.
        private static func some(of all: Int) -> [Int] {
            guard !triesAll else { return Array(1...all) }
            let parts = 4
            return (0..<parts).map { all * $0 / parts + Int.random(in: 1...max(1, all / parts)) }
        }
    }
#endif
