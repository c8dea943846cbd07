package import Subscriptions

extension InMemoryStore {
    package func schedule(
        _ request: ScheduleRequest, in pass: OpenPass, run: RunHeader,
        level: @escaping @Sendable ([Int: Int]) -> Int,
        due: @escaping @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?
    ) async throws(StoreError) -> ScheduleCounts {
        try transaction { state throws(StoreError) in
            _ = try state.run(run, in: pass)
            if let known = state.passes[pass.passID]?.scheduled { return known }
            var counts = ScheduleCounts()
            counts.seed = request.seed
            let rows = state.scheduledRows.filter { request.includes($0.key) }
            counts.rows = rows.count
            counts.oldestCheck = rows.compactMap { $0.check?.asOf }.min()
            let ends = SweepEnds(
                lasting: Self.sweepEnd(of: rows, isLasting: true, request, level),
                ended: Self.sweepEnd(of: rows, isLasting: false, request, level))
            var quiet: [SubscriptionKey] = []
            for row in rows {
                guard let reason = due(row, ends) else {
                    quiet.append(row.key)
                    continue
                }
                counts.due[reason, default: 0] += 1
                state.ask(row.key, reason, isEntitling: row.isEntitling, in: pass.passID)
            }
            counts.quiet = quiet.count
            let size =
                switch request.sample {
                case .rows(let rows): rows
                case .share(let share): Int(share * Double(quiet.count))
                }
            let drawn = quiet.sorted {
                fingerprint("\(request.seed) \($0)") < fingerprint("\(request.seed) \($1)")
            }.prefix(size)
            if !drawn.isEmpty { counts.due[.sample] = drawn.count }
            for key in drawn { state.ask(key, .sample, isEntitling: false, in: pass.passID) }
            state.passes[pass.passID]?.scheduled = counts
            return counts
        }
    }

    /// The oldest rows whose clock does not ask before they reach the allowed age.
    private static func sweepEnd(
        of rows: [ScheduledRow], isLasting: Bool, _ request: ScheduleRequest,
        _ level: ([Int: Int]) -> Int
    ) -> SweepPlace? {
        let age = request.allowedAge(isLasting: isLasting)
        let waiting = rows.filter { row in
            guard let record = row.check, record.check.isLasting == isLasting else { return false }
            return record.check.clock.map { $0 > record.asOf.adding(milliseconds: age) } ?? true
        }.compactMap { row in row.check.map { SweepPlace(asOf: $0.asOf, key: row.key) } }.sorted()
        var days: [Int: Int] = [:]
        for place in waiting {
            let left = place.asOf.adding(milliseconds: age).milliseconds(since: request.now)
            days[max(0, Int(left / 86_400_000)), default: 0] += 1
        }
        return waiting.prefix(level(days)).last
    }

