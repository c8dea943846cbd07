import Foundation
import Subscriptions
import Testing
import trueup

/// A folder with settings in which commands are run as a user would, in this process.
final class Workplace {
    let folder: TemporaryFolder
    var environment: [String: String] = [:]

    struct Outcome {
        var status: Subscriptions.ExitStatus
        var output: String
        var diagnostics: String
    }

    init() throws { folder = try TemporaryFolder() }

    var settings: String { folder.path + "/trueup.yaml" }

    /// Runs `trueup` with these arguments and the workplace's settings.
    func run(_ arguments: String...) async -> Outcome { await run(arguments) }

    func run(_ arguments: [String]) async -> Outcome {
        let output = MemorySink()
        let diagnostics = MemorySink()
        var environment = self.environment
        environment["TRUEUP_CONFIG"] = settings
        var invocation = Invocation(
            environment: environment, output: output, diagnostics: diagnostics,
            now: { Timestamp(unixMilliseconds: 1_795_300_000_000) })
        invocation.lockPatienceMilliseconds = 0
        let status = await CommandRunner.run(arguments, in: invocation)
        if let name = arguments.first, let verb = TrueUp.verb(named: name) {
            let declared = verb.exitStatuses.meanings
            #expect(declared[status] != nil, "\(arguments) ended with \(status)")
        }
        return Outcome(status: status, output: output.text, diagnostics: diagnostics.text)
    }

    /// Settings, jobs and an empty database.
    func initialised() async throws -> Workplace {
        try #require(await run("init").status == .ok)
        return self
    }
}

/// Keeps what is written.
private final class MemorySink: ByteSink {
    private var bytes: [UInt8] = []

    func write(_ bytes: [UInt8]) { self.bytes.append(contentsOf: bytes) }

    func flush() {}

    var text: String { String(decoding: bytes, as: UTF8.self) }
}
