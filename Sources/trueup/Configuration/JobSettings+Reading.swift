import Reconciliation
import Subscriptions

/// A job file, read and checked.
extension JobSettings {
    private static let keys = [
        "steps", "mode", "coverage", "history", "sweep_days", "sample", "settle", "max_duration",
        "max_outage", "fail_on", "not_found_confirmations", "recover", "guards", "authority",
    ]

    /// The job in a text; `file` gives it its name.
    package init(yaml: String, file: String) throws(ConfigurationError) {
        self.init(name: SettingsPath.stem(of: file), file: file)
        // A file without any key is a job with every default.
        guard let root = try YAMLDocument.root(of: yaml, file: file) else { return }
        let mapping = try SettingsMapping(root, file: file, path: "", keys: Self.keys)
        if let value = mapping.value("steps") { steps = try Self.steps(value) }
        if let value = mapping.value("mode") { mode = try value.choice() }
        if let value = mapping.value("coverage") { coverage = try value.choice() }
        if let value = mapping.value("history") { history = try value.choice() }
        if let value = mapping.value("sweep_days") {
            sweepDays = Int(try value.integer(in: 1...3650))
        }
        if let value = mapping.value("sample") { sample = try value.share() }
        if let value = mapping.value("settle") {
            settleMilliseconds = try value.durationMilliseconds()
        }
        if let value = mapping.value("max_duration") {
            maxDurationMilliseconds = try value.durationMilliseconds()
            guard maxDurationMilliseconds > 0 else {
                throw value.error("must be more than nothing, or the run ends before it begins")
            }
        }
        if let value = mapping.value("max_outage") {
            maxOutageMilliseconds = try value.durationMilliseconds()
        }
        if let value = mapping.value("fail_on") { failOn = try value.choice() }
        if let value = mapping.value("not_found_confirmations") {
            notFoundConfirmations = Int(try value.integer(in: 1...365))
        }
        if let value = mapping.value("recover") { recover = try Recovery(value) }
        if let value = mapping.value("guards") { guards = try Self.guards(value) }
        if let value = mapping.value("authority") { reportOnlyFields = try Self.authority(value) }
    }

    private static func steps(_ value: SettingsValue) throws(ConfigurationError) -> [JobStep] {
        var steps: [JobStep] = []
        for entry in try value.list() {
            let step: JobStep = try entry.choice()
            guard !steps.contains(step) else { throw entry.error("\(step.rawValue) stands twice") }
            steps.append(step)
        }
        guard steps == JobStep.allCases.filter(steps.contains) else {
            throw value.error(
                "recover comes before walk: it tells which rows are settled already",
                suggestion: "write [recover, walk]")
        }
        return steps
    }

    private static func guards(_ value: SettingsValue) throws(ConfigurationError) -> GuardLimits {
        let mapping = try value.mapping(keys: [
            "max_changes", "max_change_share", "min_changes", "max_not_found_share",
            "max_verification_failures", "max_same_direction_share", "max_shrink_share",
            "max_own_fault", "max_excluded_share",
        ])
        let count = 0...Int64(Int32.max)
        var limits = GuardLimits()
        if let value = mapping.value("max_changes") {
            limits.maxChanges = Int(try value.integer(in: count))
        }
        if let value = mapping.value("max_change_share") {
            limits.maxChangeShare = try value.share()
        }
        if let value = mapping.value("min_changes") {
            limits.minChanges = Int(try value.integer(in: count))
        }
        if let value = mapping.value("max_not_found_share") {
            limits.maxNotFoundShare = try value.share()
        }
        if let value = mapping.value("max_verification_failures") {
            limits.maxVerificationFailures = Int(try value.integer(in: count))
        }
        if let value = mapping.value("max_same_direction_share") {
            limits.maxSameDirectionShare = try value.share()
        }
        if let value = mapping.value("max_shrink_share") {
            limits.maxShrinkShare = try value.share()
        }
        if let value = mapping.value("max_own_fault") {
            limits.maxOwnFault = try value.integerOrNone(in: count).map { Int($0) }
        }
        if let value = mapping.value("max_excluded_share") {
            limits.maxExcludedShare = try value.share()
        }
        return limits
    }

    /// Columns that a job may keep for itself; the others are never written anyway.
    private static let governableFields = [
        "product_id", "status", "expires_date", "grace_period_expires_date", "auto_renew_status",
        "auto_renew_product_id", "revocation_date", "in_app_ownership_type",
        "latest_transaction_id", "web_order_line_item_id", "price", "currency",
    ]

    private enum Authority: String, CaseIterable {
        case apple
        case reportOnly = "report-only"
    }

    private static func authority(
        _ value: SettingsValue
    ) throws(ConfigurationError) -> Set<String> {
        let mapping = try value.mapping(keys: governableFields)
        var reportOnly = alwaysReportOnly
        for field in governableFields {
            guard let value = mapping.value(field) else { continue }
            switch try value.choice(of: Authority.self) {
            case .reportOnly: reportOnly.insert(field)
            case .apple where alwaysReportOnly.contains(field):
                throw value.error(
                    "a \(field) that differs is only ever reported; no version overwrites it",
                    suggestion: "write \(field): report-only, or leave it out")
            case .apple: break
            }
        }
        return reportOnly
    }
}

extension JobSettings.Recovery {
    fileprivate init(_ value: SettingsValue) throws(ConfigurationError) {
        self.init()
        let mapping = try value.mapping(keys: ["overlap", "lookback", "inbox"])
        if let value = mapping.value("overlap") {
            overlapMilliseconds = try value.durationMilliseconds()
        }
        if let value = mapping.value("lookback") {
            lookbackMilliseconds = try value.durationMilliseconds()
            guard lookbackMilliseconds > 0 else { throw value.error("must be more than nothing") }
        }
        if let value = mapping.value("inbox") { inbox = try value.choice() }
    }
}
