import Reconciliation
import SubscriptionStore
import Subscriptions

extension RunContext {
    /// Reads the purchases of customers whose one-time purchases are stored, each customer once in so many days.
    ///
    /// In come the stored purchases whose customers are due, after everything else was asked; out go the
    /// outcomes of their purchases. It asks Apple about no customer whose history the run has read. Of a
    /// customer with a stored subscription it reads the list of refunds. Of any other customer it reads the
    /// whole history by one of the stored purchases, because no question about a subscription shows it. Many
    /// customers are read at once.
    func readRefunds() async throws {
        guard let days = job.refundSweepDays, job.policy.keepsPurchases,
            !job.filters.leavesOutRows
        else { return }
        for app in appStores.keys.sorted() where job.filters.includes(app) {
            try await read(RefundSweep(app: app, days: days, now: header.started))
        }
    }

    private func read(_ sweep: RefundSweep) async throws {
        guard let appStore = appStores[sweep.app] else {
            throw Inquirer.notConnected(sweep.app)
        }
        let total = try await store.customersToRead(in: sweep).tonight
        var done = 0
        var last: String?
        while done < total {
            let due = try await store.dueRefunds(
                of: sweep, after: last, limit: RunLimits.rowsPerPage, in: pass)
            guard let end = due.last else { return }
            last = end.transactionID
            var asked: Set<PurchaseCustomer> = []
            let customers = due.filter { asked.insert($0.customer).inserted }.prefix(total - done)
            let before = done
            let ended = await stop.interruptible {
                await read(Array(customers), of: sweep, from: appStore) { read in
                    progress(
                        RunProgress(stage: .purchases, done: before + read, total: total))
                }
            }
            done += customers.count
            if let signal = stop.signal { throw RunEnd.signal(signal) }
            if let ended { throw ended }
        }
    }

    /// Reads some customers' purchases, so many at once.
    ///
    /// - Returns: Why not all of them were read; `nil` where they were.
    private func read(
        _ customers: [RefundedCustomer], of sweep: RefundSweep, from appStore: any AppStore,
        progress: (_ read: Int) -> Void
    ) async -> RunEnd? {
        await withTaskGroup(of: RunEnd?.self) { group in
            var waiting = customers.makeIterator()
            var end: RunEnd?
            var (inFlight, done) = (0, 0)
            while true {
                while inFlight < RunLimits.concurrentInquiries, end == nil,
                    let customer = waiting.next()
                {
                    end = reasonToEnd
                    guard end == nil else { break }
                    group.addTask {
                        do {
                            try await read(customer, of: sweep, from: appStore)
                            return nil
                        } catch {
                            return RunEnd(thrown: error)
                        }
                    }
                    inFlight += 1
                }
                guard inFlight > 0, let stop = await group.next() else { return end }
                inFlight -= 1
                done += 1
                progress(done)
                end = end ?? stop
                if let end, !end.letsOthersFinish { group.cancelAll() }
            }
        }
    }

    /// Reads one customer's purchases; one that could not be read to its end is read by the next run.
    private func read(
        _ customer: RefundedCustomer, of sweep: RefundSweep, from appStore: any AppStore
    ) async throws {
        let own = try await store.purchases(
            of: customer.customer, in: sweep.app, limit: RunLimits.purchasesPerCustomer)
        let reader = HistoryReader(
            store: appStore, readsRefunds: customer.hasSubscription,
            tally: tally, clock: clock)
        var signed: [SignedTransaction] = []
        var owner: PurchaseOwner?
        var absent: [LocalTransaction] = []
        var outcomes: [RowOutcome] = []
        // The first id that Apple finds leads to all purchases of the customer.
        for purchase in own.prefix(RunLimits.idsPerCustomer) {
            guard let id = TransactionID(purchase.key.transactionID) else {
                absent.append(purchase)
                continue
            }
            let reading = try await reader.read(id, after: nil)
            if reading.isNotFound {
                absent.append(purchase)
                continue
            }
            let history =
                customer.hasSubscription
                ? reading.history : customerHistory(reading.history, ofPurchase: id.text)
            tally.note(history)
            guard case .complete(let all) = history else { return }
            signed = all.filter { !$0.isSubscription }
            if customer.hasSubscription {
                outcomes = notRefunded(purchase, among: signed)
                signed += try await reversed(own, among: signed, from: appStore)
            } else {
                owner = PurchaseOwner(
                    purchase, signed: all.first { $0.transactionID == id.text })
                absent = absentPurchases(own, from: history, policy: policyOfNow)
                outcomes = try await subscriptionsNotStored(among: all, app: sweep.app)
            }
            break
        }
        outcomes +=
            try await self.outcomes(of: signed, owner: owner, app: sweep.app)
            + self.outcomes(ofAbsent: absent, app: sweep.app, from: appStore)
        try await store.stage(
            outcomes, ofRefundsOf: customer, in: sweep, pass: pass, run: header)
    }

