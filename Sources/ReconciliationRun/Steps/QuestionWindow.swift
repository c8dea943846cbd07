import Reconciliation
import Subscriptions

/// Where questions come from, page by page.
protocol QuestionSource: Sendable {
    /// How many rows there are to get through, for people who watch; `nil` where nobody counted them.
    var total: Int? { get }

    /// The next questions; `nil` when there are no more.
    mutating func next() async throws -> QuestionPage?
}

/// Asks what a source yields, so many questions at once, and stages the answers as they come.
///
/// A question that is slow, or is tried again, holds up nobody but itself: others take its place in
/// the window. Only questions about the same customer, or the same Apple Account, wait for each
/// other, because the first answer usually settles the rest. What was judged is staged when a batch
/// is full or a second old, so a killed run loses no more than that and what was in flight.
struct QuestionWindow {
    let context: RunContext

    /// - Returns: The source after its last page.
    @discardableResult
    func ask<Source: QuestionSource>(_ source: Source) async throws -> Source {
        let (source, end) = await context.stop.interruptible { [context] in
            var window = Window(source: source, context: context)
            let end = await window.run()
            return (window.source, end)
        }
        if let signal = context.stop.signal { throw RunInterruption(end: .signal(signal)) }
        if let end { throw RunInterruption(end: end) }
        return source
    }
}

private struct Window<Source: QuestionSource> {
    var source: Source
    let context: RunContext

    /// Customers whose questions wait to be asked.
    private var waiting: [Customer] = []
    /// How many customers of each page are not done; a page counts until the ones before it are.
    private var open: [(page: Int, customers: Int, position: SubscriptionKey?)] = []
    private var pages = 0
    /// Rows that are answered, or need no answer.
    private var done = 0
    private var isExhausted = false
    private var busy: Set<AskedPage.Payer> = []
    private var asked = AskedPage()
    /// What was judged since the last staging and before: a page that was read earlier does not
    /// know it.
    private var judged: (now: Set<SubscriptionKey>, before: Set<SubscriptionKey>) = ([], [])
    private var position: SubscriptionKey?
    private var stagedAt = ContinuousClock.now

    init(source: Source, context: RunContext) {
        self.source = source
        self.context = context
    }

    mutating func run() async -> RunEnd? {
        await withTaskGroup(of: Answer.self) { group in
            let inquirer = context.inquirer
            var inFlight = 0
            while true {
                while inFlight < RunLimits.concurrentInquiries, asked.end == nil,
                    let customer = await next()
                {
                    group.addTask {
                        Answer(
                            result: await AskedPage.ask(customer.subjects, inquirer: inquirer),
                            customer: customer)
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
            return asked.end
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

    private struct Answer: Sendable {
        var result: AskedPage.GroupResult
        var customer: Customer
    }

    /// The next customer to ask about; `nil` when nobody may be asked now.
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
            // Not asked until `AskAgainStep`; should the run not come so far, they were not reached,
            // and are asked in their turn the next time.
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
            || ContinuousClock.now - stagedAt >= RunLimits.longestUnstaged
    }

    private mutating func stage() async {
        stagedAt = .now
        guard !asked.batch.outcomes.isEmpty || position != nil else { return }
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
