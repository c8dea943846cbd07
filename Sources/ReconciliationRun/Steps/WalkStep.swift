import Reconciliation
import SubscriptionStore
import Subscriptions

/// Walks the stored rows in key order, page by page; each page is staged with the walk's position,
/// so that a killed run loses one page of calls and nothing else.
///
/// A walk that takes several runs is one full scan: what an earlier run of it has checked is left
/// out.
struct WalkStep: QuestionSource {
    let context: RunContext
    private var position: SubscriptionKey?
    private var taken = 0

    /// The number of questions in the forecast: rows that an unfinished full scan has settled are
    /// not among them.
    var total: Int? { context.job.forecast?.questions }

    init(context: RunContext) {
        self.context = context
        position = context.pass.walkedThrough
    }

    func run() async throws {
        try await context.ask(self)
    }

    mutating func next() async throws -> QuestionPage? {
        if let end = context.reasonToStop { throw end }
        if let limit = context.job.filters.limit, taken >= limit { return nil }
        let start = position
        let page = try await context.store.rows(after: start, limit: RunLimits.rowsPerPage)
        guard let last = page.last else { return nil }
        position = last.row.key
        let chosen = choose(from: try await unsettled(among: page), alreadyTaken: taken)
        if !chosen.isEmpty, context.clock.isPastDeadline { throw RunEnd.deadline }
        taken += chosen.count
        var questions = try await context.questionPage(
            of: chosen.map { ($0.row.key, $0, .round) })
        questions.walkedThrough = position
        // Rows that are left out cause no questions, in the forecast too.
        questions.rows = chosen.count - questions.settled.count
        return questions
    }

    /// The rows of a page that neither the checkpoint nor an earlier run of the full scan has
    /// settled, with what is noted about them.
    private func unsettled(among page: [StoredSubscription]) async throws -> [ScopedRow] {
        let settled = try await context.store.settled(
            among: page.map(\.row.key), in: context.pass)
        let rows = try await context.rows.withNotes(
            page.filter { !settled.contains($0.row.key) })
        guard let began = context.pass.roundBegan else { return rows }
        return rows.filter { row in row.check.map { $0.askedAt < began } ?? true }
    }

    private func choose(from rows: [ScopedRow], alreadyTaken: Int) -> [ScopedRow] {
        let included = rows.filter { context.job.filters.includes($0.row.key) }
        guard let limit = context.job.filters.limit else { return included }
        return Array(included.prefix(limit - alreadyTaken))
    }
}
