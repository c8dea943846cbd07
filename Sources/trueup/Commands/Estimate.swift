import AppStoreServerAPI
import ArgumentParser
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// `trueup estimate JOB`: what a run would ask, and what that takes, before anything is asked.
struct Estimate: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Forecast a run: rows, calls, time and share of the quota.",
        discussion: """
            It scans the table as the run does, changes nothing, makes no call to Apple and needs no \
            key. Some numbers only Apple knows, such as the pages of notifications: it takes them from \
            the job's last runs, or says that they are unknown. If your own table was restored to a \
            state before trueup's database, it exits with 78, as a run would.
            """)

    @Argument(help: .job, completion: .jobs)
    var job: String

    @Option(
        help: ArgumentHelp(
            "Forecast as if it were this time (RFC 3339); with loopback endpoints only.",
            valueName: "time"))
    var now: Timestamp?

    @OptionGroup var scope: AppScope

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [
            .ok: "the forecast was printed",
            .empty: "no app is assigned to the worker of --app-shard",
        ])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let apps = try scope.apps(among: settings.apps)
        let job = try JobSettings.load(job, beside: settings)
        let now = try invocation.clock(startingAt: now, settings: settings)()
        let store = try Books(settings).openToRead(at: invocation.now())
        let ledger = await CompanyLedgerLook.look(settings, beside: store)
        // What no run would begin with is not worth a forecast.
        if case .lacksEntries(let problem) = ledger { throw StoreError.schema(problem) }
        let forecast = try await RunForecast(
            of: job, settings: settings, apps: apps, at: now, in: store)
        let report = EstimateReport(
            job: job, forecast: forecast, copy: try settings.company.copy(in: store),
            companyLedger: ledger)
        try common.show(report.json, report.lines, in: invocation)
        return .ok
    }
}

/// The output of `estimate`, as a value: for people as text, for machines as JSON.
struct EstimateReport {
    let job: JobSettings
    let forecast: RunForecast
    /// How old the copy of a company's own table is.
    var copy: CopyState?
    /// The state of the ledger next to the company's own table, where there is one.
    var companyLedger: CompanyLedgerLook?

    private var questions: QuestionForecast { forecast.questions }

    private var asked: Int { questions.questions.values.reduce(0, +) }

    /// The distinct reasons, the most urgent first.
    private var reasons: [(QuestionReason, Int)] {
        QuestionReason.allCases.compactMap { reason in
            questions.questions[reason].map { (reason, $0) }
        }
    }

    // MARK: Text

    var lines: [String] {
        let customers = questions.customers
        var lines = [
            "Job        \(job.name): \(job.steps.map(\.rawValue).joined(separator: " and ")), "
                + "coverage \(job.coverage.rawValue)",
            "Rows       \(questions.rows), of \(customers.isExact ? "" : "about ")"
                + "\(customers.count) customers",
        ]
        if let unchanged = questions.unchanged {
            lines.append("Unchanged  \(unchanged) rows that no reason names")
        }
        if !questions.excluded.isEmpty { lines.append("Excluded   " + excluded) }
        lines += ["", "Checks, in rows"]
        lines += reasons.isEmpty ? ["  none"] : reasonLines
        lines += ["", "Calls"] + callLines
        lines += ["", "Time       " + time]
        lines += ["", "How sure"] + notes.map { "  " + $0 }
        return lines
    }

    private var excluded: String {
        questions.excluded.sorted { $0.key.rawValue < $1.key.rawValue }.map { reason, rows in
            switch reason {
            case .inFlight: "\(rows) rows in flight (younger than settle)"
            case .appNotConfigured: "\(rows) rows of no configured app"
            case .seatMember: "\(rows) rows of members of groups that you manage"
            }
        }.joined(separator: ", ")
    }

    private var reasonLines: [String] {
        TerminalLines.table(
            reasons.map { [$0.0.rawValue, String($0.1)] } + [["total", String(asked)]],
            rightAligned: [1])
    }

    private var callLines: [String] {
        let head = [
            "app", "endpoint", "expected", "at least", "at most", "of the job's hour",
            "of Apple's hour", "",
        ]
        return TerminalLines.table(
            [head]
                + forecast.lines.map { line in
                    [
                        "\(line.app.bundleID) \(line.app.environment.rawValue)",
                        line.endpoint.rawValue,
                        line.expected.map(String.init) ?? "unknown", String(line.least),
                        line.most.map(String.init) ?? "unknown",
                        line.shareOfHour.map(Self.percent) ?? "",
                        line.shareOfAppleHour.map(Self.percent) ?? "", line.basis.rawValue,
                    ]
                }, rightAligned: [2, 3, 4, 5, 6])
    }

