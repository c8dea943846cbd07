package import Subscriptions

/// Everything that one customer bought, in all apps and subscription groups.
package struct CustomerHoldings: Hashable, Sendable {
    /// The customer's rows, of which each family member and each holder of a seat has their own.
    package var subscriptions: [LocalSubscription]
    package var purchases: [OneTimePurchase]

    package init(subscriptions: [LocalSubscription] = [], purchases: [OneTimePurchase] = []) {
        self.subscriptions = subscriptions
        self.purchases = purchases
    }
}

/// A purchase that never renews: a consumable, a non-consumable or a non-renewing subscription.
package struct OneTimePurchase: Hashable, Sendable {
    package var bundleID: String
    package var environment: String
    package var transactionID: String
    package var originalTransactionID: String
    package var productID: String
    /// By the signed transaction; `nil` where its type is not known.
    package var kind: ProductKind?
    package var quantity = 1
    package var purchaseDate: Timestamp?
    package var revocationDate: Timestamp?
    package var ownership: String?
    package var signedDate: Timestamp?

    package init(
        bundleID: String, environment: String, transactionID: String,
        originalTransactionID: String? = nil, productID: String, kind: ProductKind?
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID ?? transactionID
        self.productID = productID
        self.kind = kind
    }
}

/// An entitlement of a customer in one app: until when, and because of which purchase.
package struct EntitlementAccess: Hashable, Sendable {
    package var bundleID: String
    package var environment: String
    package var entitlement: String
    /// The end of access, a grace period included; `nil` for life.
    package var until: Timestamp?
    /// The end of the billing grace period that gives access now.
    package var graceUntil: Timestamp?
    /// Whether the next period grants the entitlement too; `nil` where that is not known.
    package var willRenew: Bool?
    package var productID: String
    package var originalTransactionID: String
    package var ownership: String?
    /// When Apple signed the statement that this rests on.
    package var asOf: Timestamp?

    /// Whether the customer may use it at this moment, by what is known.
    package func isActive(at now: Timestamp) -> Bool { until.map { $0 > now } ?? true }
}

/// The entitlements that a customer holds or held, each once for every app, in the order of their
/// names: by the purchase that grants it longest.
///
/// Pure. A purchase grants what the catalogue lists for its product. A product that the catalogue
/// lacks grants nothing; without a catalogue each product grants the entitlement of its own name. An
/// entitlement that has ended is listed with its end; `isActive(at:)` tells which are open.
///
/// - Parameters:
///   - customer: What the customer bought.
///   - catalogue: What each product grants; `nil` where the company gave none.
/// - Returns: The entitlements, by bundle, environment and name, each in the order of its bytes.
package func access(
    _ customer: CustomerHoldings, by catalogue: ProductCatalogue?
) -> [EntitlementAccess] {
    // The customer is the same for all, so the key leaves it empty.
    var best: [StoredEntitlement.Key: EntitlementAccess] = [:]
    let grants =
        customer.subscriptions.flatMap { $0.grants(by: catalogue) }
        + customer.purchases.flatMap { $0.grants(by: catalogue) }
    for grant in grants {
        let key = StoredEntitlement.Key(
            bundleID: grant.bundleID, environment: grant.environment, customerID: "",
            entitlement: grant.entitlement)
        if let other = best[key], !grant.isBetter(than: other) { continue }
        best[key] = grant
    }
    return best.sorted { $0.key < $1.key }.map(\.value)
}

extension LocalSubscription {
    /// Whether the row does not say what it grants.
    ///
    /// A value in it cannot be read, or its status is not one that this version knows. Then what was
    /// known before continues.
    package var grantIsUnclear: Bool {
        if let status, !SubscriptionStatus(rawValue: status).isKnown { return true }
        let read: [SubscriptionField] = [
            .productID, .status, .expiresDate, .gracePeriodExpiresDate, .revocationDate,
            .signedDate,
        ]
        return read.contains { unreadable[$0] != nil }
    }

    fileprivate func grants(by catalogue: ProductCatalogue?) -> [EntitlementAccess] {
        guard !grantIsUnclear, let productID, let end = end else { return [] }
        let next = autoRenewProductID ?? productID
        let renewing = catalogue.entitlements(of: next)
        return catalogue.entitlements(of: productID).map { entitlement in
            var grant = EntitlementAccess(
                bundleID: key.bundleID, environment: key.environment, entitlement: entitlement,
                until: end.until, productID: productID,
                originalTransactionID: key.originalTransactionID)
            grant.graceUntil = end.isGrace ? end.until : nil
            grant.willRenew = end.isPaidElsewhere ? nil : willRenew(renewing.contains(entitlement))
            grant.ownership = inAppOwnershipType
            grant.asOf = signedDate
            return grant
        }
    }

    private struct End {
        var until: Timestamp
        var isGrace = false
        /// Another source than Apple pays for longer.
        var isPaidElsewhere = false
    }

    /// When access ends; `nil` where the row does not say.
    private var end: End? {
        let own = endAtApple
        guard let paidElsewhereUntil else { return own }
        if let own, own.until >= paidElsewhereUntil { return own }
        return End(until: paidElsewhereUntil, isPaidElsewhere: true)
    }