    package func lines(
        of part: AgendaPart, after position: AgendaPosition?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [AgendaLine] {
        try transaction { state in
            var lines: [AgendaLine] = []
            let now = state.now(in: pass.passID)
            for (key, owed) in state.agenda where part == .owed && owed.isAsked(at: now) {
                lines.append(AgendaLine(key: key, reason: owed.reason, turn: owed.turn))
            }
            for (key, questions) in state.passes[pass.passID]?.questions ?? [:] {
                for owed in questions where owed.reason.isDurable == (part == .owed) {
                    lines.append(AgendaLine(key: key, reason: owed.reason, turn: owed.turn))
                }
            }
            let after = lines.filter { line in
                position.map { ($0.turn, $0.key) < (line.turn, line.key) } ?? true
            }
            return Array(Set(after).sorted { ($0.turn, $0.key) < ($1.turn, $1.key) }.prefix(limit))
        }
    }

    package func coverage(
        kind: RunCoverage.Kind, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> RunCoverage {
        try transaction { state in
            var coverage = RunCoverage(kind: kind)
            let openPass = pass
            guard let pass = state.passes[openPass.passID] else { return coverage }
            coverage.rows = pass.scheduled?.rows
            coverage.quiet = pass.scheduled?.quiet
            coverage.oldestCheck = pass.scheduled?.oldestCheck
            coverage.askedBeside = 0
            for (key, row) in pass.rows {
                switch row.verdict {
                case .match, .discrepancy, .undecided: break
                case .excluded, nil: continue
                }
                if row.verdict == .undecided(.deadline) { continue }
                if let reason = row.because {
                    let isOwn =
                        pass.began.coversEveryRow || state.agenda[key]?.reason == reason
                        || pass.questions[key]?.contains { $0.reason == reason } == true
                    if isOwn {
                        coverage.asked[reason, default: 0] += 1
                    } else {
                        coverage.askedBeside = (coverage.askedBeside ?? 0) + 1
                    }
                } else if row.verdict == .match, row.check?.signedDate != nil {
                    coverage.settledByNotification += 1
                }
            }
            var left: [SubscriptionKey: Set<QuestionReason>] = [:]
            let now = state.now(in: openPass.passID)
            for (key, owed) in state.agenda where owed.isAsked(at: now) {
                left[key, default: []].insert(owed.reason)
            }
            for (key, owed) in pass.questions {
                left[key, default: []].formUnion(owed.map(\.reason))
            }
            for (key, reasons) in left
            where pass.rows[key] == nil || pass.rows[key]?.verdict == .undecided(.deadline) {
                for reason in reasons { coverage.left[reason, default: 0] += 1 }
            }
            if let counts = pass.scheduled, counts.due[.sample] != nil {
                let drawn = pass.questions.filter { $0.value.contains { $0.reason == .sample } }
                    .keys.compactMap { pass.rows[$0] }
                let judged = drawn.filter { $0.verdict == .match || $0.verdict == .discrepancy }
                coverage.sample = RunCoverage.Sample(
                    drawn: drawn.count, differing: drawn.count { $0.verdict == .discrepancy },
                    notJudged: drawn.count - judged.count,
                    judgedBy: .init(
                        ownQuestion: judged.count { $0.because == .sample },
                        otherQuestion: judged.count {
                            $0.because != nil && $0.because != .sample
                        }, notification: judged.count { $0.because == nil }),
                    bound: 0, seed: counts.seed)
            }
            switch kind {
            case .delta: coverage.routine = pass.routine
            case .full: coverage.roundBefore = state.rowsOfRoundBefore(pass)
            }
            return coverage
        }
    }

    package func carryOpenFindings(
        in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try transaction { state throws(StoreError) in
            _ = try state.run(run, in: pass)
            for (id, finding) in state.open.sorted(by: { $0.key < $1.key }) {
                guard state.reportedBy[id]?.contains(run.job) == true, run.isFor(finding),
                    state.passes[pass.passID]?.states(id) == false,
                    state.isAboutSomething(finding),
                    state.passes[pass.passID]?.looked(for: finding) == false
                else { continue }
                var carried = finding
                carried.action = finding.action == .refused ? .refused : .none
                carried.askedBecause = nil
                state.store(
                    carried, of: nil, mendedBy: nil, isCarried: true, in: pass.passID)
            }
        }
    }
}

extension State {
    /// When the newest run of a pass began.
    fileprivate func now(in passID: Int64) -> Timestamp {
        runs.last { $0.passID == passID }?.header.started ?? Timestamp(unixMilliseconds: 0)
    }

    fileprivate var scheduledRows: [ScheduledRow] {
        table.rows.values.sorted { $0.key < $1.key }.map { row in
            ScheduledRow(
                key: row.key, check: notes[row.key]?.check, values: ValuesDigest(of: row),
                isEntitling: row.isEntitling)
        }
    }

    fileprivate mutating func ask(
        _ key: SubscriptionKey, _ reason: QuestionReason, isEntitling: Bool, in passID: Int64
    ) {
        passes[passID]?.questions[key, default: []].append(
            Owed(reason: reason, turn: AgendaLine.turn(reason, isEntitling: isEntitling)))
    }

    /// Puts what a notification owes on the agenda, unless a younger statement settled its row.
    mutating func owe(_ question: OwedQuestion, isDurable: Bool, in passID: Int64) {
        let key = question.key
        if let row = passes[passID]?.rows[key], row.isSettledByNotification,
            let signed = row.check?.signedDate
        {
            guard signed < question.restsOn else { return }
            passes[passID]?.rows[key] = nil
        }
        let owed = Owed(
            reason: .notification,
            turn: AgendaLine.turn(.notification, isEntitling: question.isEntitling),
            restsOn: question.restsOn)
        guard isDurable else {
            passes[passID]?.questions[key, default: []].append(owed)
            return
        }
        let restsOn = max(agenda[key]?.restsOn ?? question.restsOn, question.restsOn)
        agenda[key] = Owed(
            reason: .notification, turn: min(agenda[key]?.turn ?? owed.turn, owed.turn),
            restsOn: restsOn)
    }

    /// Whether something younger than a statement is owed about its subscription.
    func owesMore(about key: SubscriptionKey, than signed: Timestamp, in passID: Int64) -> Bool {
        let owed = (passes[passID]?.questions[key] ?? []) + [agenda[key]].compactMap(\.self)
        return owed.contains { $0.restsOn.map { $0 > signed } ?? false }
    }

    /// What follows from a run's answers is done, or stays owed.
    mutating func settleAgenda(in passID: Int64, at now: Timestamp) {
        guard let pass = passes[passID] else { return }
        for (key, row) in pass.rows {
            let isUnwritten = pass.valid.contains { $0.key == key && $0.fate != .applied }
            var isUndecided = false
            if case .undecided = row.verdict { isUndecided = true }
            if var check = row.check, !isUndecided, row.verdict != nil || row.isInserted {
                check.account = check.account ?? notes[key]?.check?.check.account
                notes[key, default: RowNotes()].check = CheckRecord(check: check, askedAt: now)
                payers[key] = row.payer
            }
            var isOlder = false
            if let signed = row.check?.signedDate, let restsOn = agenda[key]?.restsOn {
                isOlder = restsOn > signed
            }
            let isDoubtful = row.isDoubtful || isOlder && row.because != nil
            if isUndecided || isUnwritten || isDoubtful {
                let reason: QuestionReason = row.verdict == nil ? .notification : .heldBack
                var owed = agenda[key] ?? Owed(reason: reason, turn: reason.rank * 2)
                owed.doubts = isUndecided || isUnwritten ? 0 : owed.doubts + 1
                owed.restsUntil =
                    owed.doubts > 3 ? now.unixMilliseconds / 86_400_000 + 7 : nil
                agenda[key] = owed
            } else if case .excluded = row.verdict {
                continue
            } else if !isOlder {
                agenda[key] = nil
            }
        }
        askAboutOverlaps(in: pass)
    }
}

extension Pass.Judged {
    /// By a notification's own statement, without a question.
    var isSettledByNotification: Bool {
        because == nil && verdict == .match && check?.signedDate != nil
    }
}
