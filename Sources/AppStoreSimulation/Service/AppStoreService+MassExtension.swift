import Subscriptions

extension AppStoreService {
    /// Extend Subscription Renewal Dates for All Active Subscribers: accepted now, carried out an
    /// hour later by the world's clock.
    ///
    /// A request that is sent again with its identifier is accepted and changes nothing.
    func requestMassExtension(_ request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let body = try request.decodedBody(MassExtensionBody.self, catalogue)
        try withWorld { world, now throws(APIFailure) in
            world.accept(
                MassExtension(
                    requestIdentifier: body.terms.requestIdentifier, product: body.product,
                    days: body.terms.days, storefronts: body.storefronts), at: now)
        }
        return .json { $0.field("requestIdentifier", body.terms.requestIdentifier) }
    }

    /// Get Status of Subscription Renewal Date Extensions.
    ///
    /// `parameters`: product id and request identifier.
    func massExtensionStatus(_ parameters: [String]) throws(APIFailure) -> ServiceAnswer {
        guard let product = parameters.first.flatMap({ catalogue.subscription(named: $0) }) else {
            throw .invalidProductID
        }
        let found = try withWorld { world, now throws(APIFailure) in
            world.massExtensions.first {
                $0.requestIdentifier == parameters.last && $0.product == product
            }
        }
        guard let found else { throw .statusRequestNotFound }
        return .json { json in
            json.field("requestIdentifier", found.requestIdentifier)
            json.field("complete", found.result != nil)
            json.field("completeDate", found.result?.date)
            json.field("succeededCount", found.result?.succeeded)
            json.field("failedCount", found.result?.failed)
        }
    }
}

/// Source: App Store Server API, `MassExtendRenewalDateRequest`.
private struct MassExtensionBody: Decodable, Sendable {
    let terms: ExtensionTerms
    let product: UInt16
    /// Empty for all storefronts.
    let storefronts: [String]

    init(from decoder: any Decoder) throws {
        let members = try BodyMembers(decoder)
        terms = try ExtensionTerms(from: decoder)
        let name = try members.required(String.self, "productId", otherwise: .invalidProductID)
        guard let product = StrictKeys.catalogue(of: decoder).subscription(named: name) else {
            throw APIFailure.invalidProductID
        }
        self.product = product
        let countries = try members.optional(
            [String].self, "storefrontCountryCodes", otherwise: .invalidStorefrontCountryCode)
        if let countries {
            guard !countries.isEmpty else {
                throw APIFailure.invalidEmptyStorefrontCountryCodeList
            }
            guard countries.allSatisfy(Self.isCountryCode) else {
                throw APIFailure.invalidStorefrontCountryCode
            }
        }
        storefronts = countries ?? []
    }

    /// Whether a text has the form of an ISO 3166-1 alpha-3 code.
    private static func isCountryCode(_ text: String) -> Bool {
        text.utf8.count == 3
            && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }
}
