import Subscriptions

/// Writes the payloads of Apple's JWS.
///
/// Source: App Store Server API, `JWSTransactionDecodedPayload`, `JWSRenewalInfoDecodedPayload`,
/// `ResponseBodyV2DecodedPayload`, `JWSAppTransactionDecodedPayload`.
struct PayloadEncoder: Sendable {
    var app: SimulatedApp
    var environment: SimulatedEnvironment
    let identifiers: IdentifierScheme
    let catalogue: Catalogue
    let pace: Pace
    /// Whether payloads contain members and values that no client knows.
    var hasUnknownValues = false

    /// The payload of a transaction; `period` is its index in the chain.
    func transaction(
        _ snapshot: ChainSnapshot, period: Int, transaction: StoredTransaction,
        signedDate: Timestamp
    ) -> [UInt8] {
        let product = catalogue.products[Int(transaction.product)]
        let storefront = catalogue.storefronts[Int(snapshot.account.storefront)]
        let isSubscription = product.kind == .autoRenewable
        let first = identifiers.transactionID(chain: snapshot.index, period: 0)
        var json = JSONWriter(capacity: 1200)
        json.object { json in
            json.field(
                "transactionId",
                String(identifiers.transactionID(chain: snapshot.index, period: period)))
            json.field("originalTransactionId", String(first))
            if snapshot.chain.predecessor >= 0 {
                json.field(
                    "previousOriginalTransactionId",
                    String(
                        identifiers.transactionID(
                            chain: Int(snapshot.chain.predecessor), period: 0)))
            }
            if isSubscription {
                json.field(
                    "webOrderLineItemId",
                    String(identifiers.lineItemID(chain: snapshot.index, period: period)))
            }
            json.field("bundleId", app.bundleID)
            json.field("productId", product.id)
            if isSubscription {
                json.field("subscriptionGroupIdentifier", catalogue.groups[product.group])
            }
            json.field("purchaseDate", transaction.purchaseDate)
            json.field(
                "originalPurchaseDate", snapshot.chain.transactions.first?.purchaseDate)
            if isSubscription { json.field("expiresDate", transaction.expiresDate) }
            json.field("quantity", snapshot.seats?.seats(of: period) ?? 1)
            json.field("type", product.kind.transactionType)
            json.field(
                "appAccountToken", snapshot.appAccountToken(at: signedDate, identifiers))
            json.field(
                "inAppOwnershipType",
                snapshot.chain.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED")
            json.field("signedDate", signedDate)
            revocation(of: transaction, into: &json)
            if transaction.isUpgraded { json.field("isUpgraded", true) }
            offer(transaction.offer, of: transaction.product, into: &json)
            if hasUnknownValues {
                json.key("seatPlan")
                json.object { $0.field("seats", 3) }
            }
            json.field("environment", environment.rawValue)
            json.field("transactionReason", transaction.isRenewal ? "RENEWAL" : "PURCHASE")
            json.field("storefront", storefront.country)
            json.field("storefrontId", storefront.id)
            if !snapshot.chain.isFamilyShared {
                json.field(
                    "price",
                    snapshot.seats.map {
                        GroupSeats.average(
                            of: $0.seats(of: period), at: price(of: transaction, snapshot))
                    } ?? price(of: transaction, snapshot))
                json.field("currency", storefront.currency)
            }
            seats(of: transaction, period: period, snapshot, at: signedDate, into: &json)
            json.field(
                "appTransactionId",
                String(identifiers.appTransactionID(account: Int(snapshot.chain.account))))
            commitment(of: transaction, product: product, snapshot, into: &json)
        }
        return json.bytes
    }

    /// The seats of a transaction at the time of signing.
    private func seats(
        of transaction: StoredTransaction, period: Int, _ snapshot: ChainSnapshot,
        at moment: Timestamp, into json: inout JSONWriter
    ) {
        guard let group = snapshot.seats else { return }
        if group.transactions(besides: period, at: moment).count > 1 {
            json.field("additionalTransactionReason", "SEAT_ADDITION")
        }
        let revoked = group.revoked(of: period, at: moment)
        json.key("multiSeatInfo")
        json.object { json in
            json.field("invitationManagement", group.invitations.rawValue)
            write(
                GroupSeats.tiers(
                    of: group.seats(of: period), at: price(of: transaction, snapshot)),
                named: "priceTiers", into: &json)
            if revoked > 0, transaction.revocationDate == nil {
                json.field("revokedSeatQuantity", revoked)
            }
        }
    }

    func write(
        _ tiers: [(price: Int64, seats: Int)], named name: String, into json: inout JSONWriter
    ) {
        json.key(name)
        json.array { json in
            for tier in tiers {
                json.object { json in
                    json.field("price", tier.price)
                    json.field("quantity", tier.seats)
                }
            }
        }
    }

    private func revocation(of transaction: StoredTransaction, into json: inout JSONWriter) {
        guard let date = transaction.revocationDate else { return }
        json.field("revocationDate", date)
        json.field("revocationReason", transaction.revocationReason)
        json.field("revocationType", transaction.revocation.name)
        if transaction.revocation == .refundProrated {
            json.field("revocationPercentage", Int(transaction.revocationPercent) * 1000)
        }
    }

    /// Writes an offer for a product; it lasts one period of the product unless it is a free trial.
    func offer(_ index: UInt8, of product: UInt16, into json: inout JSONWriter) {
        guard !hasUnknownValues else { return json.field("offerType", 9) }
        guard index > 0 else { return }
        let offer = catalogue.offers[Int(index)]
        json.field("offerType", offer.kind.rawValue)
        json.field("offerIdentifier", offer.identifier)
        json.field("offerDiscountType", offer.discountType)
        json.field("offerPeriod", catalogue.period(of: product, offer: index).iso8601)
    }

    private func commitment(
        of transaction: StoredTransaction, product: Product, _ snapshot: ChainSnapshot,
        into json: inout JSONWriter
    ) {
        guard product.isMonthlyCommitment, transaction.commitmentPayment > 0 else { return }
        let number = Int(transaction.commitmentPayment)
        json.field("billingPlanType", "MONTHLY")
        json.key("commitmentInfo")
        json.object { json in
            json.field("billingPeriodNumber", number)
            json.field("totalBillingPeriods", 12)
            json.field(
                "commitmentExpiresDate",
                pace.end(of: .months(12 - number), after: transaction.expiresDate))
            json.field("commitmentPrice", price(of: transaction, snapshot) * 12)
        }
    }

    func price(of transaction: StoredTransaction, _ snapshot: ChainSnapshot) -> Int64 {
        catalogue.price(
            of: transaction.product, storefront: snapshot.account.storefront,
            offer: transaction.offer, increasePercent: transaction.priceIncreasePercent)
    }
}
