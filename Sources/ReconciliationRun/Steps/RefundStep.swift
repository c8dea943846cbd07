import Reconciliation
import SubscriptionStore
import Subscriptions

/// Reads the refunds of customers whose one-time purchases are stored, each customer once in so many days.
///
/// In come the stored purchases whose customers are due, after everything else was asked; out go the
/// outcomes of the purchases that Apple lists as refunded. It asks Apple about no customer whose history
/// the run has read, and inserts no purchase: the answer does not say whose it is.
struct RefundStep {
    let context: RunContext

    func run() async throws {
        guard let days = context.job.refundSweepDays, context.job.policy.keepsPurchases,
            !context.job.filters.leavesOutRows
        else { return }
        for app in context.appStores.keys.sorted() where context.job.filters.includes(app) {
            try await run(RefundSweep(app: app, days: days, now: context.clock.now()))
        }
    }

    private func run(_ sweep: RefundSweep) async throws {
        guard let appStore = context.appStores[sweep.app] else {
            throw Inquirer.notConnected(sweep.app)
        }
        let reader = HistoryReader(
            store: appStore, part: .refunds, tally: context.tally, clock: context.clock)
        var left = try await context.store.customersToRead(in: sweep).tonight
        var last: String?
        while left > 0 {
            let due = try await context.store.dueRefunds(
                of: sweep, after: last, limit: RunLimits.rowsPerPage, in: context.pass)
            guard let end = due.last else { return }
            last = end.transactionID
            var asked: Set<String> = []
            for customer in due where left > 0 && asked.insert(customer.name).inserted {
                if let end = context.reasonToEnd { throw RunInterruption(end: end) }
                try await read(customer, of: sweep, by: reader)
                left -= 1
            }
        }
    }

    /// Reads one customer's refunds; one that could not be read to its end is read by the next run.
    private func read(
        _ customer: RefundedCustomer, of sweep: RefundSweep, by reader: HistoryReader
    ) async throws {
        guard let id = TransactionID(customer.transactionID) else { return }
        let reading = try await reader.read(id, after: nil)
        context.tally.note(reading.history)
        guard case .complete(let refunds) = reading.history else { return }
        let stored = try await context.rows.purchases(refunds, of: sweep.app) ?? [:]
        var policy = context.job.policy
        policy.now = context.clock.now()
        let outcomes = refunds.filter { !$0.isSubscription }.map { signed in
            outcome(
                ofPurchase: signed, stored: stored[signed.transactionID], app: sweep.app,
                isNotified: false, policy: policy)
        }
        try await context.store.stage(
            outcomes, ofRefundsOf: customer, in: sweep, pass: context.pass, run: context.header)
    }
}
