import Foundation
import Reports
import Subscriptions

/// A folder that is removed when the last reference to it goes.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "reports-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func text(_ name: String) throws -> String {
        String(
            decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)), as: UTF8.self)
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    /// Writes bytes and returns the file's path.
    func write(bytes: [UInt8], to name: String) throws -> String {
        let file = path + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return file
    }

    func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: path + "/" + name)
    }

    func names(in name: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path + "/" + name).sorted()
    }

    /// Begins and finishes the sample run, or another one.
    func report(
        _ run: StoredRun? = nil, context: ReportContext = Samples.context
    ) throws -> FinishedReport {
        let run = try run ?? Samples.run()
        let folder = try ReportFolder.begin(
            in: path, runID: run.runSummary.header.runID, started: run.runSummary.header.started)
        return try folder.finish(run, context: context)
    }
}

/// Lowercase hexadecimal, found by writing the text through the sealing writer.
func sha256(_ text: String) throws -> String {
    var file = try OutputFile(creating: "/dev/null")
    try file.write(text)
    return try file.digestSoFar()
}

/// Runs a script with `sh -e` and returns its exit status and everything it printed.
func shell(_ script: String, in folder: String) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-e", "-c", script]
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}
