import Subscriptions

extension PayloadEncoder {
    /// The renewal info of a subscription.
    ///
    /// `renewal` and `status` are the state to show: the present one, or that of a notification.
    func renewalInfo(
        _ snapshot: ChainSnapshot, renewal: RenewalState, transaction: StoredTransaction,
        status: Int, signedDate: Timestamp
    ) -> [UInt8] {
        let chain = snapshot.chain
        let storefront = Catalogue.storefronts[Int(snapshot.account.storefront)]
        let next = Catalogue.products[Int(renewal.nextProduct)]
        var json = JSONWriter(capacity: 800)
        json.object { json in
            if [2, 3, 4].contains(status), renewal.expirationIntent > 0 {
                json.field("expirationIntent", renewal.expirationIntent)
            }
            json.field(
                "originalTransactionId",
                String(identifiers.transactionID(chain: snapshot.index, period: 0)))
            json.field("autoRenewProductId", next.id)
            json.field("productId", Catalogue.products[Int(transaction.product)].id)
            json.field("autoRenewStatus", renewal.willRenew ? 1 : 0)
            if let price = renewalPrice(of: snapshot, renewal: renewal) {
                json.field("renewalPrice", price)
                json.field("currency", storefront.currency)
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
            offer(renewal.nextOffer, into: &json)
            if status == 2, renewal.expirationIntent == 1 {
                json.key("eligibleWinBackOfferIds")
                json.array { $0.string("winback.monthly") }
            }
            if snapshot.account.hasToken, !chain.isFamilyShared {
                json.field(
                    "appAccountToken", identifiers.appAccountToken(account: Int(chain.account)))
            }
            json.field(
                "appTransactionId",
                String(identifiers.appTransactionID(account: Int(chain.account)))
            )
            commitment(renewal, next: next, transaction: transaction, into: &json)
        }
        return json.bytes
    }

    private func renewalPrice(of snapshot: ChainSnapshot, renewal: RenewalState) -> Int64? {
        guard renewal.willRenew, !snapshot.chain.isFamilyShared else { return nil }
        let ordinary = Catalogue.price(
            of: renewal.nextProduct, storefront: snapshot.account.storefront,
            offer: renewal.nextOffer)
        return ordinary + ordinary * Int64(renewal.priceIncreasePercent) / 100
    }

    private func commitment(
        _ renewal: RenewalState, next: Product, transaction: StoredTransaction,
        into json: inout JSONWriter
    ) {
        guard next.isMonthlyCommitment, transaction.commitmentPayment > 0 else { return }
        json.field("renewalBillingPlanType", "MONTHLY")
        json.key("commitmentInfo")
        json.object { json in
            json.field("commitmentAutoRenewProductId", next.id)
            json.field("commitmentAutoRenewStatus", renewal.willRenew ? 1 : 0)
            json.field("commitmentRenewalBillingPlanType", "MONTHLY")
            json.field(
                "commitmentRenewalDate",
                BillingPeriod.months(12 - Int(transaction.commitmentPayment)).end(
                    after: transaction.expiresDate))
            json.field("commitmentRenewalPrice", transaction.price * 12)
        }
    }
}
