import Subscriptions

/// What an id in a request turned out to be.
enum Place: Hashable, Sendable {
    case malformed
    case unknown
    case transaction(chain: Int, period: Int)
    case appTransaction(account: Int)
}

/// A chain with what is needed to write its payloads, taken out of the world at one moment.
struct ChainSnapshot: Sendable {
    let index: Int
    let chain: PurchaseChain
    let account: AppleAccount
}

extension World {
    /// Finds what an id names; Apple's ids are decimal texts.
    func place(of text: String) -> Place {
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

    /// The account that a place belongs to.
    func account(of place: Place) -> Int? {
        switch place {
        case .malformed, .unknown: nil
        case .transaction(let chain, _): Int(chains[chain].account)
        case .appTransaction(let account): account
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

    /// The next account that is not deleted and has a subscription; without one, the same.
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
            index: index, chain: chains[index], account: accounts[Int(chains[index].account)])
    }

    /// The id of a chain's first transaction, or of its predecessor's where it migrated.
    func originalTransactionID(chain index: Int) -> String {
        String(identifiers.transactionID(chain: index, period: 0))
    }
}
