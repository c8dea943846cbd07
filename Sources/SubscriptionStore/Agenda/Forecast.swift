import GRDB
package import Subscriptions

extension SQLiteStore {
    /// Finds the questions of a run that began now, by the scan that the run itself makes, without
    /// writing.
    ///
    /// - Parameters:
    ///   - scope: From which rows the run takes its questions.
    ///   - run: What the run would be recorded as: it continues the checkpoint of a stopped one.
    ///   - apps: The configured ones.
    ///   - level: How many rows this run's sweep takes.
    ///   - due: Why a row is checked.
    ///   - place: Through which app it is asked about, if at all.
    /// - Returns: Counts of one consistent view of the database.
    /// - Throws: `StoreError` when it cannot be read.
    package func forecast(
        of scope: ForecastScope, run: RunHeader, apps: [AppIdentity],
        level: ([Int: Int]) -> Int,
        due: @escaping @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?,
        place: (LocalSubscription) -> QuestionPlace
    ) throws(StoreError) -> QuestionForecast {
        let doing = "forecasting what must be asked"
        return try view(doing) { db in
            try withoutActuallyEscaping(place) { place in
                var questions = ForecastQuestions(
                    db: db, apps: Set(apps), place: place,
                    isAsked: "(not_before IS NULL OR \(QuestionQueue.isRested(at: run.started)))",
                    passID: try PassOpening(db: db, run: run).adoptable())
                try questions.addPending()
                switch scope {
                case .pending: break
                case .delta(let request):
                    let ends = try SweepOrder(request, of: run, db).ends(level: level)
                    let changed = try ChangedPeriods(db: db)
                        .rows(readsHistories: request.readsHistories)
                    try questions.addDue(
                        TableScan(
                            request: request, ends: ends, changedPeriods: changed, due: due),
                        request)
                case .full(let isRound):
                    try questions.addEveryRow(isRound: isRound, of: run)
                }
                return try questions.completed(run)
            }
        }
    }
}

/// Collects the questions of a forecast.
private struct ForecastQuestions {
    let db: Database
    let apps: Set<AppIdentity>
    let place: (LocalSubscription) -> QuestionPlace
    /// A condition: a line of the queue is due when the run begins.
    let isAsked: String
    /// The pass of a stopped run that the run would continue.
    let passID: Int64?
    var forecast = QuestionForecast()

    /// The last runs that tell what cannot be counted.
    private static let pastRuns = 7

    // MARK: What is pending

    mutating func addPending() throws {
        try db.forEachRow(
            """
            SELECT reason, bundle_id, environment, original_transaction_id
            FROM trueup_agenda WHERE \(isAsked)
            """
        ) { line in
            guard let reason = QuestionReason(rank: line.integer(at: 0) ?? -1) else { return }
            let key = SubscriptionKey(line, at: 1)
            if let row = try LocalSubscription.stored(key, db) {
                try ask(row, because: reason)
            } else if reason == .notification {
                askUnheld(key)
            }
        }
    }

    private mutating func askUnheld(_ key: SubscriptionKey) {
        guard let environment = AppStoreEnvironment(rawValue: key.environment) else { return }
        let app = AppIdentity(bundleID: key.bundleID, environment: environment)
        guard apps.contains(app) else { return }
        forecast.questions[.notification, default: 0] += 1
        forecast.unheld += 1
        forecast.asked[app, default: CustomerCount()].add(nil)
    }

    /// Whether a stopped run has checked a row, so that the one that continues does not ask about
    /// it.
    private func isJudged(_ key: SubscriptionKey) throws -> Bool {
        guard let passID else { return false }
        return try db.holds(
            """
            trueup_pass_rows WHERE pass_id = ? AND \(SubscriptionKey.isKey)
                AND verdict <> \(VerdictCode.noted.rawValue)
                AND NOT (verdict = \(VerdictCode.undecided.rawValue)
                    AND reason IN ('deadline', 'unavailable', 'rate_limited'))
            """, [passID] + key.arguments)
    }

    private mutating func ask(_ row: LocalSubscription, because reason: QuestionReason) throws {
        guard try !isJudged(row.key) else {
            forecast.judgedByStoppedRun += 1
            if row.status == nil { forecast.firstFills += 1 }
            return
        }
        switch place(row) {
        case .leftOut: break
        case .excluded(let why): forecast.excluded[why, default: 0] += 1
        case .asked(let app):
            forecast.questions[reason, default: 0] += 1
            if row.status == nil { forecast.firstFills += 1 }
            let named = row.customerID.map { !$0.isEmpty } ?? false
            forecast.asked[app, default: CustomerCount()].add(
                row.customerID, account: named ? nil : try account(of: row.key))
        }
    }

