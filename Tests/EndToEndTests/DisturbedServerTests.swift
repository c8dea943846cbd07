#if PostgreSQL
    import Foundation
    import TestSupport
    import Testing

    /// Nights on PostgreSQL in which the server's disk fills, or the program is killed between the rows
    /// and the books on the server; the nights after them end where an undisturbed one ends.
    @Suite(
        .enabled(if: OwnServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"),
        .serialized, .timeLimit(.minutes(30)))
    struct `A disturbed night on PostgreSQL` {
        /// `TRUEUP_EVERY_STEP=1` tries more moments.
        private static let triesAll =
            ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] != nil

        @Test(
            .enabled(if: OwnServer.mayMount, "needs the right to mount a disk (root)"),
            arguments: [(Books.inFile, 24), (.inFile, 160), (.onServer, 24), (.onServer, 400)])
        func `is finished after the server's disk was full`(
            books: Books, kilobytesLeft: Int
        ) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let night = try ServerNight(customers: 120, on: server, books)
            let undisturbed = try night.undisturbed()
            let disk = try server.mountDisk()
            try night.reset()
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let filler = disk + "/filler"
            try server.fill(filler, leaving: kilobytesLeft)
            let left = try copy.run(MappedNight.command)
            #expect(left.status == 74, "\(left.status) \(left.errors)")
            #expect(
                (left.output + left.errors).contains("full or broken disk"),
                "\(left.output)\(left.errors)")
            _ = try night.state(of: copy).isAhead("\(kilobytesLeft) kB")
            try FileManager.default.removeItem(atPath: filler)
            try night.finish(copy, as: undisturbed, "\(kilobytesLeft) kB")
        }

        /// Both are on the server: the rows and `trueup.ledger` are committed before the books.
        @Test func `is finished where the books on the server lack what stands beside the rows`()
            throws
        {
            let server = try OwnServer()
            defer { server.stop() }
            let night = try ServerNight(customers: 12, on: server, .onServer)
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
            try server.waitForEndOfSessions()
            try night.removeFlag()
            try night.letBooksGoOn()
            #expect(try night.state(of: copy).isAhead("killed"))
            try night.finish(copy, as: undisturbed, "killed")
        }

        @Test(arguments: [DurableSteps.Disturbance.kill, .full])
        func `is finished where the copy lacks what the books on the server have`(
            disturbance: DurableSteps.Disturbance
        ) throws {
            let server = try OwnServer()
            defer { server.stop() }
            let night = try ServerNight(customers: 12, on: server, .onServer)
            let undisturbed = try night.undisturbed()
            let steps = try DurableSteps()
            let transactions = try #require(Int(server.sql(ServerNight.generation)))
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
                try server.waitForEndOfSessions()
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
