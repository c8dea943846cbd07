import Subscriptions

extension AppStoreService {
    /// Finish Transaction: version 1 of the transaction history then omits a consumable.
    func finishTransaction(id: String) throws(APIFailure) -> ServiceAnswer {
        try withWorld { world, now throws(APIFailure) in
            let (chain, period) = try Self.transaction(of: id, in: world)
            world.chains[chain].transactions[period].isFinished = true
        }
        return .empty(status: 200)
    }
}
