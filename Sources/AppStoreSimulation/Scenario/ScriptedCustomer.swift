/// A customer of a scenario.
struct ScriptedCustomer: Decodable, Sendable {
    let name: String
    var environment = SimulatedEnvironment.production
    var storefront: UInt8 = 0
    var hasToken = true
    var life: [ScriptedStep] = []
    var expectations: [ScenarioExpectation] = []

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder,
            allowed: ["name", "environment", "storefront", "token", "life", "expect"])
        guard let name = try keys.value(String.self, "name") else {
            throw keys.refused("a customer lacks its \"name\".")
        }
        self.name = name
        environment = try keys.environment() ?? .production
        if let country = try keys.value(String.self, "storefront") {
            guard
                let index = keys.catalogue.storefronts.firstIndex(where: { $0.country == country })
            else {
                let known = keys.catalogue.storefronts.map(\.country).joined(separator: ", ")
                throw keys.refused(
                    "The storefront \"\(country)\" is unknown; known are \(known).",
                    at: "storefront")
            }
            storefront = UInt8(index)
        }
        hasToken = try keys.value(Bool.self, "token") ?? true
        life = try keys.value([ScriptedStep].self, "life") ?? []
        expectations = try keys.value([ScenarioExpectation].self, "expect") ?? []
    }
}

/// The expected state of a customer's subscription at the start of the scenario.
struct ScenarioExpectation: Decodable, Sendable {
    /// The purchase, by its label.
    var of: String?
    var status: Int?
    /// Notifications in the order of sending, for example `DID_FAIL_TO_RENEW/GRACE_PERIOD`.
    var notifications: [String]?
    /// Its line in the file.
    var line: Int?

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["of", "status", "notifications"])
        of = try keys.value(String.self, "of")
        status = try keys.number("status", in: 1...5)
        notifications = try keys.value([String].self, "notifications")
        let known = NotificationEvent.allCases.map(\.name)
        if let unknown = notifications?.first(where: { !known.contains($0) }) {
            throw keys.refused(
                "No notification is named \"\(unknown)\"; one is, for example, "
                    + "\"DID_FAIL_TO_RENEW/GRACE_PERIOD\".", at: "notifications")
        }
        guard status != nil || notifications != nil else {
            throw keys.refused("an expectation names a \"status\" or \"notifications\".")
        }
    }
}
