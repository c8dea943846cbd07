import GRDB
import Subscriptions

/// The questions that a checkpoint found when it was scheduled, and how many are done.
extension QuestionQueue {
    /// `nil` before the checkpoint is scheduled.
    func counts() throws -> ScheduleCounts? {
        let row = try db.row(
            """
            SELECT scheduled_rows, quiet_rows, oldest_check, sample_seed FROM trueup_passes
            WHERE pass_id = ? AND scheduled_rows IS NOT NULL
            """, [passID])
        guard let row else { return nil }
        var counts = ScheduleCounts()
        counts.rows = row.number(at: 0) ?? 0
        counts.unchanged = row.number(at: 1) ?? 0
        counts.oldestCheck = row.time(at: 2)
        counts.seed = UInt64(bitPattern: row.integer(at: 3) ?? 0)
        counts.due = try byReason(
            """
            SELECT turn / 2, count(*) FROM trueup_pass_questions
            WHERE pass_id = ? AND turn >= \(Self.firstDuePriority) GROUP BY 1
            """)
        return counts
    }

    func note(_ counts: ScheduleCounts) throws {
        try db.execute(
            sql: """
                UPDATE trueup_passes SET scheduled_rows = ?, quiet_rows = ?, oldest_check = ?,
                    sample_seed = ?
                WHERE pass_id = ?
                """,
            arguments: [
                counts.rows, counts.unchanged, counts.oldestCheck?.unixMilliseconds,
                Int64(bitPattern: counts.seed), passID,
            ])
    }

    func coverage(kind: RunCoverage.Kind, of run: RunHeader) throws -> RunCoverage {
        var coverage = RunCoverage(kind: kind)
        let counts = try counts()
        coverage.rows = counts?.rows
        coverage.quiet = counts?.unchanged
        coverage.oldestCheck = counts?.oldestCheck
        coverage.asked = try byReason(Self.answered(where: Self.hasOwnQuestion))
        coverage.askedBeside = try byReason(Self.answered(where: "NOT (\(Self.hasOwnQuestion))"))
            .values.reduce(0, +)
        coverage.settledByNotification = try db.count(
            """
            SELECT count(*) FROM trueup_pass_rows
            WHERE pass_id = ? AND asked_because IS NULL AND signed_date IS NOT NULL
                AND verdict = \(VerdictCode.match.rawValue)
            """, [passID])
        let apps = run.filters.filter { $0.hasPrefix(RunHeader.appFilterPrefix) }
        coverage.left = try byReason(Self.left, [TextList.encode(apps)])
        if let counts, counts.due[.sample, default: 0] > 0 {
            coverage.sample = try sample(seed: counts.seed)
        }
        let count = PlanCount(db: db, passID: passID)
        switch kind {
        case .delta: coverage.routine = try count.routine()
        case .full: coverage.roundBefore = try count.rowsOfRoundBefore()
        }
        return coverage
    }

    /// Rows `p` that Apple was asked about, by the reason of the question that checked them.
    private static func answered(where condition: String) -> String {
        """
        SELECT p.asked_because, count(*) FROM trueup_pass_rows AS p
        WHERE p.pass_id = ?1 AND p.asked_because IS NOT NULL
            AND p.verdict IN (\(VerdictCode.match.rawValue),
                \(VerdictCode.discrepancy.rawValue), \(VerdictCode.undecided.rawValue))
            AND ifnull(p.reason, '') <> '\(UndecidedReason.deadline.rawValue)'
            AND (\(condition))
        GROUP BY 1
        """
    }

    /// SQL for whether the row `p` was to be checked for the reason of the question that checked
    /// it.
    private static let hasOwnQuestion = """
        EXISTS (SELECT 1 FROM trueup_passes AS w
            WHERE w.pass_id = p.pass_id AND w.covers_every_row = 1)
        OR EXISTS (SELECT 1 FROM trueup_pass_questions AS q WHERE q.pass_id = p.pass_id
            AND q.turn IN (p.asked_because * 2, p.asked_because * 2 + 1)
            AND \(SubscriptionKey.agree("q", "p")))
        OR EXISTS (SELECT 1 FROM trueup_agenda AS a WHERE \(SubscriptionKey.agree("a", "p"))
            AND a.reason = p.asked_because)
        """

    /// Questions of the checkpoint, and what is pending of the apps that the run is for, about which
    /// nothing was checked.
    private static let left = """
        SELECT reason, count(*) FROM (
            SELECT turn / 2 AS reason, bundle_id, environment, original_transaction_id
            FROM trueup_pass_questions WHERE pass_id = ?1
            UNION SELECT reason, bundle_id, environment, original_transaction_id
            FROM trueup_agenda WHERE \(isForThisRun())
                AND \(OpenFindings.isOfAnApp(filters: "?2", of: "trueup_agenda"))) AS q
        WHERE NOT EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE p.pass_id = ?1
            AND \(SubscriptionKey.agree("p", "q"))
            AND ifnull(p.reason, '') <> '\(UndecidedReason.deadline.rawValue)')
        GROUP BY 1
        """

