import Subscriptions

/// The facts of a run that the page shows, read once from its record; it stays small, however long
/// the lists.
struct PageFacts {
    /// The most lines of each list; the files next to the page have all.
    private static let most = (
        findings: 1_000, corrections: 200, examples: 5, accounts: 200, undecided: 3
    )

    var summary: RunSummary
    let notice: String?
    let trustedRoots: [TrustedRoot]
    let history: PageHistory
    private(set) var worst = WorstFindings(limit: Self.most.findings)
    /// Corrections written, in the order of the ledger.
    private(set) var corrections: [LedgerEntry] = []
    private(set) var correctionCount = 0
    /// Of different kinds, as far as there are.
    private(set) var examples: [LedgerEntry] = []
    /// Customers of the examples, by subscription.
    private(set) var customers: [SubscriptionKey: String] = [:]
    private(set) var withheld = AccessHarm()
    private(set) var unpaid = AccessHarm()
    /// Rows whose status differs, by the stored value and Apple's.
    private(set) var statuses: [String: [String: Int]] = [:]
    private(set) var undecided: [UndecidedReason: [UndecidedRow]] = [:]
    private(set) var notFound: [NotFoundAccount] = []
    private(set) var notFoundCount = 0
    /// Apple's notifications by what became of them.
    private(set) var notifications: [String: Int] = [:]

    init(_ source: ReportSource) throws {
        summary = source.summary
        notice = source.notice
        trustedRoots = source.context.trustedRoots
        history = try PageHistory(source)
        try readCorrections(source.record)
        try source.record.forEachFinding { take($0) }
        try source.record.forEachUndecided { row in
            guard undecided[row.reason, default: []].count < Self.most.undecided else { return }
            undecided[row.reason, default: []].append(row)
        }
        try source.record.forEachNotFound { account in
            notFoundCount += 1
            if notFound.count < Self.most.accounts { notFound.append(account) }
        }
        try source.record.forEachNotification { notification in
            notifications[notification.verdict, default: 0] += 1
        }
    }

    /// The parts of the page; what to do next only where there is something.
    var sections: [PageSection] {
        let hasNext = !Section.next(summary).isEmpty
        return PageSection.allCases.filter { $0 != .next || hasNext }
    }

    private mutating func readCorrections(_ record: any RunRecord) throws {
        var shown: Set<[FindingKind]> = []
        var others: [LedgerEntry] = []
        struct HasEnough: Error {}
        do {
            try record.forEachCorrection { entry in
                guard corrections.count < Self.most.corrections else { throw HasEnough() }
                corrections.append(entry)
            }
        } catch is HasEnough {}
        let newPeriods = try record.forEachEvidencedCorrection(
            where: { entry in
                correctionCount += 1
                guard entry.changes.table == .subscriptions else { return false }
                if examples.count < Self.most.examples, shown.insert(entry.kinds).inserted {
                    examples.append(entry)
                } else if others.count < Self.most.examples {
                    others.append(entry)
                }
                return false
            }, { _ in })
        correctionCount += newPeriods
        examples += others.prefix(max(0, Self.most.examples - examples.count))
        examples.sort { $0.number < $1.number }
    }

    private mutating func take(_ reported: ReportedFinding) {
        worst.add(reported)
        let finding = reported.finding
        if let key = finding.key, let customer = finding.customerID,
            examples.contains(where: { $0.subscription == key })
        {
            customers[key] = customer
        }
        switch finding.kind {
        case .accessMissing, .graceMissed, .refundReversalMissed:
            // A row in billing grace that we call active, or whose grace ends on another day, gives
            // access as Apple does.
            guard
                finding.givesAccess == false
                    || (finding.givesAccess == nil && finding.kind != .graceMissed)
            else { break }
            withheld.add(reported, until: summary.header.started)
        case .accessUnpaid, .revocationMissed:
            guard finding.givesAccess != false else { break }
            unpaid.add(reported, until: summary.header.started)
        default: break
        }
        if finding.field == "status", finding.kind != .missingLocally {
            let (stored, apples) = (finding.localValue.statusName, finding.appleValue.statusName)
            statuses[stored, default: [:]][apples, default: 0] += 1
        }
    }
}

