import Reconciliation
import SubscriptionStore
import Subscriptions

/// Where questions come from, page by page.
protocol QuestionSource: Sendable {
    /// How many rows there are, for people who watch; `nil` where they are not counted.
    var total: Int? { get }

    /// The next questions; `nil` when there are no more.
    mutating func next() async throws -> QuestionPage?
}

extension RunContext {
    /// Asks what a source yields, and stages the answers as they come.
    ///
    /// - Returns: The source after its last page.
    @discardableResult
    func ask<Source: QuestionSource>(_ source: Source) async throws -> Source {
        let window = await answered(
            QuestionWindow(source: source, context: self, isStaging: true))
        if let end = window.asked.end { throw end }
        return window.source
    }

    /// Asks about some rows or ids; nothing is staged.
    ///
    /// - Returns: The answers, and why not all could be asked.
    func answers(to subjects: [AskedPage.Subject]) async -> AskedPage {
        let source = OnePage(page: QuestionPage(subjects: subjects))
        return await answered(
            QuestionWindow(source: source, context: self, isStaging: false)
        ).asked
    }

    /// A source of questions that are known already.
    private struct OnePage: QuestionSource {
        let total: Int? = nil
        var page: QuestionPage?

        mutating func next() -> QuestionPage? { page.take() }
    }

    private func answered<Source>(
        _ window: QuestionWindow<Source>
    ) async -> QuestionWindow<Source> {
        var window = await stop.interruptible {
            var window = window
            await window.run()
            return window
        }
        if let signal = stop.signal { window.asked.end = .signal(signal) }
        return window
    }
}

/// Asks what a source yields, so many questions at once.
///
/// A question that is slow, or is tried again, delays only itself: others take its place in the
/// window. Only questions about the same customer, or the same Apple Account, wait for each other,
/// because the first answer usually settles the rest. What was checked is staged when a batch is
/// full or a second old, so a killed run loses no more than that and what was in flight.
private struct QuestionWindow<Source: QuestionSource>: Sendable {
    var source: Source
    let context: RunContext
    /// Whether answers are staged as they come; otherwise all of them are in `asked` at the end.
    let isStaging: Bool

    /// Customers whose questions wait to be asked.
    private var waiting: [Customer] = []
    /// How many customers of each page are not done; a page counts until the ones before it are.
    private var open: [(page: Int, customers: Int, position: SubscriptionKey?)] = []
    private var pages = 0
    /// Rows that are answered, or need no answer.
    private var done = 0
    private var isExhausted = false
    private var busy: Set<AskedPage.Payer> = []
    var asked = AskedPage()
    /// The rows checked since the last staging and before; a page that was read earlier does not
    /// have them.
    private var judged: (now: Set<SubscriptionKey>, before: Set<SubscriptionKey>) = ([], [])
    private var position: SubscriptionKey?
    private var stagedAt = ContinuousClock.now

    init(source: Source, context: RunContext, isStaging: Bool) {
        self.source = source
        self.context = context
        self.isStaging = isStaging
    }

    mutating func run() async {
        await withTaskGroup(of: Answer.self) { group in
            let inquirer = Inquirer(context: context)
            var inFlight = 0
            while true {
                while inFlight < RunLimits.concurrentInquiries, asked.end == nil,
                    let customer = await next()
                {
                    group.addTask {
                        (await AskedPage.ask(customer.subjects, inquirer: inquirer), customer)
                    }
                    inFlight += 1
                }
                guard inFlight > 0, let answer = await group.next() else { break }
                inFlight -= 1
                take(answer)
                if asked.end == nil || asked.end?.letsOthersFinish == true {
                    asked.end = context.tally.verdict ?? context.outage ?? asked.end
                }
                if let end = asked.end, !end.letsOthersFinish { group.cancelAll() }
                if isDue { await stage() }
            }
            await stage()
        }
    }

    /// The questions about one customer, and the number of their page.
    private struct Customer: Sendable {
        var subjects: [AskedPage.Subject]
        var payers: Set<AskedPage.Payer>
        let page: Int

