package import Reconciliation
package import Subscriptions

/// What one job does; the initial values are the defaults.
package struct JobSettings: Hashable, Sendable, SettingsSection {
    /// The file's name without `.yaml`.
    package var name = ""
    package var file = ""
    package var steps: [JobStep] = [.recover, .walk]
    package var mode: RunMode = .apply
    package var coverage: CoverageKind = .delta
    package var history: HistoryUse = .whenNeeded
    package var sweepDays = 30
    package var sweepEndedDays = 180
    /// Quiet rows asked at random.
    package var sample = SampleSize.rows(1000)
    package var settleMilliseconds: Int64 = 15 * 60_000
    package var maxDurationMilliseconds: Int64 = 4 * 3_600_000
    package var maxOutageMilliseconds: Int64 = 30 * 60_000
    package var failOn: FailureThreshold = .high
    package var notFoundConfirmations = 3
    package var recover = Recovery()
    package var guards = GuardLimits()
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
            "delta = who may have changed, at Apple or in our table + a slow sweep + a sample; full = everyone"
        ),
        Setting(
            "history", \.history, .choice, newPass: .yes,
            "whether Apple's transaction history is read"),
        Setting(
            "sweep_days", \.sweepDays, .wholeNumber(in: 1...3650), newPass: .no,
            "a row that entitles or is in billing retry has Apple's signed word (an answer, or a notification that agrees) at least this often"
        ),
        Setting(
            "sweep_ended_days", \.sweepEndedDays, .wholeNumber(in: 1...3650), newPass: .no,
            "every other row"),
        Setting(
            "sample", \.sample, .sample, newPass: .no,
            "quiet rows asked at random each night: a number, or a share below 1"),
        Setting(
            "settle", \.settleMilliseconds, .duration, newPass: .yes,
            "rows whose signed_date is younger are left alone as in flight"),
        Setting(
            "max_duration", \.maxDurationMilliseconds,
            .duration(not0: "must be more than nothing, or the run ends before it begins"),
            newPass: .no, "then the run stops, says what is left, and the next one goes on"),
        Setting(
            "max_outage", \.maxOutageMilliseconds, .duration, newPass: .no,
            "an endpoint that does not work is waited for this long"),
        Setting(
            "fail_on", \.failOn, .choice, newPass: .yes,
            "unresolved findings from here on end with exit status 2; new-… counts those alone that no earlier run has reported"
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
                "lookback", \.lookbackMilliseconds, .duration(not0: "must be more than nothing"),
                newPass: .yes, "on the very first run; kept inside what Apple remembers"),
            Setting(
                "inbox", \.inbox, .choice, newPass: .yes,
                "without an inbox nothing can be called lost"),
        ]

        init() {}
    }
}

/// A step of a job, in the order in which they are done.
package enum JobStep: String, Hashable, Sendable, CaseIterable {
    /// Read the notification history and settle what it touched.
    case recover
    /// Ask for statuses and, when needed, history.
    case walk
}

/// Which rows a walk asks about.
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
            "number of rows, or a share from 0 to 1", examples: ["500", "0.25"],
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