/// Subscriptions to which access was withheld, or given, against what Apple states.
///
/// Findings come sorted by subscription, so that each is counted once without holding any.
struct AccessHarm {
    private(set) var subscriptions = 0
    /// Of them, those whose first finding is corrected.
    private(set) var corrected = 0
    private(set) var kinds: [FindingKind: Int] = [:]
    private(set) var firstSeen: Timestamp?
    /// Of them, those for which signed dates say since when at most, and the sum of these times
    /// until the run.
    private(set) var dated = 0
    private(set) var milliseconds: Int64 = 0
    private var last: SubscriptionKey?

    mutating func add(_ reported: ReportedFinding, until started: Timestamp) {
        let finding = reported.finding
        kinds[finding.kind, default: 0] += 1
        firstSeen = min(firstSeen ?? reported.firstSeen, reported.firstSeen)
        guard subscriptions == 0 || finding.key != last else { return }
        last = finding.key
        subscriptions += 1
        if reported.state == .corrected { corrected += 1 }
        guard let changed = finding.changedAt else { return }
        // As of Apple's statement that the row rests on, the row was right.
        let began = max(changed, finding.localAsOf ?? changed)
        guard began <= started else { return }
        dated += 1
        let (sum, overflow) = milliseconds.addingReportingOverflow(
            started.milliseconds(since: began))
        milliseconds = overflow ? .max : sum
    }

    /// Whole days, of all that are dated.
    var days: Int { Int(clamping: milliseconds / Milliseconds.perDay) }
}

extension Finding {
    /// Whether our status gives access; `nil` where the finding is not about it.
    fileprivate var givesAccess: Bool? {
        field == SubscriptionField.status.rawValue ? localValue.isEntitlingStatus : nil
    }
}

extension FieldValue {
    /// The name of a status; what is not a status of Apple's counts together, so that there are few
    /// names.
    fileprivate var statusName: String {
        switch self {
        case .null: "(none)"
        case .integer(1): "1 active"
        case .integer(2): "2 expired"
        case .integer(3): "3 billing retry"
        case .integer(4): "4 billing grace period"
        case .integer(5): "5 revoked"
        default: "another value"
        }
    }
}

/// Measurements next to the verdicts: how late notifications came, and how many calls were made.
extension Page {
    func delays(_ page: inout Markup) {
        guard let delivery = summary.measures?.delivery else { return }
        let columns: [Markup.Column] = [
            "notifications", .number("how many"), .number("half took no longer than"),
            .number("longest"),
        ]
        let ways = [
            ("came to our endpoint", delivery.arrived), ("brought by this run", delivery.recovered),
        ]
        page.table("From Apple’s signature to us", columns) { table in
            for (name, figures) in ways {
                guard let figures else { continue }
                table.row(
                    [
                        name, figures.notifications.grouped, Self.length(figures.medianSeconds),
                        Self.length(figures.worstSeconds),
                    ], columns)
            }
            if delivery.underway > 0 {
                table.row(["Apple still tries", delivery.underway.grouped, "", ""], columns)
            }
        }
    }

    func effort(_ page: inout Markup) {
        guard let effort = summary.measures?.effort, !effort.peaks.isEmpty else { return }
        page.table(
            "The busiest hour against Apple’s quota, by all processes",
            [
                "endpoint", "app", .number("booked calls of the hour"), .number("Apple’s limit"),
                .number("share"),
            ],
            rows: effort.peaks.map { peak in
                [
                    peak.endpoint, "\(peak.bundleID) (\(peak.environment))",
                    peak.calls.grouped, peak.limit.grouped, Self.percent(peak.perMille),
                ]
            })
        let waits = effort.waitedMilliseconds.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        let named = waits.map { "\($0.key) \(Self.length($0.value / 1000))" }
        page.element(
            "p", [.named("soft")],
            named.isEmpty
                ? "The run did not have to wait before its calls."
                : "The run waited before its calls: \(named.joined(separator: ", ")).")
    }

    /// For example `3 h 12 min`, `41 days`.
    static func length(_ seconds: Int64) -> String {
        let seconds = Int(clamping: seconds)
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        case ..<172_800: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: return (seconds / 86_400).of("day")
        }
    }

    /// Thousandths as per cent with one decimal.
    static func percent(_ thousandths: Int64) -> String {
        "\(Int(clamping: thousandths / 10).grouped).\(thousandths % 10) %"
    }
}