    /// By the status, and then by the dates that go with it.
    ///
    /// A row that does not entitle may still have a later `expires_date`. Its access had ended when
    /// Apple signed that. Without such a date nothing says when, and it grants nothing. Apple is known to
    /// leave out the end of a grace period. Then the shortest one counts, and a day from the statement.
    private var endAtApple: End? {
        guard let status else { return nil }
        switch SubscriptionStatus(rawValue: status) {
        case .active: return expiresDate.map { End(until: $0) }
        case .billingGracePeriod:
            guard let grace = gracePeriodExpiresDate else {
                let ends = [
                    expiresDate?.adding(milliseconds: Self.shortestGrace),
                    signedDate?.adding(milliseconds: Milliseconds.perDay),
                ]
                return ends.compactMap(\.self).max().map { End(until: $0) }
            }
            guard let expiresDate, expiresDate > grace else {
                return End(until: grace, isGrace: true)
            }
            return End(until: expiresDate)
        case .revoked: return (revocationDate ?? signedDate).map(ended)
        default: return signedDate.map(ended)
        }
    }

    /// Apple's shortest grace period: 3 days.
    private static let shortestGrace = 3 * Milliseconds.perDay

    private func ended(at moment: Timestamp) -> End {
        End(until: min(moment, expiresDate ?? moment))
    }

    /// Whether the entitlement renews, if the product of the next period grants it too (`nextGrants`).
    private func willRenew(_ nextGrants: Bool) -> Bool? {
        guard let status else { return nil }
        switch SubscriptionStatus(rawValue: status) {
        case .expired, .revoked: return false
        default: return autoRenewStatus.map { $0 == 1 && nextGrants }
        }
    }
}

extension LocalTransaction {
    /// Whether the stored one-time purchase does not say what it grants, because a value in it cannot be
    /// read.
    package var grantIsUnclear: Bool {
        let read: [TransactionField] = [
            .productID, .type, .quantity, .purchaseDate, .revocationDate, .revocationPercentage,
            .signedDate,
        ]
        return read.contains { unreadable[$0] != nil }
    }

    /// Whether only a part of the price was refunded, which need not end the access.
    private var isPartlyRefunded: Bool {
        revocationPercentage.map { $0 < Self.wholePrice } ?? false
    }

    /// The whole price in thousandths of a percent.
    private static let wholePrice: Int64 = 100_000

    /// The one-time purchase, for `access`; `nil` where its product is not known, or it is unclear.
    package var purchase: OneTimePurchase? {
        guard !grantIsUnclear, let productID, !productID.isEmpty else { return nil }
        var purchase = OneTimePurchase(
            bundleID: key.bundleID, environment: key.environment,
            transactionID: key.transactionID, originalTransactionID: originalTransactionID,
            productID: productID, kind: type.flatMap(ProductKind.init(signedType:)))
        purchase.quantity = quantity.flatMap(Int.init(exactly:)) ?? 1
        purchase.purchaseDate = purchaseDate
        purchase.revocationDate = isPartlyRefunded ? nil : revocationDate
        purchase.signedDate = signedDate
        return purchase
    }
}

extension OneTimePurchase {
    fileprivate func grants(by catalogue: ProductCatalogue?) -> [EntitlementAccess] {
        let product = catalogue?.products[productID]
        guard quantity > 0, let kind = kind ?? product?.kind, product?.kind != .consumable else {
            return []
        }
        var until: Timestamp?
        switch kind {
        case .nonConsumable: until = revocationDate
        case .nonRenewing:
            guard let purchaseDate, let duration = product?.duration else { return [] }
            let end = duration.end(from: purchaseDate, times: Int64(quantity))
            until = min(end, revocationDate ?? end)
        case .consumable, .autoRenewable: return []
        }
        return catalogue.entitlements(of: productID).map { entitlement in
            var grant = EntitlementAccess(
                bundleID: bundleID, environment: environment, entitlement: entitlement,
                until: until, productID: productID,
                originalTransactionID: originalTransactionID)
            grant.willRenew = false
            grant.ownership = ownership
            grant.asOf = signedDate
            return grant
        }
    }
}

extension ProductCatalogue? {
    /// The entitlements that a product grants; without a catalogue the one of its own name.
    package func entitlements(of productID: String) -> [String] {
        guard let self else { return [productID] }
        return self.products[productID]?.grants ?? []
    }

    /// Whether two products have an entitlement in common.
    package func grant(sameBy one: String?, and other: String?) -> Bool {
        guard let one, let other else { return false }
        return !Set(entitlements(of: one)).isDisjoint(with: entitlements(of: other))
    }
}

