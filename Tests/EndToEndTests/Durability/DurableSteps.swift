import Foundation
import TestSupport
import Testing

/// Runs the built executable with its durable steps counted, and ends it or fills the disk at one.
///
/// The steps are counted by a library that is preloaded into the process (`durable_steps.c`); the
/// executable is the one that users run and knows nothing of it.
struct DurableSteps {
    /// What counts as a step.
    enum Kind: String {
        /// Syncs, renames, removals, new files and folders: what outlives the process.
        case sync
        /// The same and every write to a file.
        case write
    }

    private let library: URL
    private let trueup = BuiltExecutable("trueup")

    init() throws {
        library = try Self.compiled.get()
    }

    /// Runs a command undisturbed and counts its steps, or those at files with a text in their path.
    func count(
        _ kind: Kind, at files: String = "", of arguments: [String], in folder: URL
    ) throws -> (steps: Int, result: BuiltExecutable.Result) {
        let counter = folder.appendingPathComponent("steps")
        let result = try trueup.run(
            arguments, in: folder,
            environment: environment(
                folder, kind,
                ["DURABLE_STEPS_COUNT": counter.path, "DURABLE_STEPS_OF": files]))
        let bytes = try Data(contentsOf: counter)
        try FileManager.default.removeItem(at: counter)
        return (bytes.reversed().reduce(0) { $0 << 8 | Int($1) }, result)
    }

    /// Runs a command undisturbed and counts what it commits to its database, and the syncs of the
    /// database's log.
    func commits(
        of arguments: [String], in folder: URL
    ) throws -> (commits: Int, syncs: Int, result: BuiltExecutable.Result) {
        let counter = folder.appendingPathComponent("commits")
        let result = try trueup.run(
            arguments, in: folder,
            environment: environment(folder, .sync, ["DURABLE_STEPS_COMMITS": counter.path]))
        let bytes = try [UInt8](Data(contentsOf: counter))
        try FileManager.default.removeItem(at: counter)
        let numbers = [bytes.prefix(8), bytes.dropFirst(8)].map { part in
            part.reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        return (numbers[0], numbers[1], result)
    }

    /// Runs a command that is killed right before its n-th step.
    func killed(
        at step: Int, _ arguments: [String], in folder: URL
    ) throws -> BuiltExecutable.Result {
        try trueup.run(
            arguments, in: folder,
            environment: environment(folder, .sync, ["DURABLE_STEPS_KILL_AT": "\(step)"]))
    }

    /// Runs a command that finds the disk full from its n-th step on: of all files, or of those with a
    /// text in their path.
    func withFullDisk(
        from step: Int, at files: String = "", _ arguments: [String], in folder: URL
    ) throws -> BuiltExecutable.Result {
        try trueup.run(
            arguments, in: folder,
            environment: environment(
                folder, .write,
                ["DURABLE_STEPS_FULL_AT": "\(step)", "DURABLE_STEPS_OF": files]))
    }

    /// What happens once the command has done something, or somebody else has.
    enum Disturbance: String {
        /// It is killed before it does anything else to a file.
        case kill
        /// The disk is full, but not for the files whose steps were counted.
        case full
    }

    /// Runs a command that is disturbed behind its n-th sync, rename or removal of files with a text in
    /// their path.
    func disturbed(
        by disturbance: Disturbance, after step: Int, at files: String, _ arguments: [String],
        in folder: URL
    ) throws -> BuiltExecutable.Result {
        try trueup.run(
            arguments, in: folder,
            environment: environment(
                folder, .sync,
                [
                    "DURABLE_STEPS_THEN": disturbance.rawValue, "DURABLE_STEPS_OF": files,
                    "DURABLE_STEPS_AFTER": "\(step)",
                ]))
    }

    /// Runs a command that is disturbed as soon as a file is there.
    func disturbed(
        by disturbance: Disturbance, once flag: String, _ arguments: [String], in folder: URL
    ) throws -> BuiltExecutable.Result {
        try trueup.run(
            arguments, in: folder,
            environment: environment(
                folder, .write,
                ["DURABLE_STEPS_THEN": disturbance.rawValue, "DURABLE_STEPS_WHILE": flag]))
    }

    private func environment(
        _ folder: URL, _ kind: Kind, _ more: [String: String]
    ) -> [String: String] {
        more.merging([
            "LD_PRELOAD": library.path, "DURABLE_STEPS_ROOT": folder.path,
            "DURABLE_STEPS_KIND": kind.rawValue,
        ]) { mine, _ in mine }
    }

    struct NoCompiler: Error, CustomStringConvertible {
        let description: String
    }

    /// Compiled once, by the compiler that comes with Swift or by the system's.
    private static let compiled = Result { () throws -> URL in
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("durable_steps.c")
        let library = FileManager.default.temporaryDirectory
            .appendingPathComponent("durable-steps-\(UUID().uuidString).so")
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
        guard compile.terminationStatus == 0 else {
            throw NoCompiler(description: "durable_steps.c could not be compiled")
        }
        return library
    }
}
