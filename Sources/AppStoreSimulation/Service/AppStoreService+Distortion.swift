import Subscriptions

extension AppStoreService {
    /// The same store, answering falsely in one way.
    func distorted(by distortion: Distortion, signers: FlawedSigners) -> AppStoreService {
        var service = self
        service.distortion = distortion
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
        switch distortion {
        case .contradictingStatus: status == 1 ? 2 : 1
        case .unknownStatus: 6
        default: status
        }
    }

    /// A chain as a distorted answer shows it.
    func distorted(_ snapshot: ChainSnapshot, now: Timestamp) -> ChainSnapshot {
        guard distortion == .everythingExpired, let current = snapshot.chain.current else {
            return snapshot
        }
        var chain = snapshot.chain
        let last = chain.transactions.count - 1
        let end = min(current.expiresDate, now.adding(milliseconds: -3_600_000))
        chain.phase = .expired
        chain.transactions[last].expiresDate = end
        chain.transactions[last].revocationDate = nil
        chain.renewal.renewalDate = end
        chain.renewal.willRenew = false
        chain.renewal.isInBillingRetry = false
        chain.renewal.gracePeriodExpiresDate = nil
        chain.renewal.expirationIntent = 1
        return ChainSnapshot(index: snapshot.index, chain: chain, account: snapshot.account)
    }
}

extension ChainSnapshot {
    /// The same state under the ids of the next chain.
    var shifted: ChainSnapshot {
        ChainSnapshot(index: index + 1, chain: chain, account: account)
    }
}
