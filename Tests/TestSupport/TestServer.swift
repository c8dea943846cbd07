#if PostgreSQL
    import Foundation
    package import PostgresDatabase
    import Synchronization

    /// A PostgreSQL server for all tests of this process, started when the first one asks.
    package enum TestServer {
        /// Whether one can be started here.
        package static let isInstalled: Bool = {
            let found = (try? run(["find"])) == 0
            if !found {
                print("not tested: PostgreSQL, because no server is installed (apt: postgresql)")
            }
            return found
        }()

        private static let script =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("PostgresDatabaseTests/server").path

        private static let folder = "/tmp/trueup-pg-\(ProcessInfo.processInfo.processIdentifier)"
        private static let databases = Atomic<Int>(0)

        private static let isStarted: Bool = {
            guard (try? run(["start", folder])) == 0 else { return false }
            atexit {
                _ = try? TestServer.run(["stop", TestServer.folder])
                try? FileManager.default.removeItem(atPath: TestServer.folder)
            }
            return true
        }()

        private static func run(_ arguments: [String]) throws -> Int32 {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: script)
            process.arguments = arguments
            // Also where the tests are killed, nothing goes on.
            process.environment = ProcessInfo.processInfo.environment.merging(
                ["TRUEUP_SERVER_OWNER": "\(getpid())"]) { _, own in own }
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }

        struct NotStarted: Error {}

        package static func url(database: String, user: String = "trueup") -> String {
            let host = folder.replacingOccurrences(of: "/", with: "%2F")
            return "postgres://\(user)@\(host)/\(database)"
        }

        package static func session(
            database: String, user: String = "trueup"
        ) throws -> any ServerSession {
            try PostgresConnector.libpq(PostgresAddress(url: url(database: database, user: user)))
                .connect()
        }

        /// A new database of its own.
        ///
        /// - Returns: Its name.
        package static func makeDatabase() throws -> String {
            guard isStarted else { throw NotStarted() }
            let name = "test\(databases.add(1, ordering: .relaxed).newValue)"
            _ = try session(database: "postgres").script("CREATE DATABASE \(name)")
            return name
        }
    }
#endif
