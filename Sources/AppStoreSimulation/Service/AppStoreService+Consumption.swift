import FoundationEssentials
import Subscriptions

/// Send Consumption Information and its version 1: they answer 202 and change nothing here, because
/// Apple's decision about a refund is a step of the scenario.
extension AppStoreService {
    /// Send Consumption Information, about products of all types.
    func sendConsumption(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let body = try request.decodedBody(ConsumptionBody.self)
        let kind = try consumedProduct(id: id)
        // The subscription's elapsed time determines its percentage.
        if kind == .autoRenewable, body.hasPercentage {
            throw .consumptionPercentageAutoRenewable
        }
        return .empty(status: 202)
    }

    /// Send Consumption Information V1 (deprecated), about consumables and auto-renewable
    /// subscriptions.
    func sendConsumptionV1(
        id: String, request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        _ = try request.decodedBody(ConsumptionBodyV1.self)
        guard [.consumable, .autoRenewable].contains(try consumedProduct(id: id)) else {
            throw .invalidTransactionTypeNotSupported
        }
        return .empty(status: 202)
    }

    private func consumedProduct(id: String) throws(APIFailure) -> Product.Kind {
        try withWorld { world, now throws(APIFailure) in
            let (chain, period) = try Self.transaction(of: id, in: world)
            guard !world.chains[chain].isFamilyShared else {
                throw .familyTransactionNotSupported
            }
            return world.catalogue.products[Int(world.chains[chain].transactions[period].product)]
                .kind
        }
    }
}

/// Source: App Store Server API, `ConsumptionRequest`.
///
/// The numbers of Apple's errors for a percentage out of range, and for one of something that was not
/// delivered, are not known; both are answered as a general bad request.
private struct ConsumptionBody: Decodable {
    private static let deliveryStatuses = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM",
        "UNDELIVERED_SERVER_OUTAGE", "UNDELIVERED_OTHER",
    ]
    private static let refundPreferences = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]

    let hasPercentage: Bool

    init(from decoder: any Decoder) throws {
        let members = try BodyMembers(decoder)
        _ = try members.required(
            Bool.self, "customerConsented", otherwise: .invalidCustomerConsented
        ) { $0 }
        _ = try members.required(
            Bool.self, "sampleContentProvided", otherwise: .invalidSampleContentProvided)
        let delivery = try members.required(
            String.self, "deliveryStatus", otherwise: .invalidDeliveryStatus,
            where: Self.deliveryStatuses.contains)
        let preference = try members.optional(
            String.self, "refundPreference", otherwise: .invalidRefundPreference)
        if let preference, !Self.refundPreferences.contains(preference) {
            throw APIFailure.invalidRefundPreference
        }
        let percentage = try members.optional(
            Int.self, "consumptionPercentage", otherwise: .generalBadRequest)
        // In thousandths of a percent; what was not delivered cannot be consumed.
        if let percentage {
            let most = delivery == "DELIVERED" ? 100_000 : 0
            guard (0...most).contains(percentage) else { throw APIFailure.generalBadRequest }
        }
        hasPercentage = percentage != nil
    }
}

/// Source: App Store Server API, `ConsumptionRequestV1`.
private struct ConsumptionBodyV1: Decodable {
    /// The members that are codes, with the highest one.
    private static let codes: [(name: String, highest: Int, failure: APIFailure)] = [
        ("accountTenure", 7, .invalidAccountTenure),
        ("consumptionStatus", 3, .invalidConsumptionStatus),
        ("deliveryStatus", 5, .invalidDeliveryStatus),
        ("lifetimeDollarsPurchased", 7, .invalidLifetimeDollarsPurchased),
        ("lifetimeDollarsRefunded", 7, .invalidLifetimeDollarsRefunded),
        ("platform", 2, .invalidPlatform), ("playTime", 7, .invalidPlayTime),
        ("userStatus", 4, .invalidUserStatus),
    ]

    init(from decoder: any Decoder) throws {
        let members = try BodyMembers(decoder)
        _ = try members.required(
            Bool.self, "customerConsented", otherwise: .invalidCustomerConsented
        ) { $0 }
        for (name, highest, failure) in Self.codes {
            _ = try members.required(
                Int.self, name, otherwise: failure, where: (0...highest).contains)
        }
        _ = try members.required(
            Bool.self, "sampleContentProvided", otherwise: .invalidSampleContentProvided)
        _ = try members.required(
            String.self, "appAccountToken", otherwise: .invalidAppAccountToken
        ) { $0.isEmpty || UUID(uuidString: $0) != nil }
        let preference = try members.optional(
            Int.self, "refundPreference", otherwise: .invalidRefundPreference)
        if let preference, !(0...3).contains(preference) {
            throw APIFailure.invalidRefundPreference
        }
    }
}
