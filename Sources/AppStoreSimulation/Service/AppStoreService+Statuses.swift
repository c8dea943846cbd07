import Subscriptions

extension AppStoreService {
    /// Get All Subscription Statuses: every subscription of the id's Apple Account, by group.
    func statuses(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let filter = try statusFilter(request)
        let (entries, now) = try withWorld { world, now throws(APIFailure) in
            let account = try self.answeredAccount(of: id, in: world)
            var snapshots: [ChainSnapshot] = []
            for index in world.chains(ofAccount: account)
            where world.chains[index].isSubscription && !world.chains[index].isReplaced {
                guard let snapshot = self.shown(chain: index, in: world, now: now),
                    filter.isEmpty || filter.contains(snapshot.chain.phase.status)
                else { continue }
                snapshots.append(snapshot)
            }
            // Apple promises no order; half of the accounts are answered backwards.
            if account % 2 == 1 { snapshots.reverse() }
            return (snapshots, now)
        }
        let shown = distortions.contains(.emptyData) ? [] : entries
        let statements = try signedStatements(shown, now: signedDate(at: now))
        return .json { json in
            self.writeEnvelope(into: &json)
            json.key("data")
            json.array { json in
                for group in statements.map(\.group).uniqued() {
                    json.object { json in
                        json.field("subscriptionGroupIdentifier", catalogue.groups[group])
                        json.key("lastTransactions")
                        json.array { json in
                            for statement in statements where statement.group == group {
                                statement.write(into: &json)
                            }
                        }
                    }
                }
            }
        }
    }

    /// The transaction that represents the current period.
    ///
    /// Which one Apple shows where several do is not documented: here another one each day.
    private func shownTransaction(of entry: ChainSnapshot, at now: Timestamp) -> Int {
        let last = entry.chain.transactions.count - 1
        guard let together = entry.seats?.transactions(besides: last, at: now), together.count > 1
        else { return last }
        let day = now.unixMilliseconds / CivilCalendar.millisecondsPerDay
        return together[Int(day % Int64(together.count))]
    }

    private func statusFilter(_ request: ServiceRequest) throws(APIFailure) -> [Int] {
        var filter: [Int] = []
        for text in request.values("status") {
            guard let status = Int(text), (1...5).contains(status) else { throw .invalidStatus }
            filter.append(status)
        }
        return filter
    }

    private func signedStatements(
        _ entries: [ChainSnapshot], now: Timestamp
    ) throws(APIFailure) -> [SignedStatement] {
        var statements: [SignedStatement] = []
        for entry in entries where !entry.chain.transactions.isEmpty {
            let period = shownTransaction(of: entry, at: now)
            let current = entry.chain.transactions[period]
            let status = entry.chain.phase.status
            let transaction = try signed(
                encoder.transaction(
                    entry, period: period, transaction: current, signedDate: now), at: now)
            let renewal = try signed(
                encoder.renewalInfo(
                    distortions.contains(.swappedRenewal) ? entry.shifted : entry,
                    renewal: entry.chain.renewal, transaction: current, status: status,
                    signedDate: now), at: now)
            statements.append(
                SignedStatement(
                    group: catalogue.products[Int(current.product)].group,
                    status: unsignedStatus(status),
                    originalTransactionID: String(
                        encoder.identifiers.transactionID(chain: entry.index, period: 0)),
                    transaction: transaction, renewal: renewal))
        }
        return statements
    }
}

/// One `lastTransactions` entry.
struct SignedStatement: Sendable {
    let group: Int
    let status: Int
    let originalTransactionID: String
    let transaction: [UInt8]
    let renewal: [UInt8]

    func write(into json: inout JSONWriter) {
        json.object { json in
            json.field("originalTransactionId", originalTransactionID)
            json.field("status", status)
            json.field("signedTransactionInfo", jws: transaction)
            json.field("signedRenewalInfo", jws: renewal)
        }
    }
}

extension Sequence where Element: Equatable {
    /// The elements without repetitions, in the order of their first appearance.
    fileprivate func uniqued() -> [Element] {
        reduce(into: []) { found, element in
            if !found.contains(element) { found.append(element) }
        }
    }
}
