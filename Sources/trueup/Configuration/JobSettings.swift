import FoundationEssentials
package import Reconciliation
package import ReconciliationRun
package import Subscriptions

/// The settings of one job; the initial values are the defaults.
package struct JobSettings: Hashable, Sendable, SettingsSection {
    /// The file's name without `.yaml`.
    package var name = ""
    package var file = ""
    /// In the order in which they are done: recover reads the notification history and settles what it touched,
    /// walk asks for statuses and, when needed, history.
    package var steps: [ReconciliationJob.Step] = [.recover, .walk]
    package var mode: RunMode = .apply
    package var coverage: CoverageKind = .delta
    package var history: HistoryUse = .whenNeeded
    package var sweepDays = 30
    package var sweepEndedDays = 180
    /// Quiet rows asked at random.
    package var sample = SampleSize.rows(1000)
    /// How often Apple is asked for the refunds of customers whose one-time purchases are stored; `nil`: never.
    package var purchaseSweepDays: Int?
    package var settleMilliseconds: Int64 = 15 * 60_000
    package var maxDurationMilliseconds: Int64 = 4 * 3_600_000
    package var maxOutageMilliseconds: Int64 = 30 * 60_000
    package var failOn: FailureThreshold = .high
    package var notFoundConfirmations = 3
    package var recover = Recovery()
    package var guards = GuardLimits()
    package var hooks = JobHooks()
    /// Columns that are reported but never written.
    package var reportOnlyFields: Set<String> = Self.alwaysReportOnly

    static let declared: [Setting<JobSettings>] = [
        Setting(
            "steps", \.steps, .steps, newPass: .yes,
            "recover = notification history, walk = statuses and, when needed, history"),
        Setting(
            "mode", \.mode, .choice, newPass: .asCommanded,
            "check leaves a plan for \"trueup apply\" instead"),
        Setting(
            "coverage", \.coverage, .choice, newPass: .yes,
            "delta = rows that may have changed, at Apple or in the table + a slow sweep + a sample; full = every row"
        ),
        Setting(
            "history", \.history, .choice, newPass: .yes,
            "whether Apple's transaction history is read"),
        Setting(
            "sweep_days", \.sweepDays, .wholeNumber(in: 1...3650), newPass: .no,
            "how often Apple's signed statement (an answer, or a notification that agrees) confirms a row that is active or in billing retry"
        ),
        Setting(
            "sweep_ended_days", \.sweepEndedDays, .wholeNumber(in: 1...3650), newPass: .no,
            "every other row"),
        Setting(
            "sample", \.sample, .sample, newPass: .no,
            "unchanged rows that each run draws at random and checks: a number, or a share below 1"),
        Setting(
            "purchases",
            [
                Setting(
                    "sweep_days", \.purchaseSweepDays, .wholeNumberOrNone(in: 1...3650),
                    newPass: .no,
                    "in how many days a run reads each customer's refunds once, or the history of a customer without a subscription, with one call or more; none = never"
                )
            ],
            "how stored one-time purchases are checked beyond notifications and histories"),
        Setting(
            "settle", \.settleMilliseconds, .duration, newPass: .yes,
            "rows with a younger signed_date are excluded as in flight"),
        Setting(
            "max_duration", \.maxDurationMilliseconds,
            .duration(not0: "must be more than 0, or the run ends before it begins"),
            newPass: .no, "after this the run stops and says what is left; the next one continues"),
        Setting(
            "max_outage", \.maxOutageMilliseconds, .duration, newPass: .no,
            "how long to wait for a failing endpoint"),
        Setting(
            "fail_on", \.failOn, .choice, newPass: .yes,
            "open findings of this severity or above make a run exit with 2 (no finding has severity low so far); new-… counts only those that no earlier run has reported"
        ),
        Setting(
            "not_found_confirmations", \.notFoundConfirmations, .wholeNumber(in: 1...365),
            newPass: .yes, "distinct UTC days before \"not found\" is confirmed"),
        Setting(
            "recover", Recovery.declared.map { $0.within(\.recover) },
            "how the notification history is read"),
        Setting(
            "guards", GuardLimits.declared.map { $0.within(\.guards) },
            "checked on the whole plan, before the first write"),
        Setting(
            "hooks", JobHooks.declared.map { $0.within(\.hooks) },
            "programs of yours that a run starts; docs/hooks.md"),
        Setting(
            "authority", \.reportOnlyFields, .authority, newPass: .yes, digestKey: "report_only",
            "what is report-only is never written"),
    ]

    package static let descriptions = declared.map(\.description)

    /// A price that was charged is corrected by accountants, not by a job.
    static let alwaysReportOnly: Set<String> = ["price", "currency"]

    init() {}

    package init(name: String, file: String) {
        self.name = name
        self.file = file
    }

    /// How the notification history is read.
    package struct Recovery: Hashable, Sendable, SettingsSection {
        package var overlapMilliseconds: Int64 = 7 * Milliseconds.perDay
        package var lookbackMilliseconds: Int64 = 30 * Milliseconds.perDay
        package var inbox: Inbox = .none

        static let declared: [Setting<Recovery>] = [
            Setting(
                "overlap", \.overlapMilliseconds, .duration, newPass: .yes,
                "re-read behind the watermark, as notifications show up late"),
            Setting(
                "lookback", \.lookbackMilliseconds, .duration(not0: "must be more than 0"),
                newPass: .yes, "the same on the very first run; limited to what Apple keeps"),
            Setting(
                "inbox", \.inbox, .choice, newPass: .yes,
                "imported = received notifications are imported, so that lost ones are found"),
        ]
    }
}

