import ArgumentParser
import Reports
import Subscriptions

/// `trueup config check`, `config show` and `config schema`: the settings alone, without a database or a call.
struct Config: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Check the settings and jobs, or show each value and where it comes from.",
        discussion: """
            check reads trueup.yaml and every job next to it, or the named jobs, and prints one line for each \
            file that cannot be used: file, line, key and what to write instead. show prints every setting of \
            trueup.yaml, and of the named jobs, with the value that holds and where it comes from: the line of \
            a file, a variable of the environment, or the default. schema prints the JSON Schema of \
            trueup.yaml (schema settings) or of a job file (schema job) for an editor. The command opens no \
            database, reads no key and makes no call, so it can check a change of the settings before it is \
            deployed; \
            "trueup doctor" checks the rest.
            """)

    enum Action: String, CaseIterable, ExpressibleByArgument {
        case check, show, schema
    }

    @Argument(help: "check, show or schema.")
    var action: Action

    @Argument(
        help: ArgumentHelp(
            "With check and show: jobs, as trueup run takes them. With schema: settings or job.",
            valueName: "name"))
    var names: [String] = []

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.anyCommand, [.config]],
        [
            .ok: "the settings and jobs can be used, or were shown",
            .config: "a file of settings cannot be used",
        ])

    func validate() throws {
        guard action == .schema else { return }
        guard names.count == 1, Self.schemas[names[0]] != nil else {
            throw ValidationError("Write \"trueup config schema settings\" or \"… schema job\".")
        }
    }

    private static let schemas = ["settings": SettingsSchema.settings, "job": SettingsSchema.job]

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        switch action {
        case .check: return try await check(in: invocation)
        case .show: try show(in: invocation)
        case .schema:
            for name in names {
                guard let schema = Self.schemas[name] else { continue }
                try invocation.show(renderedJSON: String(schema.indented.dropLast()))
            }
        }
        return .ok
    }

    private func check(in invocation: Invocation) async throws -> ExitStatus {
        try await common.show(
            skipping: .skipped("jobs", nil, "they are checked once the settings can be used"),
            in: invocation
        ) { settings in settings.diagnoses(withJobs: names).diagnoses }
    }

    private func show(in invocation: Invocation) throws {
        let settings = try common.settings(in: invocation)
        let own = try EffectiveSetting.all(of: settings, environment: invocation.environment)
        var jobs: [(name: String, settings: [EffectiveSetting])] = []
        for name in names {
            let job = try JobSettings.load(name, beside: settings)
            jobs.append((job.name, try EffectiveSetting.all(of: job)))
        }
        try common.show(
            .object([
                "file": .string(settings.file), "settings": .array(own.map(\.json)),
                "jobs": .object(
                    ofMembers: jobs.map { ($0.name, .array($0.settings.map(\.json))) }),
            ]),
            Self.lines(own)
                + jobs.flatMap { ["", "job \($0.name)"] + Self.lines($0.settings) },
            in: invocation)
    }

    /// Key, value and origin in columns.
    private static func lines(_ settings: [EffectiveSetting]) -> [String] {
        let keyWidth = settings.map(\.key.count).max() ?? 0
        let values = settings.map { setting in
            setting.value ?? setting.absence.map { "(\($0))" } ?? ""
        }
        // One long value, such as a mapping, does not push every origin off the screen.
        let valueWidth = min(values.map(\.count).max() ?? 0, 44)
        return zip(settings, values).map { setting, value in
            setting.key.padded(to: keyWidth) + "  " + value.padded(to: valueWidth) + "  "
                + setting.source.text
        }
    }
}