    /// The verdict about the purchase by which a list of refunds was read, which lacks it.
    ///
    /// The list is of that purchase's Apple Account; the customer's others may be of another account.
    private func notRefunded(
        _ purchase: LocalTransaction, among refunds: [SignedTransaction]
    ) -> [RowOutcome] {
        guard purchase.revocationDate == nil, purchase.unreadable.isEmpty,
            !refunds.contains(where: { $0.transactionID == purchase.key.transactionID })
        else { return [] }
        var outcome = RowOutcome(key: purchase.subscription, verdict: nil)
        outcome.purchase = JudgedPurchase(key: purchase.key, verdict: .match)
        return [outcome]
    }

    /// The stored refunds of a customer that the complete list lacks, as Apple signs them by their own ids: a
    /// refund that was reversed is not in the list, nor is one of another Apple Account.
    private func reversed(
        _ own: [LocalTransaction], among refunds: [SignedTransaction], from appStore: any AppStore
    ) async throws -> [SignedTransaction] {
        let listed = Set(refunds.map(\.transactionID))
        let ids = own.filter {
            $0.revocationDate != nil && !listed.contains($0.key.transactionID)
        }.map(\.key.transactionID)
        let infos = try await appStore.transactionInfos(of: ids, tally: tally)
        return ids.compactMap { id in
            guard case .answered(let info) = infos[id], info.transactionID == id,
                !info.isSubscription
            else { return nil }
            return info
        }
    }

    /// An outcome for each subscription of a history that no row holds: the next run asks about it, as about
    /// one that a notification names.
    private func subscriptionsNotStored(
        among signed: [SignedTransaction], app: AppIdentity
    ) async throws -> [RowOutcome] {
        let ids = Set(signed.filter(\.isSubscription).map(\.originalTransactionID))
        guard !ids.isEmpty else { return [] }
        let held = Set(
            try await rows.rows(holding: ids.sorted()).map(\.row.key.originalTransactionID))
        return ids.subtracting(held).sorted().map { id in
            var outcome = RowOutcome(
                key: SubscriptionKey(app: app, originalTransactionID: id), verdict: nil)
            outcome.isDoubtful = true
            return outcome
        }
    }

    private func outcomes(
        of signed: [SignedTransaction], owner: PurchaseOwner?, app: AppIdentity
    ) async throws -> [RowOutcome] {
        let stored = try await rows.purchases(signed, of: app) ?? [:]
        return signed.map {
            outcome(
                ofPurchase: $0, stored: stored[$0.transactionID], owner: owner, app: app,
                isNotified: false, policy: policyOfNow)
        }
    }

    private func outcomes(
        ofAbsent purchases: [LocalTransaction], app: AppIdentity, from appStore: any AppStore
    ) async throws -> [RowOutcome] {
        guard job.policy.reports(.purchaseUnknown) else { return [] }
        let infos = try await appStore.transactionInfos(
            of: purchases.map(\.key.transactionID), tally: tally)
        return purchases.compactMap { purchase in
            infos[purchase.key.transactionID].flatMap {
                outcome(ofAbsent: purchase, info: $0, app: app, policy: policyOfNow)
            }
        }
    }
}
