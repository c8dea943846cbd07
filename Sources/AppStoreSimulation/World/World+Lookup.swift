import Subscriptions

/// What the id in a request stands for.
enum ResolvedID: Hashable, Sendable {
    case malformed
    case unknown
    case transaction(chain: Int, period: Int)
    case appTransaction(account: Int)
}

/// A copy of a chain with what its payloads need.
struct ChainSnapshot: Sendable {
    let index: Int
    let chain: PurchaseChain
    let account: AppleAccount
    /// Tokens that were set by the API, oldest first.
    let tokens: [AppAccountToken]
    /// Its seats; `nil` without a subscription for a group.
    var seats: GroupSeats?

    /// The same subscription in another state.
    func with(_ chain: PurchaseChain) -> ChainSnapshot {
        ChainSnapshot(
            index: index, chain: chain, account: account, tokens: tokens, seats: seats)
    }

    /// The `appAccountToken` of payloads that are signed at a moment; `nil` for none.
    func appAccountToken(at moment: Timestamp, _ identifiers: IdentifierScheme) -> String? {
        if let set = tokens.last(where: { $0.since <= moment }) { return set.token }
        guard account.hasToken, !chain.isFamilyShared else { return nil }
        return identifiers.appAccountToken(account: Int(chain.account))
    }
}

/// A notification with what its payload needs.
struct NotificationSnapshot: Sendable {
    let record: NotificationRecord
    /// `nil` for a notification without a purchase.
    let purchase: ChainSnapshot?
    /// What it is about instead of a purchase; `nil` for a purchase, and for a test.
    var subject: NotificationSubject?
}

extension World {
    /// Finds what an id stands for; Apple's ids are decimal texts.
    func resolve(_ text: String) -> ResolvedID {
        guard !text.isEmpty, text.utf8.count <= 20,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return .malformed }
        guard let id = UInt64(text) else { return .unknown }
        if let (chain, period) = identifiers.place(ofTransaction: id) {
            return contains(chain: chain, period: period)
                ? .transaction(chain: chain, period: period) : .unknown
        }
        if let account = identifiers.account(ofAppTransaction: id), account < accounts.count {
            return .appTransaction(account: account)
        }
        return .unknown
    }

    func contains(chain: Int, period: Int) -> Bool {
        chain < chains.count && period < chains[chain].transactions.count
    }

    /// The account that a resolved id belongs to.
    func account(of id: ResolvedID) -> Int? {
        switch id {
        case .malformed, .unknown: nil
        case .transaction(let chain, _): Int(chains[chain].account)
        case .appTransaction(let account): account
        }
    }

    /// The account that a notification is about; `nil` for the app as a whole.
    func account(of record: NotificationRecord) -> Int? {
        if record.chain >= 0 { return Int(chains[Int(record.chain)].account) }
        return if case .appTransaction(let account, _) = subjects[record.key] { account } else {
            nil
        }
    }

    /// The chains of an account, in the order of their purchase.
    func chains(ofAccount account: Int) -> [Int] {
        var found: [Int] = []
        var index = Int(accounts[account].firstChain)
        while index >= 0 {
            found.append(index)
            index = Int(chains[index].nextOfAccount)
        }
        return found
    }

    /// The next account that is not deleted and has a subscription; the same account if there is none.
    func otherAccount(than account: Int) -> Int {
        for step in 1..<max(2, accounts.count) {
            let other = (account + step) % accounts.count
            guard other != account, !accounts[other].isDeleted else { continue }
            if chains(ofAccount: other).contains(where: { chains[$0].isSubscription }) {
                return other
            }
        }
        return account
    }

    func snapshot(chain index: Int) -> ChainSnapshot {
        ChainSnapshot(
            index: index, chain: chains[index], account: accounts[Int(chains[index].account)],
            tokens: appAccountTokens[index] ?? [], seats: groups[index])
    }

    func snapshot(of record: NotificationRecord) -> NotificationSnapshot {
        NotificationSnapshot(
            record: record,
            purchase: record.chain < 0 ? nil : snapshot(chain: Int(record.chain)),
            subject: record.chain < 0 ? subjects[record.key] : nil)
    }

    /// The id of a chain's first transaction.
    func originalTransactionID(chain index: Int) -> String {
        String(identifiers.transactionID(chain: index, period: 0))
    }
}
