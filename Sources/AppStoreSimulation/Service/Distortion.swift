import Subscriptions

/// A way in which an answer is false or its signature invalid.
///
/// The raw values are the names in fault plans.
package enum Distortion: String, Hashable, Sendable, CaseIterable {
    // The signature or its chain.
    case badSignature = "bad_signature"
    case expiredLeaf = "expired_leaf"
    case wrongLeafMarker = "wrong_leaf_oid"
    case wrongIntermediateMarker = "wrong_intermediate_oid"
    case foreignRoot = "foreign_root"
    case algorithmNone = "alg_none"
    case twoCertificates = "two_certificates"
    case fourCertificates = "four_certificates"
    // What is signed.
    case otherBundle = "other_bundle"
    case otherEnvironment = "other_environment"
    case oldStatement = "old_statement"
    case swappedRenewal = "swapped_renewal"
    case unknownValues = "unknown_values"
    case everythingExpired = "everything_expired"
    // What is not signed.
    case contradictingStatus = "contradicting_status"
    case unknownStatus = "unknown_status"
    case otherCustomer = "other_customer"
    case emptyData = "empty_data"
    case wrongTypes = "wrong_types"
    case unknownFields = "unknown_fields"
    case hasMoreForever = "has_more_forever"
    case repeatedToken = "repeated_token"

    /// Changes one character of a JWS's signature.
    static func breakingSignature(of jws: [UInt8]) -> [UInt8] {
        var jws = jws
        guard let point = jws.lastIndex(of: UInt8(ascii: ".")), point + 20 < jws.count else {
            return jws
        }
        let place = point + 20
        jws[place] = jws[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return jws
    }
}

extension AppStoreService {
    /// The same service with one kind of false answer.
    func distorted(by distortion: Distortion, signers: FlawedSigners) -> AppStoreService {
        var service = self
        service.distortions.insert(distortion)
        if let signer = signers.signer(for: distortion) { service.flawedSigner = signer }
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

    /// A chain as the answers show it; `nil` if they do not contain it.
    func shown(chain index: Int, in world: borrowing World, now: Timestamp) -> ChainSnapshot? {
        if distortions.contains(.oldStatement) || asOfMilliseconds > 0 {
            let then = statementDate(at: now).adding(milliseconds: -asOfMilliseconds)
            return world.snapshot(chain: index, at: then)
        }
        let snapshot = world.snapshot(chain: index)
        return distortions.contains(.everythingExpired)
            ? Self.expired(snapshot, now: now) : snapshot
    }

    /// The subscription as if the customer had let it expire, at the latest an hour ago.
    private static func expired(_ snapshot: ChainSnapshot, now: Timestamp) -> ChainSnapshot {
        guard snapshot.chain.isSubscription, let current = snapshot.chain.current else {
            return snapshot
        }
        var chain = snapshot.chain
        let last = chain.transactions.count - 1
        let hourAgo = now.adding(milliseconds: -CivilCalendar.millisecondsPerHour)
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
        return snapshot.with(chain)
    }
}

extension ChainSnapshot {
    /// The state with the ids of the next chain.
    var shifted: ChainSnapshot {
        ChainSnapshot(
            index: index + 1, chain: chain, account: account, tokens: tokens, seats: seats)
    }
}