        init(_ subjects: [AskedPage.Subject], page: Int) {
            self.subjects = subjects
            self.page = page
            payers = Set(subjects.flatMap(\.payers))
        }
    }

    private typealias Answer = (result: AskedPage.GroupResult, customer: Customer)

    /// The next customer to ask about; `nil` when every one must wait.
    private mutating func next() async -> Customer? {
        while true {
            if let free = waiting.firstIndex(where: { busy.isDisjoint(with: $0.payers) }) {
                guard !context.clock.isPastDeadline else {
                    asked.end = asked.end ?? .deadline
                    return nil
                }
                var item = waiting.remove(at: free)
                let rows = item.subjects.count
                item.subjects.removeAll { subject in
                    guard let key = subject.row?.row.key else { return false }
                    return judged.now.contains(key) || judged.before.contains(key)
                }
                done += rows - item.subjects.count
                guard !item.subjects.isEmpty else {
                    finish(customerOf: item.page)
                    continue
                }
                if item.subjects.count < rows { item = Customer(item.subjects, page: item.page) }
                busy.formUnion(item.payers)
                return item
            }
            guard waiting.count < RunLimits.rowsPerPage, !isExhausted else { return nil }
            await readPage()
            if asked.end != nil { return nil }
        }
    }

    private mutating func readPage() async {
        do {
            guard let page = try await source.next() else {
                isExhausted = true
                return
            }
            pages += 1
            let groups = AskedPage.grouped(page.subjects)
            waiting += groups.map { Customer($0, page: pages) }
            done += page.rows - page.subjects.count
            asked.batch.outcomes += page.settled
            // Not asked until `askAgain`; should the run not come so far, they were not
            // reached, and are asked in their turn the next time.
            asked.batch.outcomes += page.putOff.map {
                RowOutcome(key: $0, verdict: .undecided(.deadline))
            }
            asked.batch.asksAgain += page.putOff
            open.append((pages, groups.count, page.walkedThrough))
            closePages()
        } catch {
            asked.end = RunEnd(thrown: error)
        }
    }

    private mutating func take(_ answer: Answer) {
        asked.add(answer.result)
        for item in answer.result.judged { judged.now.formUnion(item.outcomes.map(\.key)) }
        busy.subtract(answer.customer.payers)
        // What was cut off is asked by the next run, so its page is not done.
        guard answer.result.end == nil else { return }
        finish(customerOf: answer.customer.page)
        done += answer.customer.subjects.count
        guard isStaging else { return }
        context.progress(RunProgress(stage: .walk, done: done, total: source.total))
    }

    private mutating func finish(customerOf page: Int) {
        guard let index = open.firstIndex(where: { $0.page == page }) else { return }
        open[index].customers -= 1
        closePages()
    }

    /// The walk's position moves behind a page once it and all before it are done.
    private mutating func closePages() {
        while let first = open.first, first.customers == 0 {
            position = first.position ?? position
            open.removeFirst()
        }
    }

    private var isDue: Bool {
        asked.batch.outcomes.count >= RunLimits.rowsPerPage
            || asked.batch.writes >= RunLimits.writesPerStage
            || ContinuousClock.now - stagedAt >= RunLimits.longestUnstaged
    }

    private mutating func stage() async {
        stagedAt = .now
        guard isStaging, !asked.batch.outcomes.isEmpty || position != nil else { return }
        asked.batch.walkedThrough = position
        let batch = asked.batch
        asked.batch = StagedBatch()
        position = nil
        judged = ([], judged.now)
        do {
            try await context.stage(batch)
        } catch {
            asked.end = RunEnd(thrown: error)
        }
    }
}

/// The questions of one page of rows, and what needs no question.
struct QuestionPage: Sendable {
    var subjects: [AskedPage.Subject] = []
    /// How many rows were read for it, whatever became of them.
    var rows = 0
    /// Rows in flight, and rows of an app that is not configured.
    var settled: [RowOutcome] = []
    /// The rows that failed in the run before and are checked at the end.
    var putOff: [SubscriptionKey] = []
    /// Where the walk continues once the whole page was checked.
    var walkedThrough: SubscriptionKey?

