import GRDB
package import Subscriptions

/// What must be asked, and why: durable lines for what is owed whoever asks, and the questions that one
/// pass found among the rows (docs/delta.md).
///
/// Lines are put there by `record(_:of:in:run:)` and by `schedule`, and leave with the conclusion of a
/// run that works off the agenda.
extension SQLiteStore {
    /// Reads every row with its last check, once, and puts those for which `due` names a reason
    /// among the questions of the pass, together with a sample of the others.
    ///
    /// A pass is scheduled once; later calls return what the first one found. `level` says how many
    /// rows to sweep tonight, given how many reach the allowed age in so many days, 0 being overdue.
    /// `due` says why Apple must be asked about a row, given the last rows that the sweep takes.
    package func schedule(
        _ request: ScheduleRequest, in pass: OpenPass, run: RunHeader,
        level: @escaping @Sendable ([Int: Int]) -> Int,
        due: @escaping @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?
    ) async throws(StoreError) -> ScheduleCounts {
        let doing = "finding out who must be asked about"
        let passID = pass.passID
        if let known = try await read(doing, { db in try ScheduledPass(db, passID).counts() }) {
            return known
        }
        var counts = ScheduleCounts()
        counts.seed = request.seed
        let ends = try await read(doing) { db in
            try SweepOrder(db: db, request: request).ends(level: level)
        }
        counts.oldestCheck = try await read(doing) { db in try SweepOrder.oldestCheck(db) }
        let changed = try await read(doing) { db in
            try ChangedPeriods(db: db).rows(readsHistories: request.readsHistories)
        }
        let scan = TableScan(request: request, ends: ends, changedPeriods: changed, due: due)
        var draw = SampleDraw(request.sample, seed: request.seed)
        var position: StoredKey?
        repeat {
            let start = position
            let chunk = try await read(doing) { db in try scan.chunk(after: start, db) }
            counts.rows += chunk.rows
            counts.quiet += chunk.quiet.count
            for line in chunk.lines { counts.due[line.reason, default: 0] += 1 }
            for key in chunk.quiet { draw.offer(key) }
            var lines = chunk.lines
            if draw.mayTakeEarly { lines += Self.sample(draw.take(), &counts) }
            try await ask(lines, in: passID, doing)
            position = chunk.next
        } while position != nil
        try await ask(Self.sample(draw.take(), &counts), in: passID, doing)
        let found = counts
        try await write(doing) { db in try ScheduledPass(db, passID).note(found) }
        return counts
    }

    private static func sample(
        _ keys: [SubscriptionKey], _ counts: inout ScheduleCounts
    ) -> [AgendaLine] {
        guard !keys.isEmpty else { return [] }
        counts.due[.sample, default: 0] += keys.count
        return keys.map {
            AgendaLine(
                key: $0, reason: .sample, turn: AgendaLine.turn(.sample, isEntitling: false))
        }
    }

    private func ask(
        _ lines: [AgendaLine], in passID: Int64, _ doing: String
    ) async throws(StoreError) {
        for start in stride(from: 0, to: lines.count, by: StoreLimits.rowsPerChunk) {
            let some = Array(lines[start..<min(lines.count, start + StoreLimits.rowsPerChunk)])
            try await write(doing) { db in try AgendaLines(db: db, passID: passID).ask(some) }
        }
    }

    /// The next lines of a part of the agenda in their order, settled ones included; fewer than
    /// `limit` only at the end.
    package func lines(
        of part: AgendaPart, after position: AgendaPosition?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [AgendaLine] {
        try await read("reading what must be asked") { db in
            try AgendaLines(db: db, passID: pass.passID).lines(
                of: part, after: position, limit: limit)
        }
    }

    /// What the run has asked and what it leaves, by reason; `bound` is left to the caller.
    package func coverage(
        kind: RunCoverage.Kind, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> RunCoverage {
        try await read("counting what was asked") { db in
            try ScheduledPass(db, pass.passID).coverage(kind: kind)
        }
    }

    /// Adds to the pass's findings those that earlier reports of the job left open and that this
    /// pass did not look at, so that they are not forgotten.
    ///
    /// What the pass has found itself gets no second line.
    package func carryOpenFindings(
        in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await inChunks("taking over open findings", from: "") { first, db in
            try CarriedFindings(
                db: db, passID: pass.passID, job: run.job, narrowing: TextList.encode(run.narrowing)
            ).carry(from: first)
        }
    }
}
