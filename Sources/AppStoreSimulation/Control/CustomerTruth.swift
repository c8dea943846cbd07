import Subscriptions

extension AppStoreService {
    /// Writes everything about one customer, unsigned and without faults.
    func writeTruth(account: Int, of world: World, into json: inout JSONWriter) {
        let told = ToldLives(PurchaseLife.allCases, in: world)
        var records: [Int32: [NotificationRecord]] = [:]
        let chains = world.chains(ofAccount: account)
        for record in world.notifications
        where record.date <= world.now && chains.contains(Int(record.chain)) {
            records[record.chain, default: []].append(record)
        }
        let labels = world.scripted.name(of: account).flatMap { world.scripted.purchases[$0] }
        world.writeCustomer(account: account, into: &json)
        json.field(
            "storefront",
            world.catalogue.storefronts[Int(world.accounts[account].storefront)].country)
        json.field("deleted", world.accounts[account].isDeleted)
        json.key("purchases")
        json.array { json in
            for chain in chains {
                json.object { json in
                    json.field("label", labels?.last { $0.chain == chain }?.label)
                    world.writePurchase(chain: chain, into: &json)
                    json.key("lives")
                    json.array { json in
                        for life in PurchaseLife.allCases
                        where world.has(life, chain: chain, told: told) {
                            json.string(life.rawValue)
                        }
                    }
                    writePayloads(chain: chain, of: world, into: &json)
                    json.key("notifications")
                    json.array { json in
                        for record in records[Int32(chain)] ?? [] {
                            json.object {
                                NotificationListing.write(
                                    record, of: world, encoder: encoder, into: &$0)
                            }
                        }
                    }
                }
            }
        }
    }

    /// Writes the payloads that Apple would sign now, and what happens next by itself.
    private func writePayloads(chain index: Int, of world: World, into json: inout JSONWriter) {
        let snapshot = world.snapshot(chain: index)
        json.key("transactions")
        json.array { json in
            for (period, transaction) in snapshot.chain.transactions.enumerated() {
                json.encoded(
                    encoder.transaction(
                        snapshot, period: period, transaction: transaction,
                        signedDate: world.now))
            }
        }
        if snapshot.chain.isSubscription, let current = snapshot.chain.current {
            json.key("renewal_info")
            json.encoded(
                encoder.renewalInfo(
                    snapshot, renewal: snapshot.chain.renewal, transaction: current,
                    status: snapshot.chain.phase.status, signedDate: world.now))
        }
        if snapshot.chain.event != .none {
            json.field("next_event", snapshot.chain.event.name)
            json.field("next_event_at", snapshot.chain.eventDate.rfc3339)
        }
    }
}

extension PurchaseChain.NaturalEvent {
    /// The name in control calls; an event in the middle of a period is drawn when it happens.
    fileprivate var name: String {
        switch self {
        case .none: "none"
        case .midPeriod: "by_chance"
        case .renewal: "renewal"
        case .billingFailure: "billing_failure"
        case .graceEnd: "grace_end"
        case .retryEnd: "retry_end"
        case .recovery: "recovery"
        case .expiry: "expiry"
        case .refundReversal: "refund_reversal"
        case .resubscription: "resubscription"
        case .reenabling: "reenabling"
        case .priceConsent: "price_consent"
        case .refundAnswer: "refund_answer"
        }
    }
}