extension EntitlementAccess {
    /// Whether this grant is listed rather than another one of the same entitlement.
    ///
    /// It lasts longer, or as long and renews, or is the customer's own purchase. The id decides between
    /// what is alike.
    fileprivate func isBetter(than other: EntitlementAccess) -> Bool {
        let (ends, otherEnds) = (
            until?.unixMilliseconds ?? .max, other.until?.unixMilliseconds ?? .max
        )
        if ends != otherEnds { return ends > otherEnds }
        let (renews, otherRenews) = (willRenew == true, other.willRenew == true)
        if renews != otherRenews { return renews }
        let (isOwn, otherIsOwn) = (ownership == "PURCHASED", other.ownership == "PURCHASED")
        if isOwn != otherIsOwn { return isOwn }
        return originalTransactionID.utf8.lexicographicallyPrecedes(
            other.originalTransactionID.utf8)
    }
}

/// The products of a company, and the entitlements that each of them grants.
///
/// A company that sells "pro" by the month, by the year and for life has three products and one
/// entitlement. Without a catalogue every product is an entitlement of its own name.
package struct ProductCatalogue: Hashable, Sendable {
    /// By product id.
    package var products: [String: CatalogueProduct]

    package init(products: [String: CatalogueProduct] = [:]) { self.products = products }

    /// A canonical form for the settings digest; also tells whether stored entitlements follow from this
    /// catalogue or from an earlier one.
    package var digested: CanonicalJSON {
        .object(
            products.mapValues { product in
                .object([
                    "kind": .string(product.kind.rawValue),
                    "grants": .array(product.grants.map(CanonicalJSON.string)),
                    "duration": .text(product.duration?.text),
                ])
            })
    }
}

/// One product of the catalogue.
package struct CatalogueProduct: Hashable, Sendable {
    package var kind: ProductKind
    /// The names of entitlements, each once, in the order of the file.
    package var grants: [String]
    /// How long a non-renewing subscription grants them, from its purchase.
    package var duration: CalendarDuration?
    /// Apple's number of the product in sales reports; no entitlement depends on it, so it is not in the
    /// digest.
    package var appleID: String?

    package init(
        kind: ProductKind = .autoRenewable, grants: [String] = [],
        duration: CalendarDuration? = nil
    ) {
        self.kind = kind
        self.grants = grants
        self.duration = duration
    }
}

/// The kinds of products, with the names that a catalogue gives them.
package enum ProductKind: String, Hashable, Sendable, CaseIterable {
    case autoRenewable = "auto-renewable"
    case nonRenewing = "non-renewing"
    case nonConsumable = "non-consumable"
    case consumable

    /// The `type` of a signed transaction; `nil` for one that this version does not know.
    package init?(signedType: String) {
        switch signedType {
        case "Auto-Renewable Subscription": self = .autoRenewable
        case "Non-Renewing Subscription": self = .nonRenewing
        case "Non-Consumable": self = .nonConsumable
        case "Consumable": self = .consumable
        default: return nil
        }
    }
}

/// A duration of ISO 8601 in whole years, months, weeks and days, such as `P90D` or `P1Y6M`.
package struct CalendarDuration: Hashable, Sendable {
    package let months: Int64
    package let days: Int64
    /// As it was written.
    package let text: String

    /// No part of a duration is longer than a hundred years.
    private static let mostDays: Int64 = 36_525

    /// `nil` for anything else, for a duration of zero, and for one of more than a hundred years.
    package init?(_ text: String) {
        guard text.utf8.count <= 32, text.first == "P" else { return nil }
        var months: Int64 = 0
        var days: Int64 = 0
        var digits = ""
        var units = Substring("YMWD")
        for character in text.dropFirst() {
            if character.isASCII, character.isNumber {
                digits.append(character)
                continue
            }
            // Units come in this order, and each once.
            guard let place = units.firstIndex(of: character), let number = Int64(digits),
                number <= Self.mostDays
            else { return nil }
            units = units[units.index(after: place)...]
            digits = ""
            switch character {
            case "Y": months += number * 12
            case "M": months += number
            case "W": days += number * 7
            default: days += number
            }
        }
        guard digits.isEmpty, months > 0 || days > 0, months <= 1200,
            months * 30 + days <= Self.mostDays
        else {
            return nil
        }
        self.months = months
        self.days = days
        self.text = text
    }

    /// The moment when so many durations, one after the other, have passed since `start`, in UTC.
    ///
    /// Months are counted in the calendar; where the last month has no such day, its last day counts.
    package func end(from start: Timestamp, times: Int64 = 1) -> Timestamp {
        let times = min(max(times, 0), Self.mostTimes)
        // A broken date in a row must not overflow the calendar.
        guard start.unixMilliseconds.magnitude < Self.farthest else { return start }
        let (day, time) = start.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        var date = CivilDate(daysSince1970: day)
        let (years, month) = (date.month - 1 + months * times).floorDivided(by: 12)
        date.year += years
        date.month = month + 1
        var last = date.day
        while CivilDate(year: date.year, month: date.month, day: last) == nil, last > 28 {
            last -= 1
        }
        date.day = last
        return Timestamp(unixMilliseconds: date.daysSince1970 * Milliseconds.perDay + time)
            .adding(milliseconds: days * times * Milliseconds.perDay)
    }

    /// Apple sells at most ten of a product at once.
    private static let mostTimes: Int64 = 100
    /// Milliseconds from 1970, some 30,000 years.
    private static let farthest: UInt64 = 1_000_000_000_000_000
}