/// The company's programs that a run starts, each a path and its arguments; empty for none.
package struct JobHooks: Hashable, Sendable, SettingsSection {
    package var before: [String] = []
    package var afterPlan: [String] = []
    package var after: [String] = []
    package var timeoutMilliseconds: Int64 = 60_000

    static let declared: [Setting<JobHooks>] = [
        Setting(
            "before", \.before, .commandOrNone, newPass: .no,
            example: "[/usr/local/bin/may-run]",
            "starts before the run reads a row or asks Apple, and may keep it from beginning"),
        Setting(
            "after_plan", \.afterPlan, .commandOrNone, newPass: .no,
            example: "[/usr/local/bin/review-plan]",
            "reads the plan before the first write, and may refuse it"),
        Setting(
            "after", \.after, .commandOrNone, newPass: .no,
            example: "[/usr/local/bin/after-run]",
            "reads the summary once the report is published"),
        Setting(
            "timeout", \.timeoutMilliseconds,
            .duration(not0: "must be more than 0, or no program could end in time"), newPass: .no,
            "of one program; after it the program is stopped, which counts as a refusal"),
    ]

    /// The programs that the job names, in the order in which a run starts them.
    var commands: [(hook: String, words: [String])] {
        [("before", before), ("after_plan", afterPlan), ("after", after)].filter {
            !$0.1.isEmpty
        }
    }
}

/// Which rows a walk checks.
package enum CoverageKind: String, Hashable, Sendable, CaseIterable {
    case delta, full
}

/// Whether received notifications are imported, so that a lost one can be recognised.
package enum Inbox: String, Hashable, Sendable, CaseIterable {
    case none, imported
}

/// From which severity on unresolved findings fail a run.
package enum FailureThreshold: String, Hashable, Sendable, CaseIterable {
    case none, low, medium, high, critical
    case newLow = "new-low"
    case newMedium = "new-medium"
    case newHigh = "new-high"
    case newCritical = "new-critical"

    /// `nil` when no finding fails the run.
    package var severity: Severity? {
        Severity(rawValue: isAboutNewOnly ? String(rawValue.dropFirst(4)) : rawValue)
    }

    /// Whether findings that an earlier run has reported, and that are open since, do not count.
    package var isAboutNewOnly: Bool { rawValue.hasPrefix("new-") }
}

extension SettingForm where Value == SampleSize {
    /// A number of rows, or a part of them.
    static var sample: SettingForm {
        SettingForm(
            "number of rows, or a share from 0 to 1", schema: SettingsSchema.amount,
            examples: ["500", "0.25"],
            read: { value throws(ConfigurationError) in
                let number = try value.decimal("a number of rows, or a share from 0 to 1")
                guard number == number.rounded() else { return .share(try value.share()) }
                return .rows(Int(try value.integer(in: 0...Int64(Int32.max))))
            },
            written: { size in
                switch size {
                case .rows(let rows): String(rows)
                case .share(let share): String(share)
                }
            },
            digested: { size in
                switch size {
                case .rows(let rows): .integer(Int64(rows))
                case .share(let share): .string(String(share))
                }
            })
    }
}

/// How the `JOB` of a command line becomes a file.
extension JobSettings {
    /// Reads `jobs/JOB.yaml` next to the settings, or the file at a path.
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

    /// The jobs of the folder `jobs` next to the settings, sorted.
    static func names(beside settings: Settings) -> [String] {
        names(in: SettingsPath.resolve("jobs", from: settings.directory))
    }

