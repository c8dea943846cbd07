package import Reconciliation
import Subscriptions

/// Asks Apple for commands that only read; it reads and writes nothing of the company's.
package struct CompareInquiry: Sendable {
    private let stores: [AppIdentity: any AppStore]
    private let apps: [AppIdentity]
    private let clock: RunClock
    private let tally = AnswerTally(maxVerificationFailures: .max)

    /// How many questions are under way at once.
    private static let window = 50

    /// - Parameters:
    ///   - stores: The configured apps, in the order in which an id of an unknown app is looked for.
    ///   - clock: The present, and until when to ask.
    package init(_ stores: [any AppStore], clock: RunClock) {
        self.stores = Dictionary(stores.map { ($0.app, $0) }) { first, _ in first }
        apps = stores.map(\.app)
        self.clock = clock
    }

    /// Asks some questions side by side.
    ///
    /// - Returns: The answers, in the order in which they came.
    /// - Throws: `RunStop` where no further question can be asked; what was answered is lost then.
    package func ask(
        _ questions: [CompareQuestion]
    ) async throws -> [(question: CompareQuestion, answer: CompareAnswer)] {
        try await withThrowingTaskGroup(of: (CompareQuestion, CompareAnswer).self) { group in
            var answers: [(question: CompareQuestion, answer: CompareAnswer)] = []
            var waiting = questions.makeIterator()
            for question in questions.prefix(Self.window) {
                _ = waiting.next()
                group.addTask { (question, try await ask(question)) }
            }
            while let (question, answer) = try await group.next() {
                answers.append((question, answer))
                if let next = waiting.next() { group.addTask { (next, try await ask(next)) } }
            }
            return answers
        }
    }

    private func ask(_ question: CompareQuestion) async throws(RunStop) -> CompareAnswer {
        guard let id = TransactionID(question.originalTransactionID) else { return .notFound }
        for app in question.apps(among: apps) {
            guard let store = stores[app] else { continue }
            switch try await store.subscriptionStatuses(of: id) {
            case .answered(let answer):
                return try await read(answer, to: question, id, from: store)
            case .transactionNotFound, .accountNotFound, .invalidID: continue
            case .rateLimited: return .unanswered("Apple answered 429")
            case .internalFault: return .unanswered("Apple answered 5000000")
            case .restart: return .unanswered("Apple refused the question")
            case .refused(let code, _, _):
                return .unanswered("Apple refused the question (\(code))")
            case .unavailable(let why), .undecodable(let why): return .unanswered(why)
            case .unverified(let rejected): return .unanswered(rejected.failure.detail)
            }
        }
        return .notFound
    }

    private func read(
        _ answer: StatusAnswer, to question: CompareQuestion, _ id: TransactionID,
        from store: any AppStore
    ) async throws(RunStop) -> CompareAnswer {
        let own = answer.subscriptions.first {
            $0.originalTransactionID == question.originalTransactionID
        }
        guard let own else {
            let why = answer.rejected.first?.failure.detail
            return .unanswered(why ?? "Apple's answer is about other subscriptions")
        }
        var transactions: [SignedTransaction]?
        if question.needsHistory(besides: own.transaction.transactionID) {
            let reader = HistoryReader(store: store, tally: tally, clock: clock)
            if case .complete(let all) = try await reader.read(id, after: nil).history {
                transactions = all
            }
        }
        return .answered(
            answer.subscriptions.map { stated in
                AskedSubscription(
                    key: SubscriptionKey(
                        app: store.app, originalTransactionID: stated.originalTransactionID),
                    stated: stated,
                    transactions: transactions?.filter {
                        $0.originalTransactionID == stated.originalTransactionID
                    })
            })
    }
}
