#if PostgreSQL
    import Foundation

    /// A PostgreSQL server of its own.
    struct OwnServer {
        private static let script =
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("PostgresDatabaseTests/server").path

        static let isInstalled = (try? run(script, ["find"]))?.status == 0

        // The path of a socket is at most 107 bytes long.
        private let folder = "/tmp/trueup-night-\(UUID().uuidString.prefix(8))"

        struct Failure: Error {
            let words: String
        }

        init() throws {
            guard try Self.run(Self.script, ["start", folder]).status == 0 else {
                throw Failure(words: "the server did not start")
            }
        }

        var url: String {
            "postgres://trueup@\(folder.replacingOccurrences(of: "/", with: "%2F"))/postgres"
        }

        func stop() {
            _ = try? Self.run(Self.script, ["stop", folder])
            try? FileManager.default.removeItem(atPath: folder)
        }

        @discardableResult
        func sql(_ text: String) throws -> String {
            let result = try Self.run(
                "/usr/bin/env",
                [
                    "psql", "-h", folder, "-U", "trueup", "-d", "postgres", "-AtXq", "-v",
                    "ON_ERROR_STOP=1", "-c", text,
                ])
            guard result.status == 0 else { throw Failure(words: text) }
            return result.output.trimmingCharacters(in: .newlines)
        }

        private static func run(
            _ program: String, _ arguments: [String]
        ) throws -> (status: Int32, output: String) {
            let process = Process()
            let pipe = Pipe()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = arguments
            process.standardOutput = pipe
            try process.run()
            let data = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return (process.terminationStatus, String(decoding: data, as: UTF8.self))
        }
    }
#endif
