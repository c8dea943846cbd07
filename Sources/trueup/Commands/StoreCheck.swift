import ArgumentParser
import FoundationEssentials
import ProgramDatabase
import Subscriptions

/// `trueup store-check`: the promises of a store program, tried against it.
struct StoreCheck: Verb {
    static let configuration = CommandConfiguration(
        commandName: "store-check",
        abstract: "Try whether a store program keeps the promises of its protocol.",
        discussion: """
            It starts the program, fills its table, changes rows, kills it between two lines and over writes, and \
            prints one line for each promise of docs/store-programs.md. The program's table must be one that may be \
            filled and emptied: its answer to hello confirms that with "scratch":true. It opens no database of \
            trueup's and makes no call. The settings file is read only if it is there, for store.timeout and \
            store.environment.
            """)

    @Argument(
        help: ArgumentHelp(
            "The program as in store.url, for example \"program:./my-store --project scratch\".",
            valueName: "program"))
    var program: String

    @Flag(help: "Confirms that the program's table may be filled and emptied.")
    var scratch = false

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.anyCommand, [.config]],
        [
            .ok: "the program keeps every promise that was tried",
            .data:
                "it breaks one, cannot be started, or does not confirm that its table is scratch",
        ])

    func validate() throws {
        try refuse(
            if: !scratch,
            "This command fills and empties the program's table. Give the program a table for that, and write "
                + "--scratch.")
        try refuse(
            if: !ProgramCommand.isURL(program),
            "Name a program: \"program:./my-store --project scratch\".")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let command = try command(in: invocation)
        let (findings, holds) = try await onBackgroundThread { try Self.findings(on: command) }
        let broken = findings.count { $0.outcome == .broken }
        let verdict =
            holds
            ? "The program keeps every promise that was tried."
            : "The program breaks \(broken) of the \(findings.count) promises that were tried."
        try common.show(
            .object([
                "holds": .boolean(holds), "program": .string(command.url),
                "promises": .array(findings.map(Self.json)),
            ]),
            findings.filter { !common.quiet || $0.outcome == .broken }.map(Self.line) + [verdict],
            in: invocation)
        return holds ? .ok : .data
    }

    private static func findings(
        on command: ProgramCommand
    ) throws -> (findings: [StoreContract.Finding], holds: Bool) {
        let company: ProgramCompany
        do throws(StoreError) {
            company = try ProgramCompany(command, writes: true, isScratch: true)
        } catch {
            throw CommandFailure(.data, error.description)
        }
        defer { company.end() }
        guard company.greeting.isScratch else {
            throw CommandFailure(
                .data,
                "The store program \(command.name) does not confirm that its table may be filled and "
                    + "emptied: its answer to `hello` has no \"scratch\":true. Nothing was written. "
                    + "Start it for a table that holds nothing of value "
                    + "(\(DocumentationPage.storePrograms)).")
        }
        var contract = StoreContract(company)
        var findings: [StoreContract.Finding] = []
        let holds = contract.holds { findings.append($0) }
        return (findings, holds)
    }

    /// The program with the variables and the time that the settings give it, where there are
    /// settings.
    private func command(in invocation: Invocation) throws -> ProgramCommand {
        let file = Settings.file(flag: common.config, environment: invocation.environment)
        var company = CompanySettings()
        var directory = "."
        if common.config != nil || FileManager.default.fileExists(atPath: file) {
            let settings = try common.settings(in: invocation)
            company.timeoutMilliseconds = settings.company.timeoutMilliseconds
            company.variables = settings.company.variables
            directory = settings.directory
        }
        return try company.command(
            program, in: directory, file: file, environment: invocation.environment)
    }

    private static func line(of finding: StoreContract.Finding) -> String {
        finding.outcome.rawValue.padded(to: 10)
            + (finding.detail.isEmpty
                ? finding.promise : finding.promise.padded(to: 44) + PlainText.of(finding.detail))
    }

    private static func json(_ finding: StoreContract.Finding) -> CanonicalJSON {
        .object([
            "promise": .string(finding.promise), "outcome": .string(finding.outcome.rawValue),
            "detail": .string(finding.detail),
        ])
    }
}
