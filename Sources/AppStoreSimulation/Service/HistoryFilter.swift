import Subscriptions

/// The filters of Get Transaction History; a transaction must satisfy all of them.
struct HistoryFilter: Sendable {
    var startDate: Timestamp?
    var endDate: Timestamp?
    var productIDs: [String] = []
    var productTypes: [String] = []
    var groups: [String] = []
    var ownership: String?
    var revoked: Bool?
    var isDescending = false

    init(_ request: ServiceRequest) throws(APIFailure) {
        startDate = try Self.date(request, "startDate", otherwise: .invalidStartDate)
        endDate = try Self.date(request, "endDate", otherwise: .invalidEndDate)
        if let startDate, let endDate, startDate >= endDate { throw .startDateAfterEndDate }
        productIDs = request.values("productId")
        guard productIDs.allSatisfy({ !$0.isEmpty }) else { throw .invalidProductID }
        productTypes = request.values("productType")
        let known = ["AUTO_RENEWABLE", "NON_RENEWABLE", "CONSUMABLE", "NON_CONSUMABLE"]
        guard productTypes.allSatisfy(known.contains) else { throw .invalidProductType }
        groups = request.values("subscriptionGroupIdentifier")
        guard groups.allSatisfy({ !$0.isEmpty }) else {
            throw .invalidSubscriptionGroupIdentifier
        }
        ownership = request.value("inAppOwnershipType")
        if let ownership, !["PURCHASED", "FAMILY_SHARED"].contains(ownership) {
            throw .invalidInAppOwnershipType
        }
        let sort = request.value("sort") ?? "ASCENDING"
        guard ["ASCENDING", "DESCENDING"].contains(sort) else { throw .invalidSort }
        isDescending = sort == "DESCENDING"
        revoked = try Self.flag(request, "revoked", otherwise: .invalidRevoked)
        if try Self.flag(request, "excludeRevoked", otherwise: .invalidExcludeRevoked) == true {
            revoked = false
        }
    }

    private static func date(
        _ request: ServiceRequest, _ name: String, otherwise failure: APIFailure
    ) throws(APIFailure) -> Timestamp? {
        guard let text = request.value(name) else { return nil }
        guard let value = Int64(text), value >= 0 else { throw failure }
        return Timestamp(unixMilliseconds: value)
    }

    /// Apple's Python client sends `True`.
    private static func flag(
        _ request: ServiceRequest, _ name: String, otherwise failure: APIFailure
    ) throws(APIFailure) -> Bool? {
        switch request.value(name)?.lowercased() {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw failure
        }
    }

    func admits(
        _ transaction: StoredTransaction, isFamilyShared: Bool, catalogue: Catalogue
    ) -> Bool {
        let product = catalogue.products[Int(transaction.product)]
        if let startDate, transaction.purchaseDate < startDate { return false }
        if let endDate, transaction.purchaseDate >= endDate { return false }
        if !productIDs.isEmpty, !productIDs.contains(product.id) { return false }
        if !productTypes.isEmpty, !productTypes.contains(product.kind.filterName) { return false }
        if !groups.isEmpty {
            guard product.group >= 0, groups.contains(catalogue.groups[product.group]) else {
                return false
            }
        }
        if let ownership, (ownership == "FAMILY_SHARED") != isFamilyShared { return false }
        if let revoked, revoked != (transaction.revocationDate != nil) { return false }
        return true
    }

    /// A digest of the filters: a revision is only valid with the same filters.
    var fingerprint: UInt64 {
        var text = "\(startDate?.unixMilliseconds ?? -1)|\(endDate?.unixMilliseconds ?? -1)|"
        for list in [productIDs, productTypes, groups] {
            text += list.joined(separator: ",") + "|"
        }
        text += "\(ownership ?? "")|\(revoked.map(String.init) ?? "")|\(isDescending)"
        return PageTokens.digest(Array(text.utf8))
    }
}