    /// A drawn row that was not checked is counted apart: whether it differs is not known.
    private func sample(seed: UInt64) throws -> RunCoverage.Sample {
        let isJudged = """
            p.verdict IN (
                \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
            """
        let own = QuestionReason.sample.rank
        let row = try db.row(
            """
            SELECT count(*), sum(p.verdict = \(VerdictCode.discrepancy.rawValue)),
                sum(NOT (\(isJudged))),
                sum(\(isJudged) AND p.asked_because IS \(own)),
                sum(\(isJudged) AND p.asked_because IS NOT NULL AND p.asked_because <> \(own)),
                sum(\(isJudged) AND p.asked_because IS NULL)
            FROM trueup_pass_questions AS q
            JOIN trueup_pass_rows AS p ON p.pass_id = q.pass_id
                AND \(SubscriptionKey.agree("p", "q"))
            WHERE q.pass_id = ? AND q.turn / 2 = \(QuestionReason.sample.rank)
            """, [passID])
        return RunCoverage.Sample(
            drawn: row?.number(at: 0) ?? 0, differing: row?.number(at: 1) ?? 0,
            notJudged: row?.number(at: 2) ?? 0,
            judgedBy: .init(
                ownQuestion: row?.number(at: 3) ?? 0, otherQuestion: row?.number(at: 4) ?? 0,
                notification: row?.number(at: 5) ?? 0),
            bound: 0, seed: seed)
    }

    private func byReason(
        _ sql: String, _ further: StatementArguments = []
    ) throws -> [QuestionReason: Int] {
        var counts: [QuestionReason: Int] = [:]
        for row in try db.rows(sql, [passID] + further) {
            guard let reason = QuestionReason(rank: row.integer(at: 0) ?? -1) else { continue }
            counts[reason, default: 0] += row.number(at: 1) ?? 0
        }
        return counts
    }
}

/// The rows of a sample: of all rows that are offered, those whose numbers are the smallest.
///
/// The numbers follow from the seed and the key, so that the same seed draws the same rows, and any
/// set of rows is as probable as any other of its size.
struct SampleDraw: Sendable {
    private let seed: UInt64
    private let size: SampleSize
    private var drawn: [(number: UInt64, key: SubscriptionKey)] = []
    private var bound = UInt64.max
    /// The digest of the app of the last key, which nearly all keys share.
    private var app: (bundleID: String, environment: String, digest: ValuesDigest)?

    init(_ size: SampleSize, seed: UInt64) {
        self.size = size
        self.seed = seed
        if case .share(let share) = size { bound = Self.bound(of: share) }
    }

    private static func bound(of share: Double) -> UInt64 {
        guard share > 0 else { return 0 }
        guard share < 1 else { return .max }
        return UInt64(exactly: (share * 0x1p64).rounded(.down)) ?? .max
    }

    mutating func offer(_ key: SubscriptionKey) {
        let number = number(of: key)
        guard number < bound else { return }
        drawn.append((number, key))
        guard case .rows(let rows) = size, drawn.count >= 2 * max(rows, 512) else { return }
        keep(rows)
    }

    /// The drawn rows so far, in no order; only with a share they may be taken out in between.
    mutating func take() -> [SubscriptionKey] {
        if case .rows(let rows) = size { keep(rows) }
        defer { drawn = [] }
        return drawn.map(\.key)
    }

    var mayTakeEarly: Bool { if case .share = size { true } else { false } }

    private mutating func keep(_ rows: Int) {
        drawn.sort { $0.number < $1.number }
        guard drawn.count > rows else { return }
        drawn.removeSubrange(rows...)
        bound = drawn.last?.number ?? 0
    }

    /// SplitMix64's finishing mix over the digest of the key: neighbours get unrelated numbers.
    private mutating func number(of key: SubscriptionKey) -> UInt64 {
        var digest = digest(ofAppOf: key)
        digest.add(key.originalTransactionID)
        var z = (digest.bits ^ seed) &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    private mutating func digest(ofAppOf key: SubscriptionKey) -> ValuesDigest {
        if let app, app.bundleID == key.bundleID, app.environment == key.environment {
            return app.digest
        }
        var digest = ValuesDigest()
        digest.add(key.bundleID)
        digest.add(key.environment)
        app = (key.bundleID, key.environment, digest)
        return digest
    }
}

/// Which rows have Apple's oldest words, and how many of them this run's sweep takes.
///
/// Rows of other apps get no question in this run, so they neither count nor take a place.
struct SweepOrder {
    let db: Database
    let request: ScheduleRequest
    /// Those that the run asks about.
    let apps: Set<AppIdentity>

    /// - Parameters:
    ///   - request: How the questions are found; it may name the apps.
    ///   - run: The run that asks, about its apps where the request names none.
    ///   - db: The database.
    init(_ request: ScheduleRequest, of run: RunHeader, _ db: Database) {
        self.db = db
        self.request = request
        apps = request.apps ?? Set(run.apps)
    }

