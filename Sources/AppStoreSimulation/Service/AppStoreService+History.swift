import Subscriptions

/// A transaction with its position in the world, for pages of history.
struct HistoryEntry: Sendable {
    let snapshot: ChainSnapshot
    let period: Int
    let id: UInt64

    var transaction: StoredTransaction { snapshot.chain.transactions[period] }
}

extension AppStoreService {
    /// How many refunds version 1 of the refund history answers.
    private static let refundsWithoutPages = 50

    /// Get Transaction History, version 2 and 1.
    ///
    /// Version 1 omits consumables that the app has finished, unless they were revoked.
    func history(
        id: String, request: ServiceRequest, omitsFinishedConsumables: Bool
    ) throws(APIFailure) -> ServiceAnswer {
        let filter = try HistoryFilter(request)
        let (account, all, now) = try withWorld { world, now throws(APIFailure) in
            let account = try self.answeredAccount(of: id, in: world)
            return (account, self.entries(ofAccount: account, in: world, now: now), now)
        }
        let entries = all.filter { entry in
            let transaction = entry.transaction
            let kind = catalogue.products[Int(transaction.product)].kind
            if omitsFinishedConsumables, kind == .consumable, transaction.isFinished,
                transaction.revocationDate == nil
            {
                return false
            }
            return filter.admits(
                transaction, isFamilyShared: entry.snapshot.chain.isFamilyShared,
                catalogue: catalogue)
        }
        let queryDigest =
            filter.fingerprint ^ UInt64(account) ^ (omitsFinishedConsumables ? 1 << 40 : 0)
        return try page(
            of: entries, key: { $0.modifiedDate }, isDescending: filter.isDescending,
            request: request, queryDigest: queryDigest, now: now)
    }

    /// Get Refund History, version 2: revoked transactions by the date of revocation.
    func refundHistory(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let (account, all, now) = try withWorld { world, now throws(APIFailure) in
            let account = try self.answeredAccount(of: id, in: world)
            return (account, self.entries(ofAccount: account, in: world, now: now), now)
        }
        return try page(
            of: Self.refunds(all), key: { $0.revocationDate ?? $0.modifiedDate },
            isDescending: false,
            request: request, queryDigest: UInt64(account) ^ 0x7EF << 44, now: now,
            hasEnvelope: false)
    }

    /// Get Refund History V1 (deprecated): the fifty latest refunds, without pages.
    func refundHistoryV1(id: String) throws(APIFailure) -> ServiceAnswer {
        let (all, now) = try withWorld { world, now throws(APIFailure) in
            let chain = try Self.chain(
                ofOriginal: id, in: world, malformed: .invalidOriginalTransactionID,
                otherwise: .originalTransactionIDNotFound)
            let account = Int(world.chains[chain].account)
            let answered =
                self.distortions.contains(.otherCustomer)
                ? world.otherAccount(than: account) : account
            return (self.entries(ofAccount: answered, in: world, now: now), now)
        }
        let refunds = distortions.contains(.emptyData) ? [] : Self.refunds(all)
        var jws: [[UInt8]] = []
        for entry in refunds.suffix(Self.refundsWithoutPages) {
            jws.append(try signedTransaction(entry.snapshot, period: entry.period, now: now))
        }
        return .json { json in
            json.key("signedTransactions")
            json.array { json in
                for text in jws { json.plain(text) }
            }
        }
    }

    /// The refunded transactions by the date of revocation.
    private static func refunds(_ entries: [HistoryEntry]) -> [HistoryEntry] {
        entries.filter { [.refundFull, .refundProrated].contains($0.transaction.revocation) }
            .sorted { left, right in
                (revoked(left), left.id) < (revoked(right), right.id)
            }
    }

    private static func revoked(_ entry: HistoryEntry) -> Timestamp {
        entry.transaction.revocationDate ?? entry.transaction.modifiedDate
    }

    func entries(
        ofAccount account: Int, in world: borrowing World, now: Timestamp
    ) -> [HistoryEntry] {
        var entries: [HistoryEntry] = []
        for index in world.chains(ofAccount: account) {
            guard let snapshot = shown(chain: index, in: world, now: now) else { continue }
            for period in snapshot.chain.transactions.indices {
                entries.append(
                    HistoryEntry(
                        snapshot: snapshot, period: period,
                        id: world.identifiers.transactionID(chain: index, period: period)))
            }
        }
        return entries
    }

    private func page(
        of entries: [HistoryEntry], key: @escaping (StoredTransaction) -> Timestamp,
        isDescending: Bool, request: ServiceRequest, queryDigest: UInt64, now: Timestamp,
        hasEnvelope: Bool = true
    ) throws(APIFailure) -> ServiceAnswer {
        let place = { (entry: HistoryEntry) in
            PageTokens.Revision(
                modified: key(entry.transaction), transactionID: entry.id)
        }
        var sorted = entries.sorted {
            let (left, right) = (place($0), place($1))
            return isDescending ? right < left : left < right
        }
        var last = PageTokens.Revision(
            modified: Timestamp(unixMilliseconds: isDescending ? Int64.max : 0), transactionID: 0)
        if let text = request.value("revision"), !distortions.contains(.repeatedToken) {
            guard let revision = pageTokens.revision(text, queryDigest: queryDigest) else {
                throw .invalidRequestRevision
            }
            last = revision
            sorted.removeAll { entry in
                isDescending ? place(entry) >= revision : place(entry) <= revision
            }
        }
        if distortions.contains(.emptyData) { sorted = [] }
        let shown = sorted.prefix(entriesPerPage)
        if let entry = shown.last { last = place(entry) }
        var jws: [[UInt8]] = []
        for entry in shown {
            jws.append(try signedTransaction(entry.snapshot, period: entry.period, now: now))
        }
        let hasMore =
            sorted.count > shown.count || distortions.contains(.hasMoreForever)
            || distortions.contains(.repeatedToken)
        let revision = pageTokens.text(last, queryDigest: queryDigest)
        return .json { json in
            json.field("revision", revision)
            json.field("hasMore", hasMore)
            if hasEnvelope { self.writeEnvelope(into: &json) }
            json.key("signedTransactions")
            json.array { json in
                for text in jws { json.plain(text) }
            }
        }
    }
}

extension PageTokens.Revision: Comparable {
    static func < (left: Self, right: Self) -> Bool {
        (left.modified, left.transactionID) < (right.modified, right.transactionID)
    }
}