    /// A row, or a subscription without a row, and why Apple is asked about it.
    typealias Item = (key: SubscriptionKey, row: ScopedRow?, reason: QuestionReason)
}

extension RunContext {
    /// Says of each row of a page whether Apple is asked, and through which app.
    func questionPage(of items: [QuestionPage.Item]) async throws -> QuestionPage {
        let policy = policyOfNow
        var page = QuestionPage()
        let failing = try await failedLastTime(among: items.compactMap { $0.row?.row.key })
        for item in items {
            let id = item.key.originalTransactionID
            guard let row = item.row else {
                if let app = app(of: item.key) {
                    page.subjects.append(
                        AskedPage.Subject(id: id, row: nil, app: app, reason: item.reason))
                }
                continue
            }
            if let reason = exclusion(of: row.row, policy: policy) {
                page.settled.append(outcome(ofExcluded: row.row, because: reason, policy: policy))
            } else if let app = appToAsk(about: row.row, policy: policy) {
                if failing.contains(item.key) {
                    page.putOff.append(item.key)
                } else {
                    page.subjects.append(
                        AskedPage.Subject(id: id, row: row, app: app, reason: item.reason))
                }
            } else {
                page.settled.append(
                    RowOutcome(key: item.key, verdict: .excluded(.appNotConfigured)))
            }
        }
        return page
    }

    private func app(of key: SubscriptionKey) -> AppIdentity? {
        AppIdentity(bundleID: key.bundleID, environment: key.environment)
            .flatMap { appStores[$0] == nil ? nil : $0 }
    }

    /// Returns the rows that failed in the run before.
    ///
    /// They come last: they may be at fault themselves, and nothing that can be checked must wait
    /// for them.
    private func failedLastTime(
        among keys: [SubscriptionKey]
    ) async throws -> Set<SubscriptionKey> {
        guard !keys.isEmpty else { return [] }
        return try await store.failedLastTime(among: keys, before: header)
    }
}

/// The answers to some questions, and why not all of them were asked.
struct AskedPage: Sendable {
    /// One thing to ask for: a held row, or an id that a notification named.
    struct Subject: Sendable {
        var id: String
        var row: ScopedRow?
        var app: AppIdentity
        /// The reason to ask about it; `nil` for a question that settles nothing.
        var reason: QuestionReason?
    }

    /// Whose subscriptions are checked one after the other: the first answer usually settles the
    /// rest.
    enum Payer: Hashable, Sendable {
        case customer(String)
        /// Of one app; the answer through another app does not contain it.
        case account(AccountDigest, AppIdentity)
    }

    var batch = StagedBatch()
    /// Set when asking must end; the batch still holds what was checked before.
    var end: RunEnd?

    typealias GroupResult = (judged: [Inquirer.Judged], end: RunEnd?)

    static func grouped(_ subjects: [Subject]) -> [[Subject]] {
        var positions: [Payer: Int] = [:]
        var groups: [[Subject]] = []
        for subject in subjects {
            let payers = subject.payers
            let position = payers.lazy.compactMap { positions[$0] }.first ?? groups.count
            if position == groups.count {
                groups.append([subject])
            } else {
                groups[position].append(subject)
            }
            for payer in payers { positions[payer] = positions[payer] ?? position }
        }
        return groups
    }

    static func ask(_ subjects: [Subject], inquirer: Inquirer) async -> GroupResult {
        var judgements: [Inquirer.Judged] = []
        var settled: Set<SubscriptionKey> = []
        for subject in subjects {
            if let key = subject.row?.row.key, settled.contains(key) { continue }
            do {
                var judged = try await inquirer.inquire(
                    subject.id, row: subject.row, through: subject.app)
                for index in judged.outcomes.indices {
                    judged.outcomes[index].because(subject.reason)
                }
                if subjects.count > 1 { settled.formUnion(judged.outcomes.map(\.key)) }
                judgements.append(judged)
            } catch {
                return (judgements, RunEnd(thrown: error))
            }
        }
        return (judgements, nil)
    }

