import Foundation
import TestSupport

/// Runs the built executable and learns each SQL statement that it ran, and how often.
///
/// A library that is preloaded into the process writes them down (`finished_statements.c`), so that a
/// new statement of any command is known as soon as a test runs that command.
struct FinishedStatements {
    /// By text: the most runs in one process.
    private(set) var runs: [String: Int] = [:]

    private let library: URL
    private let trueup = BuiltExecutable("trueup")

    init() throws { library = try Self.compiled.get() }

    /// Runs a command and notes the statements that it ran on a database with this name.
    @discardableResult
    mutating func run(
        _ arguments: [String], in folder: URL, database: String
    ) throws -> BuiltExecutable.Result {
        let file = folder.appendingPathComponent("statements-\(UUID().uuidString)")
        let result = try trueup.run(
            arguments, in: folder,
            environment: ["LD_PRELOAD": library.path, "FINISHED_STATEMENTS": file.path])
        let parts = try Data(contentsOf: file).split(separator: 0, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        try FileManager.default.removeItem(at: file)
        var inProcess: [String: Int] = [:]
        for start in stride(from: 0, to: parts.count - 2, by: 3)
        where parts[start].hasSuffix("/" + database) {
            // A pass is named by its number.
            let text = parts[start + 2].replacing(/pass_id = \d+/, with: "pass_id = 1")
            inProcess[text, default: 0] += Int(parts[start + 1]) ?? 0
        }
        runs.merge(inProcess) { max($0, $1) }
        return result
    }

    struct NoCompiler: Error, CustomStringConvertible {
        let description = "finished_statements.c could not be compiled"
    }

    /// Compiled once, by the compiler that comes with Swift or by the system's.
    private static let compiled = Result { () throws -> URL in
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("finished_statements.c")
        let library = FileManager.default.temporaryDirectory
            .appendingPathComponent("finished-statements-\(UUID().uuidString).so")
        let compile = Process()
        compile.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        compile.arguments = [
            "sh", "-c",
            #"for c in clang cc gcc; do command -v $c >/dev/null && exec $c "$@"; done; exit 127"#,
            "sh", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library.path, source.path,
            "-ldl",
        ]
        try compile.run()
        compile.waitUntilExit()
        guard compile.terminationStatus == 0 else { throw NoCompiler() }
        return library
    }
}
