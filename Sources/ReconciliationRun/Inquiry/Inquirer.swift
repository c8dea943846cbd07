import Reconciliation
import Subscriptions

/// Asks Apple everything that one case needs until the core can check it.
///
/// The core decides which question comes next; this type asks it. A class, because every question
/// that is asked at the same time is given it.
final class Inquirer: Sendable {
    let context: RunContext
    private let rows: RowReader

    init(context: RunContext) {
        self.context = context
        rows = context.rows
    }

    /// The outcomes of one case, ready to be staged.
    struct Judged: Sendable {
        var outcomes: [RowOutcome]
        var asksAgain: SubscriptionKey?
        /// How far the history was read, for each row that this reading covers.
        var historyMarks: [SubscriptionKey: HistoryMark] = [:]
    }

    /// Asks about one id through `app` and checks the answer.
    ///
    /// - Throws: `RunStop`, or `StoreError`: the case could not be checked at all.
    func inquire(
        _ id: String, row: ScopedRow?, through app: AppIdentity
    ) async throws -> Judged {
        guard let store = context.appStores[app] else { throw Self.notConnected(app) }
        var item = Case(app: app, askedID: id, asked: row)
        var revision: String?
        if let transactionID = TransactionID(id) {
            let statuses = try await store.subscriptionStatuses(of: transactionID)
            note(statuses, of: app)
            item.statuses = statuses
            item.held = try await heldRows(besides: row, in: statuses)
            let missing = item.missing
            if !missing.isEmpty {
                item.aliasRows = try await rows.knownAliasRows(of: missing, in: app)
                item.underOtherApps = try await rows.rowsOfUnreadApps(
                    holding: missing.map(\.originalTransactionID))
            }
            for _ in 0..<RunLimits.furtherQuestionsPerCase {
                switch judge(item, policy: context.policyOfNow) {
                case .outcomes(let outcomes): return judged(item, outcomes, readThrough: revision)
                case .needs(let question):
                    let read = try await answer(
                        question, about: transactionID, of: store, in: &item)
                    revision = read ?? revision
                }
            }
        }
        return judged(item, outcomes(of: item, policy: context.policyOfNow), readThrough: revision)
    }

    private func judged(
        _ item: Case, _ outcomes: [RowOutcome], readThrough revision: String?
    ) -> Judged {
        var outcomes = outcomes
        let key = SubscriptionKey(app: item.app, originalTransactionID: item.askedID)
        // The answer is there and leads to no outcome. Only one about the subscription settles it.
        if item.asked == nil, let statuses = item.statuses, !statuses.mayComeLater,
            !outcomes.contains(where: { $0.key == key })
        {
            var outcome = RowOutcome(key: key, verdict: nil)
            outcome.isDoubtful = !statuses.holds(item.askedID)
            outcomes.append(outcome)
        }
        return Judged(
            outcomes: outcomes, asksAgain: asksAgain(item) ? item.asked?.row.key : nil,
            historyMarks: revision.map { Self.marks($0, of: item, judged: outcomes) } ?? [:])
    }

    /// An invariant that broke: the run ends with its bookkeeping intact instead of crashing.
    static func notConnected(_ app: AppIdentity) -> StoreError {
        .inconsistent(
            "Apple was to be asked through \(app.bundleID) (\(app.environment.rawValue)), for which "
                + "this command made no connection. This is a fault of trueup, please report it. "
                + "Nothing was written.")
    }

    /// Whether the question is asked once more at the end of the run.
    ///
    /// It is where Apple had a fault of its own, where a question that fails was put off so as not
    /// to hold up the others, and where it could not be learned whether a certificate is revoked;
    /// but not where the app is refused, because it would be refused again.
    private func asksAgain(_ item: Case) -> Bool {
        if context.refusals.isRefused(item.app) { return false }
        if item.transactionInfo?.mayComeLater == true { return true }
        if let elsewhere = item.elsewhere, elsewhere.statuses.mayComeLater {
            return !context.refusals.isRefused(elsewhere.app)
        }
        switch item.statuses {
        case .internalFault, .unavailable, .rateLimited: return true
        case .unverified(let rejected):
            return rejected.isUndetermined && context.tally.mayAskUndeterminedAgain()
        case .answered(let answer):
            return answer.rejected.contains {
                $0.isUndetermined && $0.originalTransactionID == item.askedID
            } && context.tally.mayAskUndeterminedAgain()
        case .transactionNotFound, .accountNotFound, .invalidID, .restart, .refused, .undecodable,
            nil:
            return false
        }
    }