    private var time: String {
        guard let milliseconds = forecast.milliseconds else { return "unknown" }
        let isPart = forecast.lines.contains { $0.expected == nil }
        var text =
            (isPart ? "at least " : "about ")
            + DurationText.age(ofMilliseconds: max(1000, milliseconds))
            + " at the rate that the settings allow"
        if milliseconds > forecast.maxDurationMilliseconds {
            let runs = (milliseconds - 1) / max(1, forecast.maxDurationMilliseconds) + 1
            text +=
                "; max_duration is "
                + DurationText.age(ofMilliseconds: forecast.maxDurationMilliseconds)
                + ", so it takes \(runs) runs"
        }
        return text
    }

    /// The sources of the numbers, a sentence each.
    private var notes: [String] {
        var notes = [
            counted,
            "One status call answers for a customer. Retries, and customers who buy with a second "
                + "Apple Account, need more.",
        ]
        if forecast.readsNotifications { notes.append(notificationNote) }
        if case .notLookedAt = companyLedger, let companyLedger {
            notes.append(companyLedger.text)
        }
        if questions.drawsPart {
            notes.append("The run draws another sample: its customers may be a few more or fewer.")
        }
        if questions.unheld > 0 {
            notes.append(
                "\(questions.unheld) of the checks are about subscriptions that a notification named and "
                    + "the table lacks.")
        }
        if questions.settledInRound > 0 {
            notes.append(
                "Earlier runs of an unfinished full scan have checked \(questions.settledInRound) rows."
            )
        }
        if questions.judgedByStoppedRun > 0 {
            notes.append(
                "An earlier run of this job was stopped after it had checked "
                    + "\(questions.judgedByStoppedRun) rows. They are not counted here: the run continues "
                    + "after them.")
        } else if questions.resumes {
            notes.append(
                "An earlier run of this job was stopped before it had checked any of these rows. The "
                    + "run continues its checkpoint if it begins within \(OpenPass.usualHours) hours of "
                    + "that checkpoint (for some full scans within a day).")
        }
        return notes
    }

    private var counted: String {
        if let missing = copy?.notRead(job: job.name) {
            return missing + " Until then its calls are unknown."
        }
        guard let copy, let read = copy.refreshedAt else {
            return "Rows and checks were counted in the database just now. Apple was not asked."
        }
        return "Rows and checks were counted just now in the rows imported from your table "
            + "\(copy.table) at \(read.rfc3339). Apple was not asked."
    }

    private var notificationNote: String {
        let past = questions.pastRuns
        guard !past.isEmpty else {
            return
                "No run of this job has reached its end, so the number of pages of notifications, and "
                + "what they add or settle, are unknown."
        }
        guard past.contains(where: { $0.coverage != nil }) else {
            return
                "The pages of notifications are those of the job's first run, which reads further back "
                + "than the next. What they add or settle is unknown."
        }
        return "Pages of notifications, and what they add or settle, are those of the job's last "
            + "\(past.count) runs."
    }

    /// One decimal of a per cent.
    private static func percent(_ share: Double) -> String {
        let tenths = Int((min(share, 1e9) * 1000).rounded(.up))
        return "\(tenths / 10).\(tenths % 10) %"
    }

    // MARK: JSON

    var json: CanonicalJSON {
        .object([
            "job": .string(job.name), "coverage": .string(job.coverage.rawValue),
            "steps": .array(job.steps.map { .string($0.rawValue) }),
            "rows": .count(questions.rows),
            "customers": .count(questions.customers.count),
            "customers_are_exact": .boolean(questions.customers.isExact),
            "quiet": .count(questions.unchanged),
            "sample": .count(questions.questions[.sample] ?? 0),
            "excluded": .object(
                ofMembers: questions.excluded.map { ($0.key.rawValue, .count($0.value)) }),
            "questions": .object(ofMembers: reasons.map { ($0.0.rawValue, .count($0.1)) }),
            "calls": .array(forecast.lines.map(json)),
            "seconds": forecast.milliseconds.map { .integer(($0 + 999) / 1000) } ?? .null,
            "max_duration_seconds": .integer(forecast.maxDurationMilliseconds / 1000),
            "goes_on_with_a_stopped_run": .boolean(questions.resumes),
            "checked_by_stopped_run": .count(questions.judgedByStoppedRun),
            "settled_in_round": .count(questions.settledInRound),
            "based_on_runs": .array(questions.pastRuns.map { .string($0.runID) }),
            "notes": .strings(notes),
        ])
    }

    private func json(_ line: RunForecast.Line) -> CanonicalJSON {
        line.app.json([
            "endpoint": .string(line.endpoint.rawValue), "basis": .string(line.basis.rawValue),
            "expected": .count(line.expected),
            "least": .count(line.least),
            "most": .count(line.most),
            "seconds": line.milliseconds.map { .integer(($0 + 999) / 1000) } ?? .null,
            "percent_of_hour": .text(line.shareOfHour.map(Self.number)),
            "percent_of_apple_hour": .text(line.shareOfAppleHour.map(Self.number)),
        ])
    }

    private static func number(_ share: Double) -> String { String(percent(share).dropLast(2)) }
}
