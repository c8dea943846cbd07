import Logging
import Reconciliation
import SubscriptionStore
import Subscriptions

/// Asks what is on the queue, the most urgent first, page by page.
struct QueueStep: QuestionSource {
    let context: RunContext
    let part: QueuePart
    /// Whether only rows that we hold are checked, or only what we do not hold.
    ///
    /// A subscription that a notification named and no row holds comes last: an answer about
    /// another one may show that it is held under another id.
    let held: Bool
    /// How many questions there are, for people who watch.
    var total: Int?
    /// How many rows may still be taken; `nil` for any number.
    private var limit: Int?
    private var position: QueuedQuestion?

    init(context: RunContext, part: QueuePart, held: Bool, total: Int? = nil) {
        self.context = context
        self.part = part
        self.held = held
        self.total = total
    }

    /// Asks, and counts down how many rows may still be taken; `nil` for any number.
    func run(limit: inout Int?) async throws {
        var source = self
        source.limit = limit
        limit = try await context.ask(source).limit
    }

    mutating func next() async throws -> QuestionPage? {
        if let end = context.reasonToStop { throw end }
        if let limit, limit <= 0 { return nil }
        let start = position
        let lines = try await context.store.lines(
            of: part, after: start, limit: RunLimits.rowsPerPage, in: context.pass)
        guard let last = lines.last else { return nil }
        position = last
        var items = try await items(of: lines)
        if !items.isEmpty, context.clock.isPastDeadline { throw RunEnd.deadline }
        if let left = limit {
            items = Array(items.prefix(left))
            limit = left - items.count
        }
        var page = try await context.questionPage(of: items)
        page.rows = lines.count
        return page
    }

    /// The lines that are still to be asked, with their rows.
    private func items(of lines: [QueuedQuestion]) async throws -> [QuestionPage.Item] {
        let wanted = lines.filter { context.job.filters.includes($0.key) }
        let settled = try await context.store.settled(
            among: wanted.map(\.key), in: context.pass)
        let ids = wanted.filter { !settled.contains($0.key) }.map(\.key.originalTransactionID)
        let rows = try await context.rows.rows(holding: ids)
        let byKey = Dictionary(keepingFirst: rows.map { ($0.row.key, $0) })
        let open = wanted.filter { !settled.contains($0.key) }
        guard !held else {
            return open.compactMap { line in
                byKey[line.key].map { (line.key, $0, line.reason) }
            }
        }
        let unheld = open.filter { byKey[$0.key] == nil }
        let named = unheld.filter { $0.reason == .notification }
        let elsewhere = try await context.store.heldUnderOtherIDs(
            among: named.map(\.key), in: context.pass)
        // A row that was deleted since needs no question either.
        let gone = unheld.filter { $0.reason != .notification || elsewhere.contains($0.key) }
        if !gone.isEmpty {
            try await context.stage(
                StagedBatch(outcomes: gone.map { RowOutcome(key: $0.key, verdict: nil) }))
        }
        // An answer of this run named it already, and the next run reads the history.
        let unread = try await context.store.lackingHistory(
            among: named.map(\.key), in: context.pass)
        return named.filter { !elsewhere.contains($0.key) && !unread.contains($0.key) }
            .map { ($0.key, nil, $0.reason) }
    }
}

extension RunContext {
    /// Finds out which rows were due, where a run ended before it came to that: its report counts
    /// them as not checked, and a retry asks about them.
    ///
    /// Where they cannot be read any more, the report tells of those alone that were pending
    /// before.
    func scheduleWhatIsLeft(after end: RunEnd) async {
        switch end {
        case .completed, .store, .refused: return
        case .deadline, .signal, .stop, .unavailable, .unreadable: break
        }
        guard job.obstacle == nil, job.planSource == .judgement, job.steps.contains(.walk),
            !job.filters.leavesOutRows, case .delta(let settings) = job.coverage
        else { return }
        _ = try? await schedule(settings)
    }

    /// Finds the rows that this run must ask Apple about.
    func schedule(_ settings: DeltaSettings) async throws -> ScheduleCounts {
        let now = clock.now()
        var request = ScheduleRequest(
            now: now, sweepMilliseconds: settings.sweepMilliseconds,
            sweepEndedMilliseconds: settings.sweepEndedMilliseconds, sample: settings.sample,
            seed: Self.seed(of: header.runID), apps: job.filters.apps)
        request.readsHistories = job.policy.history != .never
        log("schedule.begin")
        let apps = Set(job.policy.apps)
        let asked = request
        let counts = try await store.schedule(
            asked, in: pass, run: header,
            level: { sweepLevel(rowsByDaysLeft: $0) },
            due: { dueReason(of: $0, sweeping: $1, asked, apps: apps) })
        var metadata: Logger.Metadata = [
            "rows": "\(counts.rows)", "quiet": "\(counts.unchanged)",
        ]
        for (reason, rows) in counts.due { metadata[reason.rawValue] = "\(rows)" }
        log("schedule", metadata)
        return counts
    }

    /// Every run draws another sample, which its id makes repeatable.
    private static func seed(of runID: String) -> UInt64 {
        var digest = ValuesDigest()
        digest.add(runID)
        return digest.bits
    }
}