    /// Puts the answer to a further question into the case; returns a new history revision.
    private func answer(
        _ question: Question, about id: TransactionID, of store: any AppStore, in item: inout Case
    ) async throws -> String? {
        switch question {
        case .transactionInfo:
            let info = try await store.transactionInfo(of: id)
            context.tally.note(info)
            item.transactionInfo = info
            if item.asked == nil, case .answered(let signed) = info {
                item.purchases = try await rows.purchases([signed], of: item.app)
            }
            return nil
        case .statuses(in: let app):
            guard let other = context.appStores[app] else { throw Self.notConnected(app) }
            let statuses = try await other.subscriptionStatuses(of: id)
            note(statuses, of: app)
            item.elsewhere = Case.Elsewhere(app: app, statuses: statuses)
            return nil
        case .history(after: let stored):
            let reader = HistoryReader(
                store: store, tally: context.tally, clock: context.clock)
            let reading = try await reader.read(id, after: stored)
            let history = customerHistory(reading.history, of: item)
            context.tally.note(history)
            item.history = history
            item.historyUnknowns = reading.unknowns
            let listed = try await rows.listedAliasRows(in: item)
            item.aliasRows.merge(listed) { $0 + $1 }
            item.purchases = try await rows.purchases(history.transactions, of: item.app)
            if context.job.policy.keepsPurchases, case .complete = history {
                item.customerPurchases = try await rows.purchases(
                    ofCustomer: item.asked?.row.customerID, in: item.app)
            }
            return reading.revision
        case .purchases(let ids):
            item.purchaseInfos = try await store.transactionInfos(of: ids, tally: context.tally)
            return nil
        }
    }

    /// A reading that began at one row's stored revision says nothing of what another row, which
    /// was read less far, still lacks.
    ///
    /// Where stored periods are left empty that it could fill in, it counts as not read.
    private static func marks(
        _ revision: String, of item: Case, judged outcomes: [RowOutcome]
    ) -> [SubscriptionKey: HistoryMark] {
        let owing = Set(outcomes.filter(\.leavesPeriodsEmpty).map(\.key))
        let rows = ((item.asked.map { [$0] } ?? []) + item.held)
            .filter { !owing.contains($0.row.key) }
        let readOn: [ScopedRow] =
            switch item.history {
            case .complete: rows
            case .since(let start, _): rows.filter { $0.historyRevision == start }
            case .incomplete, nil: []
            }
        return Dictionary(
            keepingFirst: readOn.map {
                ($0.row.key, HistoryMark(revision: revision, periods: $0.periodsDigest))
            })
    }

    private func note(_ statuses: Lookup<StatusAnswer>, of app: AppIdentity) {
        context.tally.note(statuses)
        context.tally.note(identityIn: statuses, of: app)
        if case .answered(let answer) = statuses { context.tally.note(rejected: answer.rejected) }
    }

    /// Rows held under the answer's other ids; the database is not asked when there are none.
    private func heldRows(
        besides row: ScopedRow?, in statuses: Lookup<StatusAnswer>
    ) async throws -> [ScopedRow] {
        guard case .answered(let answer) = statuses else { return [] }
        var ids = answer.subscriptions.map(\.originalTransactionID)
        ids += answer.rejected.compactMap(\.originalTransactionID)
        if let row, row.duplicates.isEmpty {
            ids.removeAll { $0 == row.row.key.originalTransactionID }
        }
        guard !ids.isEmpty else { return [] }
        return try await rows.rows(holding: ids).filter { $0.row.key != row?.row.key }
    }
}

extension AppStore {
    /// Answers about these transaction ids, one call each; a malformed id is answered without one.
    func transactionInfos(
        of ids: [String], tally: AnswerTally
    ) async throws(RunStop) -> [String: Lookup<SignedTransaction>] {
        var answers: [String: Lookup<SignedTransaction>] = [:]
        for id in ids {
            guard let transactionID = TransactionID(id) else {
                answers[id] = .invalidID
                continue
            }
            let info = try await transactionInfo(of: transactionID)
            tally.note(info)
            answers[id] = info
        }
        return answers
    }
}

extension Lookup<StatusAnswer> {
    /// Whether Apple's answer holds a verified statement about a subscription.
    fileprivate func holds(_ originalTransactionID: String) -> Bool {
        guard case .answered(let answer) = self else { return false }
        return answer.subscriptions.contains { $0.originalTransactionID == originalTransactionID }
    }
}

extension Lookup {
    /// Whether the same question may be answered later in the run.
    var mayComeLater: Bool {
        switch self {
        case .internalFault, .unavailable, .rateLimited: true
        default: false
        }
    }
}
