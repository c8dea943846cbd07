import Subscriptions

extension PayloadEncoder {
    /// The payload of a subscription's renewal info.
    ///
    /// `renewal` and `status`: the state to show, which may be that of an earlier notification.
    func renewalInfo(
        _ snapshot: ChainSnapshot, renewal: RenewalState, transaction: StoredTransaction,
        status: Int, signedDate: Timestamp
    ) -> [UInt8] {
        let chain = snapshot.chain
        let storefront = catalogue.storefronts[Int(snapshot.account.storefront)]
        // A commitment keeps its product until its last payment.
        let nextProduct = transaction.owesPayments ? transaction.product : renewal.nextProduct
        let next = catalogue.products[Int(nextProduct)]
        let renews = renewal.renewsNextPeriod(after: transaction)
        var json = JSONWriter(capacity: 800)
        json.object { json in
            if [2, 3, 4].contains(status), renewal.expirationIntent > 0 {
                json.field("expirationIntent", renewal.expirationIntent)
            }
            json.field(
                "originalTransactionId",
                String(identifiers.transactionID(chain: snapshot.index, period: 0)))
            json.field("autoRenewProductId", next.id)
            json.field("productId", catalogue.products[Int(transaction.product)].id)
            json.field("autoRenewStatus", renews ? 1 : 0)
            if renews, !chain.isFamilyShared {
                let price = catalogue.price(
                    of: nextProduct, storefront: snapshot.account.storefront,
                    offer: renewal.nextOffer, increasePercent: renewal.priceIncreasePercent)
                let seats = snapshot.seats?.renewalSeats(at: signedDate)
                json.field(
                    "renewalPrice",
                    seats.map { GroupSeats.average(of: $0, at: price) } ?? price)
                json.field("currency", storefront.currency)
                if let seats, let group = snapshot.seats {
                    json.field("renewalQuantity", seats)
                    json.key("multiSeatInfo")
                    json.object { json in
                        json.field("invitationManagement", group.invitations.rawValue)
                        write(
                            GroupSeats.tiers(of: seats, at: price), named: "renewalPriceTiers",
                            into: &json)
                    }
                }
            }
            json.field("signedDate", signedDate)
            json.field("environment", environment.rawValue)
            json.field("recentSubscriptionStartDate", chain.streakStart)
            json.field("renewalDate", renewal.renewalDate)
            json.field("isInBillingRetryPeriod", renewal.isInBillingRetry)
            json.field("gracePeriodExpiresDate", renewal.gracePeriodExpiresDate)
            switch renewal.priceIncrease {
            case .none: break
            case .pending: json.field("priceIncreaseStatus", 0)
            case .accepted: json.field("priceIncreaseStatus", 1)
            }
            offer(renewal.nextOffer, of: nextProduct, into: &json)
            winBackOffers(renewal, status: status, into: &json)
            json.field(
                "appAccountToken", snapshot.appAccountToken(at: signedDate, identifiers))
            json.field(
                "appTransactionId",
                String(identifiers.appTransactionID(account: Int(chain.account)))
            )
            commitment(renewal, transaction: transaction, snapshot, into: &json)
        }
        return json.bytes
    }

    /// Who let a subscription expire may be won back.
    private func winBackOffers(
        _ renewal: RenewalState, status: Int, into json: inout JSONWriter
    ) {
        let offers = catalogue.offers(ofType: .winBack)
        guard status == 2, renewal.expirationIntent == 1, !offers.isEmpty else { return }
        json.key("eligibleWinBackOfferIds")
        json.array { json in
            for offer in offers {
                if let identifier = catalogue.offers[Int(offer)].identifier {
                    json.string(identifier)
                }
            }
        }
    }

    private func commitment(
        _ renewal: RenewalState, transaction: StoredTransaction, _ snapshot: ChainSnapshot,
        into json: inout JSONWriter
    ) {
        guard transaction.commitmentPayment > 0 else { return }
        let next = catalogue.products[Int(renewal.nextProduct)]
        let plan = next.isMonthlyCommitment ? "MONTHLY" : "BILLED_UPFRONT"
        json.field("renewalBillingPlanType", transaction.owesPayments ? "MONTHLY" : plan)
        json.key("commitmentInfo")
        json.object { json in
            json.field("commitmentAutoRenewProductId", next.id)
            json.field("commitmentAutoRenewStatus", renewal.willRenew ? 1 : 0)
            json.field("commitmentRenewalBillingPlanType", plan)
            json.field(
                "commitmentRenewalDate",
                pace.end(
                    of: .months(12 - Int(transaction.commitmentPayment)),
                    after: transaction.expiresDate))
            json.field("commitmentRenewalPrice", price(of: transaction, snapshot) * 12)
        }
    }
}
