import Subscriptions

extension AppStoreService {
    /// The same store, answering falsely in one way.
    func distorted(by distortion: Distortion, signers: FlawedSigners) -> AppStoreService {
        var service = self
        service.distortions.insert(distortion)
        if let signer = signers.signer(for: distortion) { service.signer = signer }
        switch distortion {
        case .otherBundle: service.encoder.app.bundleID = "com.example.other"
        case .otherEnvironment:
            service.encoder.environment = environment == .production ? .sandbox : .production
        case .unknownValues: service.encoder.hasUnknownValues = true
        default: break
        }
        return service
    }

    /// The status outside the signed payloads.
    func unsignedStatus(_ status: Int) -> Int {
        if distortions.contains(.unknownStatus) { return 6 }
        guard distortions.contains(.contradictingStatus) else { return status }
        return status == 1 ? 2 : 1
    }

    /// A chain as this store's answers show it; `nil` where they do not know it.
    func shown(chain index: Int, in world: borrowing World, now: Timestamp) -> ChainSnapshot? {
        if distortions.contains(.oldStatement) || asOfMilliseconds > 0 {
            let then = signedDate(at: now).adding(milliseconds: -asOfMilliseconds)
            return world.snapshot(chain: index, at: then)
        }
        let snapshot = world.snapshot(chain: index)
        return distortions.contains(.everythingExpired)
            ? Self.expired(snapshot, now: now) : snapshot
    }

    /// A subscription that ended by the customer's will, at the latest an hour ago.
    private static func expired(_ snapshot: ChainSnapshot, now: Timestamp) -> ChainSnapshot {
        guard snapshot.chain.isSubscription, let current = snapshot.chain.current else {
            return snapshot
        }
        var chain = snapshot.chain
        let last = chain.transactions.count - 1
        let hourAgo = now.adding(milliseconds: -3_600_000)
        // A period of the last hour ends as soon as it began.
        let end = min(max(min(current.expiresDate, hourAgo), current.purchaseDate), now)
        chain.phase = .expired
        chain.transactions[last].expiresDate = end
        chain.transactions[last].revocationDate = nil
        chain.transactions[last].revocation = .none
        chain.transactions[last].commitmentPayment =
            chain.transactions[last].owesPayments ? 12 : chain.transactions[last].commitmentPayment
        chain.renewal.renewalDate = end
        chain.renewal.willRenew = false
        chain.renewal.isInBillingRetry = false
        chain.renewal.gracePeriodExpiresDate = nil
        chain.renewal.expirationIntent = 1
        chain.renewal.priceIncrease = .none
        return ChainSnapshot(index: snapshot.index, chain: chain, account: snapshot.account)
    }
}

extension ChainSnapshot {
    /// The same state under the ids of the next chain.
    var shifted: ChainSnapshot {
        ChainSnapshot(index: index + 1, chain: chain, account: account)
    }
}
