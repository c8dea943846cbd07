package import Subscriptions

/// Everything that is known about one asked id: what was asked, what Apple answered, and our rows.
///
/// It starts with the status call; `judge` says what else must be asked.
package struct Case: Hashable, Sendable {
    /// The app that asked.
    package var app: AppIdentity
    /// The id that was asked for, as stored.
    package var askedID: String
    /// The row that was asked about; `nil` when a notification named a subscription that we do not
    /// hold.
    package var asked: ScopedRow?
    /// Our other rows with an id of the answer, of any app.
    package var held: [ScopedRow]
    /// `nil` when the id is malformed and was not asked for.
    package var statuses: Lookup<StatusAnswer>?
    // The answers to further questions; see `Question`.
    package var transactionInfo: Lookup<SignedTransaction>?
    package var elsewhere: Elsewhere?
    package var history: HistoryReading?
    /// Rows stored under the id of a later transaction of a subscription in the answer, by the
    /// original transaction id of that subscription.
    package var standIns: [String: [SubscriptionKey]]
    /// Rows of subscriptions in the answer that stand under apps whose rows the run does not read, by
    /// original transaction id.
    package var underOtherApps: [String: SubscriptionKey]
    /// Unknown fields around the history's signed transactions.
    package var historyUnknowns: [UnknownValue]

    package init(app: AppIdentity, askedID: String, asked: ScopedRow?) {
        self.app = app
        self.askedID = askedID
        self.asked = asked
        self.held = []
        self.standIns = [:]
        self.underOtherApps = [:]
        self.historyUnknowns = []
    }

    /// The answer about the same id in the bundle's other environment.
    package struct Elsewhere: Hashable, Sendable {
        package var app: AppIdentity
        package var statuses: Lookup<StatusAnswer>

        package init(app: AppIdentity, statuses: Lookup<StatusAnswer>) {
            self.app = app
            self.statuses = statuses
        }
    }
}

/// A customer's transaction history, as far as it was read; it covers all of the customer's
/// subscriptions.
package enum HistoryReading: Hashable, Sendable {
    /// From the beginning to the end: what is absent from it does not exist.
    case complete([SignedTransaction])
    /// From a stored revision to the end: only what was added or modified since.
    case since(revision: String, [SignedTransaction])
    /// It could not be read to its end, so absence proves nothing; the text says why.
    case incomplete(String)
}
