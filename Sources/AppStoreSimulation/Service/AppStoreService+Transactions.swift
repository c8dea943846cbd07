import Subscriptions

extension AppStoreService {
    /// Get Transaction Info: any transaction of any kind.
    func transactionInfo(id: String) throws(APIFailure) -> ServiceAnswer {
        let (snapshot, period, now) = try withWorld { world, now throws(APIFailure) in
            switch world.place(of: id) {
            case .malformed: throw .invalidTransactionID
            case .unknown: throw .transactionIDNotFound
            case .appTransaction: throw .appTransactionIDNotSupported
            case .transaction(let chain, let period):
                guard !world.accounts[Int(world.chains[chain].account)].isDeleted else {
                    throw .transactionIDNotFound
                }
                return (world.snapshot(chain: chain), period, now)
            }
        }
        let jws = try signed(
            encoder.transaction(
                snapshot, period: period, transaction: snapshot.chain.transactions[period],
                signedDate: signedDate(at: now)))
        return .json { $0.field("signedTransactionInfo", jws: jws) }
    }

    /// Get App Transaction Info: of the id's Apple Account.
    func appTransactionInfo(id: String) throws(APIFailure) -> ServiceAnswer {
        let (account, bought, now) = try withWorld { world, now throws(APIFailure) in
            let account = try Self.account(of: id, in: world)
            let dates = Self.entries(ofAccount: account, in: world).map(\.transaction.purchaseDate)
            return (account, dates.min() ?? now, now)
        }
        let jws = try signed(
            encoder.appTransaction(account: account, bought: bought, now: now))
        return .json { $0.field("signedAppTransactionInfo", jws: jws) }
    }

    /// Look Up Order ID; production only.
    ///
    /// An unknown order is an answer, not an error.
    func orderLookup(id: String) throws(APIFailure) -> ServiceAnswer {
        guard environment == .production else { return .noSuchPath }
        guard !id.isEmpty, id.utf8.count <= 64 else { throw .generalBadRequest }
        let found = try withWorld { world, now throws(APIFailure) in
            guard let (chain, period) = world.identifiers.place(ofOrder: id),
                world.contains(chain: chain, period: period)
            else { return (ChainSnapshot, Int, Timestamp)?.none }
            return (world.snapshot(chain: chain), period, now)
        }
        guard let (snapshot, period, now) = found else { return .json { $0.field("status", 1) } }
        let jws = try signed(
            encoder.transaction(
                snapshot, period: period, transaction: snapshot.chain.transactions[period],
                signedDate: now))
        return .json { json in
            json.field("status", 0)
            json.key("signedTransactions")
            json.array { $0.plain(jws) }
        }
    }
}
