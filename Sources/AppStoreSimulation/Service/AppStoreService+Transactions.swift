import Subscriptions

extension AppStoreService {
    /// Get Transaction Info: a transaction of any kind.
    func transactionInfo(id: String) throws(APIFailure) -> ServiceAnswer {
        let (snapshot, period, now) = try withWorld { world, now throws(APIFailure) in
            var (chain, period) = try Self.transaction(of: id, in: world)
            if self.distortions.contains(.otherCustomer) {
                let other = try self.answeredAccount(of: id, in: world)
                (chain, period) = (world.chains(ofAccount: other).first ?? chain, 0)
            }
            guard let snapshot = self.shown(chain: chain, in: world, now: now),
                period < snapshot.chain.transactions.count
            else { throw .transactionIDNotFound }
            return (snapshot, period, now)
        }
        let jws = try signedTransaction(snapshot, period: period, now: now)
        return .json { $0.field("signedTransactionInfo", jws: jws) }
    }

    /// Get App Transaction Info: the app transaction of the id's Apple Account.
    func appTransactionInfo(id: String) throws(APIFailure) -> ServiceAnswer {
        let (account, bought, now) = try withWorld { world, now throws(APIFailure) in
            let account: Int
            do throws(APIFailure) {
                account = try self.answeredAccount(of: id, in: world)
            } catch {
                // This endpoint has no "account not found".
                throw error == .accountNotFound ? .transactionIDNotFound : error
            }
            let dates = self.entries(ofAccount: account, in: world, now: now).map(
                \.transaction.purchaseDate)
            return (account, dates.min() ?? now, now)
        }
        let signedDate = signedDate(at: now)
        let jws = try signed(
            encoder.appTransaction(account: account, bought: bought, now: signedDate),
            at: signedDate)
        return .json { $0.field("signedAppTransactionInfo", jws: jws) }
    }

    /// Look Up Order ID; in production only.
    ///
    /// An unknown order is answered with status 1.
    func orderLookup(id: String) throws(APIFailure) -> ServiceAnswer {
        guard environment == .production else { return .noSuchPath }
        guard !id.isEmpty, id.utf8.count <= 64 else { throw .generalBadRequest }
        let found = try withWorld { world, now throws(APIFailure) in
            guard let (chain, period) = world.identifiers.place(ofOrder: id),
                world.contains(chain: chain, period: period), !world.isDeleted(chain: chain),
                let snapshot = self.shown(chain: chain, in: world, now: now),
                period < snapshot.chain.transactions.count
            else { return (ChainSnapshot, Int, Timestamp)?.none }
            return (snapshot, period, now)
        }
        guard let (snapshot, period, now) = found else { return .json { $0.field("status", 1) } }
        let jws = try signedTransaction(snapshot, period: period, now: now)
        return .json { json in
            json.field("status", 0)
            json.key("signedTransactions")
            json.array { $0.plain(jws) }
        }
    }
}
