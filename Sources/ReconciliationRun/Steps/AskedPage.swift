import Reconciliation
import Subscriptions

/// One page of questions, asked concurrently with a bound, and what came of it.
struct AskedPage: Sendable {
    /// One thing to ask for: a held row, or an id that a notification named.
    struct Subject: Sendable {
        var id: String
        var row: ScopedRow?
        var app: AppIdentity
        /// Why it is asked about; `nil` for a question that settles nothing.
        var reason: QuestionReason?
    }

    /// Whose subscriptions are asked about one after the other: the first answer usually settles
    /// the rest.
    enum Payer: Hashable, Sendable {
        case customer(String)
        /// Of one app; the answer through another app does not contain it.
        case account(AccountDigest, AppIdentity)
    }

    var batch = StagedBatch()
    /// Set when asking must end; the batch still holds what was judged before.
    var end: RunEnd?

    /// Asks for all subjects; those of one customer one after the other, because the first answer
    /// usually settles the others.
    static func ask(_ subjects: [Subject], in context: RunContext) async -> AskedPage {
        let groups = grouped(subjects)
        return await context.stop.interruptible {
            var page = AskedPage()
            await withTaskGroup(of: GroupResult.self) { group in
                var waiting = groups.makeIterator()
                for _ in 0..<RunLimits.concurrentInquiries {
                    guard let next = waiting.next() else { break }
                    group.addTask { await ask(next, inquirer: context.inquirer) }
                }
                for await result in group {
                    page.add(result)
                    if page.end == nil || page.end?.letsOthersFinish == true {
                        page.end = context.tally.verdict ?? context.outage ?? page.end
                    }
                    if let end = page.end {
                        if !end.letsOthersFinish { group.cancelAll() }
                        continue
                    }
                    guard !context.clock.isPastDeadline, let next = waiting.next() else { continue }
                    group.addTask { await ask(next, inquirer: context.inquirer) }
                }
            }
            if let signal = context.stop.signal { page.end = .signal(signal) }
            return page
        }
    }

    struct GroupResult: Sendable {
        var judged: [Inquirer.Judged] = []
        var end: RunEnd?
    }

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
        var result = GroupResult()
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
                result.judged.append(judged)
            } catch {
                result.end = RunEnd(thrown: error)
                return result
            }
        }
        return result
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
