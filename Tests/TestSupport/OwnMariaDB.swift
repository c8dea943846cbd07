#if MySQL
    import Foundation

    /// A MariaDB server of its own, which ends with the process at the latest.
    package struct OwnMariaDB: Sendable {
        private static let script =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("MySQLDatabaseTests/server").path

        /// Whether one can be started here.
        package static let isInstalled: Bool = {
            let isFound = (try? run(script, ["find"]))?.status == 0
            if !isFound {
                print("not tested: MariaDB, because no server is installed (apt: mariadb-server)")
            }
            return isFound
        }()

        // The path of a socket is at most 107 bytes long.
        package let folder: String
        private let options: String

        package struct Failure: Error, CustomStringConvertible {
            package let description: String
        }

        /// - Parameter options: Further ones of the server.
        /// - Throws: `Failure` where it does not start.
        package init(options: String = "") throws {
            folder = "/tmp/trueup-my-\(UUID().uuidString.prefix(8))"
            self.options = options
            try start()
        }

        /// Starts it, also after `stopAtOnce`.
        package func start(options more: String = "") throws {
            let started = try Self.run(
                Self.script, ["start", folder], with: ["TRUEUP_MYSQL_OPTIONS": "\(options) \(more)"]
            )
            guard started.status == 0 else { throw Failure(description: "it did not start") }
        }

        /// Ends it in the midst of whatever it is doing.
        package func stopAtOnce() throws { _ = try Self.run(Self.script, ["stop", folder]) }

        package func stop() {
            _ = try? Self.run(Self.script, ["stop", folder])
            try? FileManager.default.removeItem(atPath: folder)
        }

        package func url(database: String = "shop", user: String = "trueup") -> String {
            "mysql://\(user)@\(folder.replacingOccurrences(of: "/", with: "%2F"))%2Fsocket/\(database)"
        }

        /// Runs statements as `mariadb` does.
        ///
        /// - Parameters:
        ///   - text: The statements.
        ///   - database: Where.
        /// - Returns: The rows, their values divided by tabs.
        /// - Throws: `Failure` with the server's words.
        @discardableResult
        package func sql(_ text: String, in database: String = "shop") throws -> String {
            let result = try Self.run(
                "/usr/bin/env",
                [
                    "mariadb", "--no-defaults", "--default-character-set=utf8mb4", "-S",
                    folder + "/socket", "-u", "trueup", "-N", "-B", "-r", database,
                ], input: text)
            guard result.status == 0 else { throw Failure(description: result.output) }
            return result.output.trimmingCharacters(in: .newlines)
        }

        private static func run(
            _ program: String, _ arguments: [String], with variables: [String: String] = [:],
            input: String = ""
        ) throws -> (status: Int32, output: String) {
            let process = Process()
            let output = Pipe()
            let lent = Pipe()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            // Also where the tests are killed, nothing goes on.
            process.environment = ProcessInfo.processInfo.environment
                .merging(["TRUEUP_SERVER_OWNER": "\(getpid())"]) { _, own in own }
                .merging(variables) { _, own in own }
            process.standardOutput = output
            process.standardError = output
            process.standardInput = lent
            try process.run()
            // A long text must not wait for a reader of the answer.
            let writer = Thread {
                lent.fileHandleForWriting.write(Data(input.utf8))
                try? lent.fileHandleForWriting.close()
            }
            writer.start()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: data, as: UTF8.self))
        }
    }
#endif