    func ends(level: ([Int: Int]) -> Int) throws -> SweepEnds {
        let rows = try histograms()
        return SweepEnds(
            lasting: try end(isLasting: true, after: level(rows.lasting)),
            ended: try end(isLasting: false, after: level(rows.ended)))
    }

    private func end(isLasting: Bool, after rows: Int) throws -> SweepPlace? {
        guard rows > 0, !apps.isEmpty else { return nil }
        let first: StatementArguments = [isLasting, request.allowedAge(isLasting: isLasting)]
        let place = try db.row(
            """
            SELECT bundle_id, environment, original_transaction_id,
                ifnull(signed_date, asked_at)
            FROM trueup_checks
            WHERE is_lasting = ?1 AND \(Self.waitsForSweep) AND \(Self.isOfOne(of: apps))
            ORDER BY ifnull(signed_date, asked_at), bundle_id, environment,
                original_transaction_id
            LIMIT 1 OFFSET ?
            """, first + Self.arguments(of: apps) + [rows - 1])
        return place.map {
            SweepPlace(
                asOf: $0.time(at: 3) ?? Timestamp(unixMilliseconds: 0),
                key: SubscriptionKey($0, at: 0))
        }
    }

    /// A condition on a check, with the values of `arguments(of:)`.
    ///
    /// The plus signs leave the order of the rows to the index by age.
    private static func isOfOne(of apps: Set<AppIdentity>) -> String {
        let marks = Array(repeating: "(?, ?)", count: apps.count).joined(separator: ", ")
        return "(+bundle_id, +environment) IN (VALUES \(marks))"
    }

    private static func arguments(of apps: Set<AppIdentity>) -> StatementArguments {
        StatementArguments(apps.sorted().flatMap { [$0.bundleID, $0.environment.rawValue] })
    }

    /// How much later in the day than this run a run of the next days may begin.
    private static let delayOfNextRun = 6 * Milliseconds.perHour

    /// How many rows may wait for so many runs, one a day and this one counted, until they reach the
    /// allowed age, without those whose clock asks before: of those that entitle or are in billing
    /// retry, and of the others.
    ///
    /// A run begins some minutes earlier or later than the day before. That must not cost or give a
    /// whole day.
    ///
    /// Reads the rows of each app in the table's own order: along the index by age SQLite looks each
    /// row up, and to group by the day it sorts them.
    private func histograms() throws -> (lasting: [Int: Int], ended: [Int: Int]) {
        let statement = try db.cachedStatement(
            sql: """
                SELECT is_lasting, ifnull(signed_date, asked_at), clock
                FROM trueup_checks NOT INDEXED
                WHERE bundle_id = ? AND environment = ?
                """)
        let columns = ColumnsInPlace(of: statement)
        var lasting: [Int: Int] = [:]
        var ended: [Int: Int] = [:]
        for app in apps {
            let cursor = try Row.fetchCursor(
                statement, arguments: [app.bundleID, app.environment.rawValue])
            while try cursor.next() != nil {
                guard let asOf = columns.integer(at: 1) else { continue }
                let isLasting = columns.integer(at: 0) == 1
                let reached = Timestamp(unixMilliseconds: asOf).adding(
                    milliseconds: request.allowedAge(isLasting: isLasting))
                let clock = columns.integer(at: 2)
                guard clock.map({ $0 > reached.unixMilliseconds }) ?? true else { continue }
                let left = reached.adding(milliseconds: Milliseconds.perDay - Self.delayOfNextRun)
                    .milliseconds(since: request.now)
                let day = Int(clamping: max(0, left / Milliseconds.perDay))
                if isLasting { lasting[day, default: 0] += 1 } else { ended[day, default: 0] += 1 }
            }
        }
        return (lasting, ended)
    }

    /// SQL for whether no due time leads to a check of the row before its statement reaches the
    /// allowed age, `?2`.
    private static let waitsForSweep = """
        (clock IS NULL OR clock > ifnull(signed_date, asked_at) + ?2)
        """

    /// When the oldest statement about a row of the run's apps was signed.
    func oldestCheck() throws -> Timestamp? {
        guard !apps.isEmpty else { return nil }
        return try Self.oldestCheck(
            where: "AND \(Self.isOfOne(of: apps))", Self.arguments(of: apps), db)
    }

    /// When the oldest statement was signed, whatever the row's app.
    static func oldestCheck(_ db: Database) throws -> Timestamp? {
        try oldestCheck(where: "", [], db)
    }

    private static func oldestCheck(
        where condition: String, _ arguments: StatementArguments, _ db: Database
    ) throws -> Timestamp? {
        try [true, false].compactMap { isLasting in
            try db.integer(
                """
                SELECT min(ifnull(signed_date, asked_at)) FROM trueup_checks
                WHERE is_lasting = ? \(condition)
                """, [isLasting] + arguments)
        }.min().map(Timestamp.init(unixMilliseconds:))
    }
}
