package import Subscriptions

/// Everything that was asked and answered around one question to Apple, as a value.
///
/// It starts with the status call; `nextQuestion` says what else must be known before `judge`.
package struct Case: Hashable, Sendable {
    /// The app that asked.
    package var app: AppIdentity
    /// The id that was asked for, as stored.
    package var askedID: String
    /// The row that the question was for; `nil` when a notification named a subscription that we
    /// do not hold.
    package var asked: ScopedRow?
    /// Rows that we hold under any id of the answer, whatever their app; `asked` not included.
    package var held: [ScopedRow]
    /// `nil` when the id must not be asked for (malformed): then `judge` says why.
    package var statuses: Lookup<StatusAnswer>?
    /// What else was asked, by question.
    package var transactionInfo: Lookup<SignedTransaction>?
    package var elsewhere: Elsewhere?
    package var history: HistoryReading?
    /// Rows that stand under the ids of later transactions of subscriptions in the answer, as far
    /// as one was found; by original transaction id.
    package var standIns: [String: [SubscriptionKey]]
    /// Unknown fields around the history's signed transactions.
    package var historyUnknowns: [UnknownValue]

    package init(app: AppIdentity, askedID: String, asked: ScopedRow?) {
        self.app = app
        self.askedID = askedID
        self.asked = asked
        self.held = []
        self.standIns = [:]
        self.historyUnknowns = []
    }

    /// The same id asked for in the same bundle's other environment.
    package struct Elsewhere: Hashable, Sendable {
        package var app: AppIdentity
        package var statuses: Lookup<StatusAnswer>

        package init(app: AppIdentity, statuses: Lookup<StatusAnswer>) {
            self.app = app
            self.statuses = statuses
        }
    }
}

/// A customer's transaction history as far as it was read; all of the customer's subscriptions.
package enum HistoryReading: Hashable, Sendable {
    /// From the beginning to the end: absence in it proves absence.
    case complete([SignedTransaction])
    /// From a stored revision to the end: only what is new or was modified since.
    case since(revision: String, [SignedTransaction])
    /// It could not be read to its end; nothing follows from what is absent.
    case incomplete(String)
}

/// A further question that a case needs answered before it can be judged.
package enum Question: Hashable, Sendable {
    /// Get Transaction Info of the asked id: what is it really?
    case transactionInfo
    /// The status call of the asked id in another configured environment of the bundle.
    case statuses(in: AppIdentity)
    /// The customer's history, from a stored revision where there is one.
    case history(after: String?)
}
