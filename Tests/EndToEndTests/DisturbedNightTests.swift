#if PostgreSQL || MySQL
    import Foundation
    import TestSupport
    import Testing

    /// Nights on a server in which the program or the server is killed, or the network is cut between
    /// them, at random moments; the night after them ends where an undisturbed one ends.
    @Suite(.serialized, .timeLimit(.minutes(30)))
    struct `A night on a server that is disturbed at random` {
        /// `TRUEUP_EVERY_STEP=1` tries more moments.
        private static let triesAll =
            ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] != nil
        private static let trials = triesAll ? 8 : 1
        private static let customers = 60

        /// The server, and for PostgreSQL where the books are.
        enum Place: String, CaseIterable, CustomTestStringConvertible {
            case postgresql = "PostgreSQL"
            case postgresqlWithBooks = "PostgreSQL with the books"
            case mariadb = "MariaDB"

            static var here: [Place] { allCases.filter(\.isHere) }

            private var isHere: Bool {
                switch self {
                case .postgresql, .postgresqlWithBooks:
                    #if PostgreSQL
                        OwnServer.isInstalled
                    #else
                        false
                    #endif
                case .mariadb:
                    #if MySQL
                        OwnMariaDB.isInstalled
                    #else
                        false
                    #endif
                }
            }

            var testDescription: String { rawValue }
            var books: Books { self == .postgresqlWithBooks ? .onServer : .inFile }

            func server() throws -> any NightServer {
                #if MySQL
                    if self == .mariadb { return try OwnMariaDB() }
                #endif
                #if PostgreSQL
                    return try OwnServer()
                #else
                    throw NotBuilt()
                #endif
            }

            private struct NotBuilt: Error {}
        }

        /// What is done to a run in the midst of its work.
        private enum Disturbance: CaseIterable {
            /// SIGKILL of the program.
            case program
            /// SIGKILL of the server, or PostgreSQL's immediate stop.
            case server
            /// What is under way is lost, or it arrives and its answer is lost.
            case network

            /// A server that comes back is waited for; only what it was asked as it went may be lost.
            var mayEndWith: Int32 { self == .program ? 137 : 69 }
        }

        /// Disturbs runs at moments of their length, each time in another way.
        @Test(.enabled(if: ProgramNight.pythonIsHere, "needs python3"), arguments: Place.here)
        func `is finished after kills of either side and a cut network`(place: Place) throws {
            let server = try place.server()
            defer { server.stop() }
            let proxy = try CutProxy(to: server.socket)
            let night = try ServerNight(
                customers: Self.customers, on: server, place.books,
                url: server.url(through: proxy.port))
            var random = Self.generator()
            let undisturbed = try night.undisturbed(slowedBy: ServerNight.slowness)
            for trial in 1...Self.trials {
                try night.reset(slowedBy: ServerNight.slowness)
                let copy = try night.origin.copy()
                defer { copy.remove() }
                for disturbance in Disturbance.allCases.shuffled(using: &random) {
                    let running = try BuiltExecutable("trueup")
                        .start(MappedNight.command, in: copy.folder)
                    let after = Int.random(in: 0...undisturbed.milliseconds, using: &random)
                    usleep(UInt32(after) * 1000)
                    switch disturbance {
                    case .program: running.send(signal: SIGKILL)
                    case .server:
                        try server.stopAtOnce()
                        try server.start()
                    case .network:
                        if Bool.random(using: &random) {
                            proxy.freeze()
                            usleep(.random(in: 0...1_000_000, using: &random))
                        }
                        proxy.cut()
                        usleep(.random(in: 0...1_000_000, using: &random))
                        try proxy.restart()
                    }
                    let left = running.wait()
                    let when = "trial \(trial), \(disturbance) after \(after) ms"
                    #expect(
                        [disturbance.mayEndWith, undisturbed.status, 0].contains(left.status),
                        "\(when): \(left.status) \(left.errors)")
                    _ = try night.state(of: copy).isAhead(when)
                }
                try night.finish(copy, as: undisturbed, "trial \(trial)")
            }
        }

        @Test(arguments: Place.here)
        func `waits for a server that restarts, once the run has begun`(place: Place) throws {
            let server = try place.server()
            defer { server.stop() }
            let night = try ServerNight(customers: Self.customers, on: server, place.books)
            let undisturbed = try night.undisturbed(slowedBy: ServerNight.slowness)
            try night.reset(slowedBy: ServerNight.slowness)
            let copy = try night.origin.copy()
            defer { copy.remove() }
            let running = try BuiltExecutable("trueup").start(MappedNight.command, in: copy.folder)
            usleep(UInt32(undisturbed.milliseconds / 2) * 1000)
            try server.stopAtOnce()
            sleep(2)
            try server.start()
            let left = running.wait()
            #expect(left.status == undisturbed.status, "\(left.output)\(left.errors)")
            try night.finish(copy, as: undisturbed, "\(place)")
        }

        @Test(arguments: Place.here.filter { $0.books == .inFile })
        func `is finished where the books lack what the server has committed`(
            place: Place
        ) throws {
            let server = try place.server()
            defer { server.stop() }
            let night = try ServerNight(customers: 40, on: server)
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
                try server.waitForEndOfSessions()
                try night.removeFlag()
                #expect(try night.state(of: copy).isAhead("\(disturbance)"))
                try night.finish(copy, as: undisturbed, "\(disturbance)")
            }
        }

        /// Each correction found the values that its entry names: what the other writer wrote since
        /// the program had read a row was not overwritten.
        @Test(arguments: Place.here)
        func `keeps what another writer writes meanwhile`(place: Place) throws {
            let server = try place.server()
            defer { server.stop() }
            let night = try ServerNight(customers: Self.customers, on: server, place.books)
            let undisturbed = try night.undisturbed(slowedBy: ServerNight.slowness)
            var random = Self.generator()
            try night.reset(slowedBy: ServerNight.slowness)
            try server.keepHistory()
            let planted = try Planted(of: night.night.place.simulator).kinds
            let ids = try server.lines("SELECT otid FROM apple_subscriptions ORDER BY otid").filter
            {
                Planted.neverCorrected.isDisjoint(with: planted[$0] ?? [])
            }
            let copy = try night.origin.copy()
            defer { copy.remove() }
            var writes = 0
            for isKilled in [false, true, false] {
                let running = try BuiltExecutable("trueup")
                    .start(MappedNight.command, in: copy.folder)
                let length = Int.random(in: 0...undisturbed.milliseconds, using: &random)
                let killedAt = ContinuousClock.now + Duration.milliseconds(length)
                while running.process.isRunning {
                    if isKilled, ContinuousClock.now > killedAt { running.send(signal: SIGKILL) }
                    // With or without the version: the values alone protect a row as well.
                    let raised =
                        Bool.random(using: &random) ? ", lock_version = lock_version + 1" : ""
                    let id = try #require(ids.randomElement(using: &random))
                    try server.sql(
                        """
                        UPDATE apple_subscriptions SET product = 'written \(writes)',
                            apple_status = 3\(raised) WHERE otid = \(id)
                        """)
                    writes += 1
                }
                let left = running.wait()
                #expect([0, 2, 3, 137].contains(left.status), "\(left.status) \(left.errors)")
            }
            #expect(writes > 3)
            let again = try copy.run(MappedNight.command)
            #expect([0, undisturbed.status].contains(again.status), "\(again.errors)")
            let state = try night.state(of: copy)
            let others = Self.values(state).difference(from: Self.values(undisturbed.state))
            #expect(others.isEmpty)
            #expect(state.ledgerThere == state.ledgerHere)
            let verified = try copy.run(["verify", "--database"])
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
            try expectFound(by: server)
        }

        /// The rows without their versions.
        private static func values(_ state: MappedState) -> [String] {
            state.table.map { line in
                var values = line.split(separator: "|", omittingEmptySubsequences: false)
                values.remove(at: 7)
                return values.joined(separator: "|")
            }
        }

        private func expectFound(by server: any NightServer) throws {
            var found: [String: [(product: String, status: Int?)]] = [:]
            for line in try server.lines(
                "SELECT otid, product, apple_status FROM history WHERE writer = 'trueup' ORDER BY number"
            ) {
                let values = line.split(separator: "|", omittingEmptySubsequences: false)
                found[String(values[0]), default: []].append((String(values[1]), Int(values[2])))
            }
            for content in try server.contents() {
                let entry = try #require(
                    JSONSerialization.jsonObject(with: Data(content.utf8)) as? [String: Any])
                guard entry["action"] as? String == "update",
                    entry["table"] as? String == "subscriptions"
                else { continue }
                let before = try #require(entry["before"] as? [String: Any])
                let id = try #require(entry["original_transaction_id"] as? String)
                try #require(found[id]?.isEmpty == false, "\(content)")
                let row = found[id]?.removeFirst()
                if let product = before["product_id"] {
                    #expect(row?.product == product as? String ?? "", "\(content)")
                }
                if let status = before["status"] {
                    #expect(row?.status == status as? Int, "\(content)")
                }
            }
            let others = found.filter { !$0.value.isEmpty }
            #expect(others.isEmpty, "changes without an entry")
        }

        /// `TRUEUP_SEED` repeats a night.
        private static func generator() -> SeededGenerator {
            let stated = ProcessInfo.processInfo.environment["TRUEUP_SEED"].flatMap(UInt64.init)
            let seed = stated ?? .random(in: 0...UInt64(UInt32.max))
            print("TRUEUP_SEED=\(seed)")
            return SeededGenerator(seed: seed)
        }
    }
#endif
