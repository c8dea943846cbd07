import FoundationEssentials
import Reconciliation
import Subscriptions

/// How the `JOB` of a command line becomes a file.
extension JobSettings {
    /// Reads `jobs/JOB.yaml` beside the settings, or the file at a path.
    ///
    /// What contains `/` or ends in `.yaml` or `.yml` is a path, seen from the working folder.
    ///
    /// - Throws: 78 with file, line, key and what to write instead.
    package static func load(
        _ job: String, beside settings: Settings
    ) throws(ConfigurationError) -> JobSettings {
        let isPath = job.contains("/") || job.hasSuffix(".yaml") || job.hasSuffix(".yml")
        let folder = SettingsPath.resolve("jobs", from: settings.directory)
        let file = isPath ? job : folder + "/" + job + ".yaml"
        let text = try SettingsFile.text(
            ofFileAt: file, absent: suggestion(for: SettingsPath.stem(of: job), in: folder))
        return try JobSettings(yaml: text, file: file)
    }

    private static func suggestion(for job: String, in folder: String) -> String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let jobs = names.filter { $0.hasSuffix(".yaml") }.map(SettingsPath.stem).sorted()
        if jobs.isEmpty { return "\"trueup init\" writes the usual jobs" }
        if let nearest = NearestName.suggestion(for: job, among: jobs) {
            return "did you mean \"\(nearest)\"?"
        }
        return "jobs there: " + jobs.joined(separator: ", ")
    }
}

/// A job file, read and checked.
extension JobSettings {
    /// The job in a text; `file` gives it its name.
    package init(yaml: String, file: String) throws(ConfigurationError) {
        self.init(name: SettingsPath.stem(of: file), file: file)
        // A job with every default corrects rows: nobody means that by a file that was cut to nothing.
        guard !yaml.allSatisfy(\.isWhitespace) else {
            throw ConfigurationError(
                file: file, line: 1, key: "steps", problem: "is missing: the file is empty",
                suggestion: "\"trueup init\" writes the usual jobs elsewhere to start from")
        }
        guard let root = try YAMLDocument.root(of: yaml, file: file) else { return }
        let mapping = try SettingsMapping(
            root, file: file, path: "", keys: Self.declared.map(\.key))
        try mapping.read(Self.declared, into: &self)
    }
}

extension Setting<GuardLimits> {
    /// A limit of a guard, as a setting below `guards`.
    init(_ limit: GuardLimit) {
        let count = 0...Int64(Int32.max)
        switch limit.place {
        case .count(let property):
            self.init(
                limit.name, property, .wholeNumber(in: count), newPass: .yes, limit.meaning)
        case .countOrNone(let property):
            self.init(
                limit.name, property, .wholeNumberOrNone(in: count), newPass: .yes, limit.meaning)
        case .share(let property):
            self.init(limit.name, property, .share, newPass: .yes, limit.meaning)
        }
    }
}

extension GuardLimits: SettingsSection {
    static var declared: [Setting<GuardLimits>] { GuardLimits.all.map { Setting($0) } }
}

extension SettingForm where Value == Int64 {
    static func duration(not0 problem: String) -> SettingForm {
        duration.refusing(problem, words: "duration, 1s to \(DurationText.longest)") { $0 == 0 }
    }
}

extension SettingForm where Value == [JobStep] {
    static var steps: SettingForm {
        SettingForm(
            "list of `recover` and `walk`, in this order", examples: ["[recover]", "[walk]"],
            read: { value throws(ConfigurationError) in
                var steps: [JobStep] = []
                for entry in try value.list() {
                    let step: JobStep = try entry.choice()
                    guard !steps.contains(step) else {
                        throw entry.error("\(step.rawValue) stands twice")
                    }
                    steps.append(step)
                }
                guard steps == JobStep.allCases.filter(steps.contains) else {
                    throw value.error(
                        "recover comes before walk: it tells which rows are settled already",
                        suggestion: "write [recover, walk]")
                }
                return steps
            },
            written: { "[" + $0.map(\.rawValue).joined(separator: ", ") + "]" },
            digested: { .array($0.map { .string($0.rawValue) }) })
    }
}

/// Who decides what a column says.
private enum Authority: String, CaseIterable {
    case apple
    case reportOnly = "report-only"

    /// Columns that a job may keep for itself; the others are never written anyway.
    static let columns =
        SubscriptionField.allCases.filter(\.definition.isGovernable).map(\.rawValue)
        + TransactionField.allCases.filter(\.definition.isGovernable).map(\.rawValue)
}

extension SettingForm where Value == Set<String> {
    /// The columns that are report-only.
    static var authority: SettingForm {
        let names = Authority.columns.map { "`\($0)`" }.joined(separator: ", ")
        return SettingForm(
            choiceWords(Authority.allCases.map(\.rawValue)) + " for any of " + names,
            examples: ["{status: report-only}", "{expires_date: report-only}"],
            read: { value throws(ConfigurationError) in
                let always = JobSettings.alwaysReportOnly
                let mapping = try value.mapping(keys: Authority.columns)
                var reportOnly = always
                for column in Authority.columns {
                    guard let value = mapping.value(column) else { continue }
                    switch try value.choice(of: Authority.self) {
                    case .reportOnly: reportOnly.insert(column)
                    case .apple where always.contains(column):
                        throw value.error(
                            "a \(column) that differs is only ever reported; no version overwrites it",
                            suggestion: "write \(column): report-only, or leave it out")
                    case .apple: break
                    }
                }
                return reportOnly
            },
            written: { columns in
                let pairs = Authority.columns.filter(columns.contains).map {
                    "\($0): \(Authority.reportOnly.rawValue)"
                }
                return "{" + pairs.joined(separator: ", ") + "}"
            },
            digested: { .array($0.sorted().map(CanonicalJSON.string)) })
    }
}
