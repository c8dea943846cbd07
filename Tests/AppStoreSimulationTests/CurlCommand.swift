import Foundation

/// libcurl's own tool, as a client that shares nothing with the simulator.
enum CurlCommand {
    private static let path = "/usr/bin/curl"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// Runs it; output and errors in one text.
    static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
        try await ClientProcess.run(path, arguments)
    }
}