    /// Drops a failure to be asked again where a later answer about the same customer settles it.
    private static func withoutSettledFailures(
        _ judged: [Inquirer.Judged]
    ) -> [Inquirer.Judged] {
        guard judged.contains(where: { $0.asksAgain != nil }) else { return judged }
        var decided: Set<SubscriptionKey> = []
        return judged.reversed().filter { item in
            if let key = item.asksAgain, decided.contains(key),
                item.outcomes.allSatisfy({ $0.key == key })
            {
                return false
            }
            for outcome in item.outcomes {
                if case .match = outcome.verdict { decided.insert(outcome.key) }
                if case .discrepancy = outcome.verdict { decided.insert(outcome.key) }
            }
            return true
        }.reversed()
    }

    mutating func add(_ result: GroupResult) {
        if let reason = result.end {
            let isWeak = end == nil || end == .stop(.cancelled)
            if isWeak || end?.letsOthersFinish == true && !reason.letsOthersFinish { end = reason }
        }
        for judged in Self.withoutSettledFailures(result.judged) {
            batch.outcomes += judged.outcomes
            if let key = judged.asksAgain { batch.asksAgain.append(key) }
            batch.historyMarks.merge(judged.historyMarks) { first, _ in first }
        }
    }
}

extension AskedPage.Subject {
    /// Whose the row is, as the company and as Apple says; empty where neither is known.
    var payers: [AskedPage.Payer] {
        var payers: [AskedPage.Payer] = []
        if let account = row?.check?.check.account { payers.append(.account(account, app)) }
        if let customer = row?.row.customerID, !customer.isEmpty {
            payers.append(.customer(customer))
        }
        return payers
    }
}

extension RowOutcome {
    /// Notes why the question was asked that brought the outcome.
    fileprivate mutating func because(_ reason: QuestionReason?) {
        askedBecause = reason
        for index in findings.indices { findings[index].askedBecause = reason }
    }
}

extension RunContext {
    /// Asks once more, at the end, about the rows that Apple had a fault with.
    ///
    /// These are 5000000 and every other failure of a single question. They come last, so that they never
    /// are in the way of the others.
    func askAgain() async throws {
        var position: SubscriptionKey?
        while true {
            if let end = reasonToStop { throw end }
            let start = position
            let keys = try await store.rowsToAskAgain(
                after: start, limit: RunLimits.rowsPerPage, in: pass)
            guard let last = keys.last else { return }
            if clock.isPastDeadline { throw RunEnd.deadline }
            position = last
            let wanted = Set(keys)
            let rows = try await self.rows.rows(holding: keys.map(\.originalTransactionID))
                .filter { wanted.contains($0.row.key) }
            guard !rows.isEmpty else { continue }
            var subjects: [AskedPage.Subject] = []
            // A run that continues another's pass may find another table.
            var excluded: [RowOutcome] = []
            for row in rows {
                guard let app = appToAsk(about: row.row, policy: job.policy) else {
                    excluded.append(
                        RowOutcome(key: row.row.key, verdict: .excluded(.appNotConfigured)))
                    continue
                }
                subjects.append(
                    AskedPage.Subject(
                        id: row.row.key.originalTransactionID, row: row, app: app))
            }
            var page = await answers(to: subjects)
            page.batch.outcomes += excluded
            page.batch.replaces = true
            page.batch.asksAgain = []
            try await stage(page.batch)
            if let end = page.end { throw end }
            progress(RunProgress(stage: .again, done: rows.count))
        }
    }

    /// Asks each app one question that Apple answered before, at the beginning of a run that continues
    /// another one.
    ///
    /// Perhaps only ids that fail are left of a checkpoint. Without a single answer next to them they
    /// would look like an outage, and the run would wait for its end.
    func askKnownAnswers() async throws {
        guard pass.resumedFrom != nil else { return }
        var subjects: [AskedPage.Subject] = []
        for app in appStores.keys.sorted() {
            let id = try await store.judgedID(of: app, in: pass)
            if let id { subjects.append(AskedPage.Subject(id: id, row: nil, app: app)) }
        }
        var asking = self
        asking.job.policy.history = .never
        // Only that there is an answer counts.
        if let end = await asking.answers(to: subjects).end {
            throw end
        }
    }
}
