import Reconciliation
package import Subscriptions
import Yams

/// The settings below `app_store_connect`.
package struct SalesSettings: Hashable, Sendable, SettingsSection {
    /// Product ids by Apple's numbers of them, as sales reports have them.
    package var products: [String: String] = [:]
    /// The zone of the days in sales reports.
    package var zone = SalesZone.pacific
    package var issuerID = ""
    package var keyID = ""
    /// A team key of its own; an empty path without one.
    package var keySource = SecretSource.file("")
    package var vendorNumber = ""
    package var endpoint = EndpointURL.appStoreConnect
    /// An extra TLS root; only with a loopback endpoint.
    package var caFile: String?
    package var proxy: String?

    /// The settings that `--fetch` needs and the file lacks.
    package var missingToFetch: [String] {
        [
            ("vendor_number", vendorNumber.isEmpty), ("issuer_id", issuerID.isEmpty),
            ("key_id", keyID.isEmpty), ("key_file", keySource == .file("")),
        ].filter(\.1).map(\.0)
    }

    static let declared: [Setting<SalesSettings>] = [
        Setting(
            "products", \.products, .salesProducts, newPass: .no,
            absent: .words("`apple_id` in the catalogue"),
            "the product id of each Subscription Apple ID in sales reports"),
        Setting(
            "time_zone", \.zone, .salesZone, newPass: .no,
            "the zone in which sales reports count their days"),
        Setting(
            "vendor_number", \.vendorNumber, .vendorNumber, newPass: .no,
            absent: .words("reports cannot be fetched"), example: "80012345",
            "whose reports --fetch gets: from App Store Connect, Payments and Financial Reports"),
        Setting(
            "issuer_id", \.issuerID, .word, newPass: .no,
            absent: .words("reports cannot be fetched"),
            example: "57246542-96fe-1a63-e053-0824d011072a",
            "from App Store Connect, Users and Access, Integrations, App Store Connect API"),
        Setting(
            "key_id", \.keyID, .word, newPass: .no, absent: .words("reports cannot be fetched"),
            example: "6PD4K7QW2B",
            "the id of a team key with the role Sales, from the same page; not the key of an app"),
        Setting(
            "key_file", \.keySource, .secretFile, newPass: .no,
            absent: .words("reports cannot be fetched"),
            example: "keys/AuthKey_6PD4K7QW2B.p8",
            "its private key, mode 0600 or 0400; mounted, 0440 for a group of the job's user"),
        Setting(
            "key_env", \.keySource, .secretVariable(example: "key_env: TRUEUP_KEY"),
            newPass: .no, absent: .words("none"), example: "APP_STORE_CONNECT_KEY",
            "instead of key_file, the variable that holds the PEM itself"),
        Setting(
            "endpoint", \.endpoint, .connectEndpoint, newPass: .no,
            absent: .words("App Store Connect's host"), example: "https://127.0.0.1:8443",
            "the server; one on this machine is for rehearsals only"),
        Setting(
            "ca_file", \.caFile, .optional(.path), newPass: .no, example: "tls-root.pem",
            "extra TLS root, for a loopback endpoint only"),
        Setting(
            "proxy", \.proxy, .optional(.proxy), newPass: .no,
            example: "http://proxy.internal:3128",
            "the proxy to App Store Connect, if there is no direct way"),
    ]

    init() {}

    /// - Throws: 78 with line, key and what to write instead.
    init(_ value: SettingsValue) throws(ConfigurationError) {
        self.init()
        let mapping = try value.mapping(keys: Self.declared.map(\.key))
        try mapping.read(Self.declared, into: &self)
        try mapping.refuse("key_env", nextTo: "key_file")
        if caFile != nil, !endpoint.isLoopback {
            throw mapping.error(
                "ca_file", "is accepted for a loopback endpoint only", suggestion: "leave it out")
        }
    }
}

extension SettingForm where Value == String {
    /// It becomes part of the names of files.
    static var vendorNumber: SettingForm {
        word.refusing("must be a number of up to 20 digits", words: "number") { text in
            text.utf8.count > 20 || !text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
    }
}

extension SettingForm where Value == EndpointURL {
    static var connectEndpoint: SettingForm {
        SettingForm(
            "`https://host` of App Store Connect, or a loopback address",
            read: { value throws(ConfigurationError) in
                try EndpointURL(ofAppStoreConnect: value)
            })
    }
}

extension Settings {
    /// Product ids by Apple's numbers of them: those of the catalogue, and before them the ones below
    /// `app_store_connect`.
    package var salesProducts: [String: String] {
        var found = sales.products
        let mapped = Set(found.values)
        for (product, entry) in catalogue?.products?.products ?? [:] where !mapped.contains(product)
        {
            if let id = entry.appleID, found[id] == nil { found[id] = product }
        }
        return found
    }
}

extension SettingsValue {
    /// Apple's number of a subscription product.
    func subscriptionAppleID() throws(ConfigurationError) -> String {
        let id = try text("a Subscription Apple ID")
        guard id.utf8.count <= 20, id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw error("\"\(id)\" is not a Subscription Apple ID, a number")
        }
        return id
    }
}

extension SettingForm where Value == [String: String] {
    static var salesProducts: SettingForm {
        let example = "{1234567890: com.example.pro.monthly}"
        return SettingForm(
            "keys and values", schema: SettingsSchema.anyMembers, examples: [example],
            read: { value throws(ConfigurationError) in
                guard case .mapping(let entries) = value.node else {
                    throw value.error(
                        "must be Subscription Apple IDs with their product ids",
                        suggestion: "write for example \(example)")
                }
                var products: [String: String] = [:]
                for (key, node) in entries {
                    let line = key.mark?.line ?? value.line
                    let id = try SettingsValue(
                        node: key, file: value.file, key: value.key, line: line
                    ).subscriptionAppleID()
                    let entry = SettingsValue(
                        node: node, file: value.file, key: value.key + "." + id,
                        line: node.mark?.line ?? line)
                    let product = try entry.text("a product id")
                    guard products[id] == nil else {
                        throw entry.error("is listed twice", suggestion: "keep one of them")
                    }
                    guard !products.values.contains(product) else {
                        throw entry.error(
                            "\(product) is listed twice", suggestion: "keep one of them")
                    }
                    products[id] = product
                }
                guard !products.isEmpty else {
                    throw value.error(
                        "lists no product", suggestion: "write for example \(example)")
                }
                return products
            })
    }
}

extension SettingForm where Value == SalesZone {
    static var salesZone: SettingForm {
        let names = SalesZone.allCases.map(\.rawValue)
        return SettingForm(
            names.map { "`\($0)`" }.joined(separator: " or "),
            schema: SettingsSchema.choice(names), choices: names, examples: ["UTC"],
            read: { value throws(ConfigurationError) in
                let text = try value.text("a time zone")
                guard let zone = SalesZone(rawValue: text) else {
                    throw value.unknown(text, among: names)
                }
                return zone
            },
            written: { $0.rawValue })
    }
}
