import Foundation

/// libcurl's own tool, as a client that shares nothing with the simulator.
enum CurlCommand {
    private static let path = "/usr/bin/curl"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Runs it; output and errors in one text.
    static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
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
}
