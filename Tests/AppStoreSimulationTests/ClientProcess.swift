import AppStoreSimulation
import Foundation

/// Runs another program, which is a client of the simulator, until it exits.
enum ClientProcess {
    /// Runs it without blocking the threads of the simulator; returns output and errors in one text.
    static func run(
        _ program: String, _ arguments: [String], adding variables: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let handle = output.fileHandleForReading
        let data = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: handle.readDataToEndOfFile())
            }
        }
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }

    /// Runs it with a further argument: a file with the simulator's report.
    static func run(
        _ program: String, _ arguments: [String], asking report: SimulatorReport,
        adding variables: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString).json"
        try report.json.write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        return try await run(program, arguments + [file], adding: variables)
    }
}

/// curl, a client that shares no code with the simulator.
enum CurlCommand {
    private static let path = "/usr/bin/curl"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Runs it; returns output and errors in one text.
    static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await ClientProcess.run(path, arguments)
    }
}
