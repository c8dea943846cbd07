import Reports
import SubscriptionStore
import Subscriptions
import Synchronization

/// What is known of a run that may have written to rows, for the message of one that leaves no report.
final class BegunRun: Sendable {
    private let store = Mutex<SQLiteStore?>(nil)

    /// Notes that the run writes corrections from now on.
    ///
    /// - Parameter store: Where their ledger is.
    func begins(in store: SQLiteStore) {
        self.store.withLock { $0 = store }
    }

    /// What is to be said of the run; `nil` where it did not begin.
    ///
    /// A correction in a table of the company's own may be committed there before the ledger has it,
    /// so their number is not known then.
    ///
    /// - Parameters:
    ///   - header: Of the run.
    ///   - isOwnTable: Whether the rows stand in a table of the company's own.
    ///   - inspection: The command that shows what the run wrote.
    /// - Returns: Its number of corrections as well as it is known.
    func account(
        of header: RunHeader, inOwnTable isOwnTable: Bool, shownBy inspection: String
    ) -> RunMessage.Unfinished? {
        guard let store = store.withLock({ $0 }) else { return nil }
        let written = try? store.corrections(writtenByRun: header.runID)
        return RunMessage.Unfinished(
            header: header, corrections: isOwnTable ? nil : written, inspection: inspection)
    }
}
