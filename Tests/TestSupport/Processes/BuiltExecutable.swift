package import Foundation
import Synchronization

/// An executable of this package, as built beside the test bundle or in another folder.
package struct BuiltExecutable: Sendable {
    package let url: URL

    package init(_ name: String, in folder: URL? = nil) {
        let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        self.url = (folder ?? bundle.deletingLastPathComponent()).appendingPathComponent(name)
    }

    /// How a finished command ended.
    package struct Result: Sendable {
        package var status: Int32
        package var output: String
        package var errors: String
    }

    /// A command that is still running.
    package final class Running: @unchecked Sendable {
        package let process: Process
        private let output: Pipe
        private let errors: Pipe
        private let collectedOutput = Mutex(Data())
        private let collectedErrors = Mutex(Data())
        private let readers = DispatchGroup()

        fileprivate init(process: Process) throws {
            self.process = process
            output = Pipe()
            errors = Pipe()
            process.standardOutput = output
            process.standardError = errors
            process.standardInput = FileHandle.nullDevice
            try process.run()
            let (out, err) = (output.fileHandleForReading, errors.fileHandleForReading)
            DispatchQueue.global().async(group: readers) { [self] in
                while case let data = out.availableData, !data.isEmpty {
                    collectedOutput.withLock { $0.append(data) }
                }
            }
            DispatchQueue.global().async(group: readers) { [self] in
                while case let data = err.availableData, !data.isEmpty {
                    collectedErrors.withLock { $0.append(data) }
                }
            }
        }

        /// What it has written to standard output so far.
        package var outputSoFar: String {
            collectedOutput.withLock { String(decoding: $0, as: UTF8.self) }
        }

        package func send(signal: Int32) {
            kill(process.processIdentifier, signal)
        }

        /// Waits for the end.
        ///
        /// A signal counts as 128 plus its number, as in a shell.
        package func wait() -> Result {
            process.waitUntilExit()
            readers.wait()
            let status =
                process.terminationReason == .uncaughtSignal
                ? 128 + process.terminationStatus : process.terminationStatus
            return Result(
                status: status, output: outputSoFar,
                errors: collectedErrors.withLock { String(decoding: $0, as: UTF8.self) })
        }
    }

    /// Starts the command.
    ///
    /// `TRUEUP_…` variables of the surroundings are not handed on.
    package func start(
        _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:]
    ) throws -> Running {
        let process = Process()
        process.executableURL = url
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("TRUEUP_") }
            .merging(environment) { _, new in new }
        return try Running(process: process)
    }

    /// Runs the command to its end.
    package func run(
        _ arguments: [String], in folder: URL? = nil, environment: [String: String] = [:]
    ) throws -> Result {
        try start(arguments, in: folder, environment: environment).wait()
    }
}