    private static func names(in folder: String) -> [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".yaml") }.map(SettingsPath.stem).sorted()
    }

    private static func suggestion(for job: String, in folder: String) -> String {
        let jobs = names(in: folder)
        if jobs.isEmpty { return "\"trueup init\" writes the usual jobs" }
        return job.suggestion(among: jobs) ?? "jobs there: " + jobs.joined(separator: ", ")
    }
}

/// A job file, read and checked.
extension JobSettings {
    /// The job in a text; `file` gives it its name.
    package init(yaml: String, file: String) throws(ConfigurationError) {
        self.init(name: SettingsPath.stem(of: file), file: file)
        // A job with every default corrects rows: nobody means that by a file that was cut to
        // nothing.
        guard !yaml.allSatisfy(\.isWhitespace) else {
            throw ConfigurationError(
                file: file, line: 1, problem: "the file is empty",
                suggestion: "write a comment into it for a job with every default, or start from "
                    + "the usual jobs, which \"trueup init\" writes elsewhere")
        }
        let keys = Self.declared.map(\.key)
        try SettingsMapping(yaml: yaml, file: file, keys: keys)?.read(Self.declared, into: &self)
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

extension SettingForm where Value == [String] {
    /// A program and its arguments; none is written `none`.
    static var commandOrNone: SettingForm {
        let command = SettingForm.command
        return SettingForm(
            command.words + "; or `none`",
            schema: SettingsSchema.either(command.schema, SettingsSchema.choice(["none"])),
            read: { value throws(ConfigurationError) in
                if value.isScalar, try value.text("a list of words, or none") == "none" {
                    return []
                }
                return try command.read(value)
            },
            written: { $0.isEmpty ? "none" : nil })
    }
}

extension SettingForm where Value == [ReconciliationJob.Step] {
    static var steps: SettingForm {
        SettingForm(
            "list of `recover` and `walk`, in this order",
            schema: SettingsSchema.list(
                of: SettingsSchema.choice(ReconciliationJob.Step.allCases.map(\.rawValue))),
            examples: ["[recover]", "[walk]"],
            read: { value throws(ConfigurationError) in
                var steps: [ReconciliationJob.Step] = []
                for entry in try value.list() {
                    let step: ReconciliationJob.Step = try entry.choice()
                    guard !steps.contains(step) else {
                        throw entry.error("\(step.rawValue) is listed twice")
                    }
                    steps.append(step)
                }
                guard steps == ReconciliationJob.Step.allCases.filter(steps.contains) else {
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
            schema: SettingsSchema.members(
                Authority.columns, SettingsSchema.choice(Authority.allCases.map(\.rawValue))),
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

/// A duration as people write it in settings and arguments: a whole number and one unit.
///
/// Units are `s`, `m`, `h` and `d`; a bare number is refused, because it could mean any of them.
package struct DurationText: Hashable, Sendable {
    /// Longer ones are a mistake, and must not overflow when added to a time.
    package static let maximumMilliseconds = 3650 * Milliseconds.perDay

    package let milliseconds: Int64

    private static let unitMilliseconds: [Character: Int64] = [
        "s": Milliseconds.perSecond, "m": Milliseconds.perMinute, "h": Milliseconds.perHour,
        "d": Milliseconds.perDay,
    ]

    package init?(_ text: String) {
        guard let last = text.last, let unit = Self.unitMilliseconds[last] else { return nil }
        let digits = text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }),
            let count = Int64(digits)
        else { return nil }
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        guard !overflow, product <= Self.maximumMilliseconds else { return nil }
        milliseconds = product
    }

    /// A duration of whole seconds in the largest unit that fits: `4h`, never `240m`.
    static func text(ofMilliseconds milliseconds: Int64) -> String {
        let units = unitMilliseconds.sorted { $0.value > $1.value }
        let unit = units.first { milliseconds != 0 && milliseconds % $0.value == 0 }
        return unit.map { "\(milliseconds / $0.value)\($0.key)" } ?? "\(milliseconds / 1000)s"
    }

    /// How long something took or how old it is, in its two largest units: `2 h 3 min`.
    static func age(ofMilliseconds milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min"
        case ..<86_400: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: return "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
        }
    }

    static var longest: String { text(ofMilliseconds: maximumMilliseconds) }

    /// Returns a suggestion for a text that is not a duration.
    static func suggestion(for text: String) -> String {
        if !text.isEmpty, text.allSatisfy({ $0.isASCII && $0.isNumber }) {
            return "add a unit: \(text)s, \(text)m, \(text)h or \(text)d"
        }
        return "write a whole number and s, m, h or d, for example 15m, at most \(longest)"
    }
}