    private func account(of key: SubscriptionKey) throws -> AccountDigest? {
        try db.integer(
            cached: """
                SELECT account FROM trueup_checks
                WHERE \(SubscriptionKey.isKey) AND account IS NOT NULL
                """, key.arguments
        ).map { AccountDigest(bits: UInt64(bitPattern: $0)) }
    }

    // MARK: What is due

    mutating func addDue(_ scan: TableScan, _ request: ScheduleRequest) throws {
        var draw = SampleDraw(request.sample, seed: request.seed)
        var unchanged = 0
        var drawn = 0
        var position: StoredKey?
        repeat {
            let chunk = try scan.chunk(after: position, db)
            unchanged += chunk.unchanged.count
            for line in chunk.lines { try askUnlessPending(line.key, because: line.reason) }
            for key in chunk.unchanged { draw.offer(key) }
            if draw.mayTakeEarly { drawn += try askAbout(sample: draw.take()) }
            position = chunk.next
        } while position != nil
        drawn += try askAbout(sample: draw.take())
        forecast.unchanged = unchanged
        forecast.drawsPart = drawn > 0 && drawn < unchanged
    }

    private mutating func askAbout(sample keys: [SubscriptionKey]) throws -> Int {
        for key in keys { try askUnlessPending(key, because: .sample) }
        return keys.count
    }

    private mutating func askUnlessPending(
        _ key: SubscriptionKey, because reason: QuestionReason
    ) throws {
        let isPending = try db.holds(
            "trueup_agenda WHERE \(SubscriptionKey.isKey) AND \(isAsked)", key.arguments)
        if !isPending, let row = try LocalSubscription.stored(key, db) {
            try ask(row, because: reason)
        }
    }

    // MARK: Every row

    /// The run perhaps continues an unfinished full scan, where it `isRound`; otherwise it begins
    /// again.
    mutating func addEveryRow(isRound: Bool, of run: RunHeader) throws {
        let began =
            isRound
            ? try db.integer(
                "SELECT began FROM trueup_rounds WHERE job = ?", [PassOpening.round(of: run)])
            : nil
        try db.forEachRow(
            """
            SELECT \(try LocalSubscription.columns(db)), ifnull(c.asked_at >= ?1, 0)
            FROM subscriptions AS s
            LEFT JOIN trueup_checks AS c ON \(SubscriptionKey.agree("c", "s"))
            WHERE \(OpenFindings.isOfAnApp(boundFilters: "?2", of: "s"))
                AND NOT EXISTS (SELECT 1 FROM trueup_agenda AS a
                    WHERE \(SubscriptionKey.agree("a", "s")) AND \(isAsked))
            """, [began, TextList.encode(run.filters)]
        ) { row in
            guard row.integer(at: LocalSubscription.columnCount) != 1 else {
                forecast.settledInRound += 1
                return
            }
            try ask(LocalSubscription(row), because: .round)
        }
    }

    // MARK: The rest

    mutating func completed(_ run: RunHeader) throws -> QuestionForecast {
        try db.forEachRow("SELECT customer_id FROM subscriptions") { row in
            forecast.rows += 1
            forecast.customers.add(row.text(at: 0))
        }
        forecast.resumes = passID != nil
        forecast.pastRuns = try db.rows(
            """
            SELECT run_seq, run_id, started,
                CASE WHEN EXISTS (SELECT 1 FROM trueup_runs AS e WHERE e.job = r.job
                    AND e.narrowing = '' AND e.closes_pass = 1 AND e.run_seq < r.run_seq)
                THEN coverage END
            FROM trueup_runs AS r
            WHERE job = ? AND narrowing = '' AND closes_pass = 1
            ORDER BY run_seq DESC LIMIT \(Self.pastRuns)
            """, [run.job]
        ).map(pastRun)
        return forecast
    }

    /// A job's first run comes without its coverage: it reads far back and meets rows that no run
    /// has checked, so what notifications named and settled for it says nothing of the next.
    private func pastRun(_ row: Row) throws -> PastRun {
        let calls = try db.rows(
            """
            SELECT endpoint, sum(calls) FROM trueup_run_calls WHERE run_seq = ?
            GROUP BY endpoint
            """, [row.integer(at: 0)])
        return PastRun(
            runID: row.requiredText(at: 1),
            started: row.time(at: 2) ?? Timestamp(unixMilliseconds: 0),
            calls: Dictionary(
                calls.map { ($0.requiredText(at: 0), $0.number(at: 1) ?? 0) },
                uniquingKeysWith: { $0 + $1 }),
            coverage: try StoredJSON.decode(row.text(at: 3)))
    }
}
