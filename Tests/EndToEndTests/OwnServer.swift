#if PostgreSQL
    import Foundation

    /// A PostgreSQL server of its own.
    struct OwnServer {
        private static let script =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("PostgresDatabaseTests/server").path

        static let isInstalled = (try? run(script, ["find"]))?.status == 0
        static let hasPooler = (try? run(script, ["find-pooler"]))?.status == 0
        static let mayMount = (try? run(script, ["find-disk"]))?.status == 0

        // The path of a socket is at most 107 bytes long.
        let folder = "/tmp/trueup-night-\(UUID().uuidString.prefix(8))"

        struct Failure: Error {
            let words: String
        }

        init() throws { try start() }

        /// Starts it, also after `stopAtOnce`.
        func start() throws {
            guard try Self.run(Self.script, ["start", folder]).status == 0 else {
                throw Failure(words: "the server did not start")
            }
        }

        /// Ends it as `pg_ctl stop -m immediate` does: in the midst of whatever it is doing.
        func stopAtOnce() throws {
            _ = try Self.run(Self.script, ["stop", folder])
        }

        var url: String {
            "postgres://trueup@\(folder.replacingOccurrences(of: "/", with: "%2F"))/postgres"
        }

        /// Starts PgBouncer before it.
        ///
        /// - Parameters:
        ///   - mode: Of its pools.
        ///   - size: How many sessions with the server all its clients share.
        /// - Returns: The URL that leads through it.
        /// - Throws: `Failure` where it does not start.
        func pool(mode: String = "transaction", size: Int = 2) throws -> String {
            guard try Self.run(Self.script, ["pool", folder, mode, "\(size)"]).status == 0 else {
                throw Failure(words: "PgBouncer did not start")
            }
            return url.replacingOccurrences(of: "/postgres", with: "%2Fpool/postgres")
        }

        /// Starts a standby of it, which replays what the server writes.
        ///
        /// - Returns: Runs a statement there.
        /// - Throws: `Failure` where it does not start.
        func standby() throws -> (String) throws -> String {
            guard try Self.run(Self.script, ["standby", folder]).status == 0 else {
                throw Failure(words: "the standby did not start")
            }
            return { try sql($0, at: folder + "/standby", in: "postgres") }
        }

        /// Mounts a small disk, for new tables of the database.
        ///
        /// - Returns: Its folder, in which other files may lie.
        /// - Throws: `Failure` where it cannot be mounted.
        func mountDisk() throws -> String {
            guard try Self.run(Self.script, ["disk", folder]).status == 0 else {
                throw Failure(words: "the disk was not mounted")
            }
            try sql("CREATE TABLESPACE small LOCATION '\(folder)/disk/tables'")
            try sql("ALTER DATABASE postgres SET default_tablespace = small")
            return folder + "/disk"
        }

        /// Fills the small disk but for so many kilobytes.
        func fill(_ file: String, leaving kilobytes: Int) throws {
            let command = """
                free=$(df --output=avail --block-size=1024 "$(dirname '\(file)')" | tail -n 1)
                head --bytes=$(((free - \(kilobytes)) * 1024)) /dev/zero > '\(file)'
                """
            guard try Self.run("/bin/bash", ["-ec", command]).status == 0 else {
                throw Failure(words: "the disk was not filled")
            }
        }

        func stop() {
            _ = try? Self.run(Self.script, ["stop", folder, "with-disk"])
            try? FileManager.default.removeItem(atPath: folder)
        }

        @discardableResult
        func sql(_ text: String, in database: String) throws -> String {
            // PgBouncer answers about itself in a database of this name.
            try sql(text, at: folder + (database == "pgbouncer" ? "/pool" : ""), in: database)
        }

        private func sql(_ text: String, at host: String, in database: String) throws -> String {
            let result = try Self.run(
                "/usr/bin/env",
                [
                    "psql", "-h", host, "-U", "trueup", "-d", database, "-AtXq", "-v",
                    "ON_ERROR_STOP=1", "-c", text,
                ])
            guard result.status == 0 else { throw Failure(words: text) }
            return result.output.trimmingCharacters(in: .newlines)
        }

        /// Stops a process of the server's in the midst of what it does, so that it answers nothing.
        func freeze(_ process: Int32) { kill(process, SIGSTOP) }

        func thaw(_ process: Int32) { kill(process, SIGCONT) }

        /// The number of PgBouncer's process, after `pool`.
        func pooler() throws -> Int32 {
            let text = try String(contentsOfFile: folder + "/pool/pgbouncer.pid", encoding: .utf8)
            guard let number = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
                throw Failure(words: text)
            }
            return number
        }

        /// Waits until a session of the program sleeps in a trigger.
        ///
        /// - Returns: The number of the server's process for it.
        func sessionAsleep() throws -> Int32 {
            for _ in 0..<Self.patience {
                let found = try sql(
                    """
                    SELECT pid FROM pg_stat_activity
                    WHERE application_name = 'trueup' AND wait_event = 'PgSleep' LIMIT 1
                    """)
                if let number = Int32(found) { return number }
                usleep(50_000)
            }
            throw Failure(words: "no session of the program slept")
        }

        /// Waits until the sessions of a killed program have ended, with what they were doing.
        func waitForEndOfSessions() throws {
            for _ in 0..<Self.patience {
                let others = try sql(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'trueup'")
                guard others != "0" else { return }
                usleep(50_000)
            }
            throw Failure(words: "a session did not end")
        }

        private static let patience = 400

        private static func run(
            _ program: String, _ arguments: [String]
        ) throws -> (status: Int32, output: String) {
            let process = Process()
            let pipe = Pipe()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            // Also where the tests are killed, nothing goes on.
            process.environment = ProcessInfo.processInfo.environment.merging(
                ["TRUEUP_SERVER_OWNER": "\(getpid())"]) { _, own in own }
            process.standardOutput = pipe
            try process.run()
            let data = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: data, as: UTF8.self))
        }
    }
#endif
