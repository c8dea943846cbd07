import Reconciliation
import Subscriptions

/// Reads a customer's transaction history to its end, or says that it could not.
struct HistoryReader: Sendable {
    let store: any AppStore
    let tally: AnswerTally
    let clock: RunClock

    struct Reading: Sendable {
        var history: HistoryReading
        /// Where the next reading begins; `nil` unless this one reached the end.
        var revision: String?
        /// Fields of the pages that this version does not know, each once.
        var unknowns: [UnknownValue]
    }

    /// Pages until Apple says that there is no more.
    ///
    /// A revision that Apple no longer accepts is dropped and the reading starts over, once. Two
    /// pages with one revision, or an empty page that promises more, end it as incomplete.
    func read(_ id: TransactionID, after stored: String?) async throws(RunStop) -> Reading {
        let reading = try await page(id, from: stored)
        guard case .restart = reading else { return reading.reading }
        return try await page(id, from: nil).reading
    }

    private enum Outcome {
        case reached(Reading)
        case restart

        var reading: Reading {
            switch self {
            case .reached(let reading): reading
            case .restart: .incomplete("Apple refused to continue the history")
            }
        }
    }

    private func page(_ id: TransactionID, from start: String?) async throws(RunStop) -> Outcome {
        var transactions: [SignedTransaction] = []
        var unknowns: [UnknownValue] = []
        var revision = start
        var seen: Set<String> = start.map { [$0] } ?? []
        for _ in 0..<RunLimits.historyPagesPerCustomer {
            // Page after page it may take longer than all the rest of a run.
            if clock.isPastDeadline { throw .deadlineReached }
            let lookup = try await store.transactionHistory(of: id, after: revision)
            tally.note(lookup)
            switch lookup {
            case .answered(let page):
                tally.note(rejected: page.rejected)
                guard page.rejected.isEmpty else {
                    let isInvalid = page.rejected.contains { !$0.isUndetermined }
                    return .reached(
                        .incomplete(
                            isInvalid
                                ? "a transaction in it did not verify"
                                : "whether a certificate in it is revoked could not be learned"))
                }
                transactions += page.transactions
                unknowns += page.unknowns.filter { !unknowns.contains($0) }
                guard page.hasMore else {
                    return .reached(
                        Reading(
                            history: start.map { .since(revision: $0, transactions) }
                                ?? .complete(transactions), revision: page.revision,
                            unknowns: unknowns))
                }
                guard !page.transactions.isEmpty, seen.insert(page.revision).inserted else {
                    return .reached(.incomplete("its pages repeat"))
                }
                revision = page.revision
            case .restart: return .restart
            default: return .reached(.incomplete("a page of it was not answered"))
            }
        }
        return .reached(.incomplete("it has more pages than the limit"))
    }
}

extension HistoryReader.Reading {
    fileprivate static func incomplete(_ why: String) -> Self {
        Self(history: .incomplete(why), revision: nil, unknowns: [])
    }
}
