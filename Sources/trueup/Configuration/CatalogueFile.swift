package import Reconciliation
import Subscriptions
import Yams

/// The file that `catalogue` in trueup.yaml names.
package struct CatalogueFile: Hashable, Sendable {
    package let path: String
    /// `nil` until the file is read.
    package private(set) var products: ProductCatalogue?

    init(path: String) { self.path = path }

    /// Reads the file.
    ///
    /// - Throws: 78 with file, line, key and what to write instead.
    mutating func read() throws(ConfigurationError) {
        let text = try SettingsFile.text(
            ofFileAt: path, absent: "put the catalogue there or correct \"catalogue\"")
        products = try ProductCatalogue(yaml: text, file: path)
    }

    /// The value that the settings digest covers.
    var digested: CanonicalJSON { products?.digested ?? .string(path) }

    /// The settings digest has the contents, where there are any: see `SettingsDigest`.
    static var setting: Setting<Settings> {
        let description = SettingDescription(
            key: "catalogue", form: "path", absence: .words("each product is its own entitlement"),
            examples: ["catalogue.yaml"],
            meaning: "which entitlements each product grants; docs/entitlements.md",
            beginsNewPass: true, display: .path)
        return Setting(description, digested: nil) { value, settings throws(ConfigurationError) in
            settings.catalogue = CatalogueFile(path: try value.path())
        }
    }
}

/// A catalogue, read and checked.
extension ProductCatalogue {
    /// An entitlement's name is a key that services look up.
    private static let longestName = 128

    /// Reads the catalogue in a text; `file` is only named in errors.
    package init(yaml: String, file: String) throws(ConfigurationError) {
        let example = "\"products: {com.example.pro.month: {grants: [pro]}}\""
        guard let mapping = try SettingsMapping(yaml: yaml, file: file, keys: ["products"]) else {
            throw ConfigurationError(
                file: file, line: 1, key: "products", problem: "is missing: the file is empty",
                suggestion: "write " + example)
        }
        let products = try mapping.required(
            "products", example: "{com.example.pro.month: {grants: [pro]}}")
        guard case .mapping(let entries) = products.node else {
            throw products.error(
                "must be products with what each grants", suggestion: "write for example " + example
            )
        }
        self.init()
        var seen = SeenNames()
        for (key, value) in entries { try add(key, value, from: products, &seen) }
        guard !self.products.isEmpty else {
            throw products.error("lists no product", suggestion: "write for example " + example)
        }
    }

    private mutating func add(
        _ key: Node, _ node: Node, from list: SettingsValue, _ seen: inout SeenNames
    ) throws(ConfigurationError) {
        let line = key.mark?.line
        let name = try SettingsValue(
            node: key, file: list.file, key: list.key, line: line
        ).text("a product id")
        let path = list.key + "." + name
        guard products[name] == nil else {
            throw ConfigurationError(
                file: list.file, line: line, key: path, problem: "is listed twice",
                suggestion: "keep one of them")
        }
        let value = SettingsValue(
            node: node, file: list.file, key: path, line: node.mark?.line ?? line)
        let product = try CatalogueProduct(value)
        if let id = product.appleID, !seen.appleIDs.insert(id).inserted {
            throw value.error("apple_id \(id) is listed twice", suggestion: "keep one of them")
        }
        for grant in product.grants {
            let known = seen.grants.insert(grant).memberAfterInsert
            guard known.utf8.elementsEqual(grant.utf8) else {
                throw value.error(
                    "\(grant) is spelled in two Unicode forms",
                    suggestion: "copy the name from one product to the others")
            }
        }
        products[name] = product
    }

    /// The Apple IDs and entitlements of the products that were read.
    private struct SeenNames {
        var appleIDs: Set<String> = []
        /// A set finds names in another Unicode form too: they look alike, and services compare bytes.
        var grants: Set<String> = []
    }

    /// One list of entitlements.
    fileprivate static func grants(_ value: SettingsValue) throws(ConfigurationError) -> [String] {
        if case .sequence(let entries) = value.node, entries.isEmpty { return [] }
        var names: [String] = []
        for entry in try value.list() {
            let name = try entry.text("the name of an entitlement")
            guard name.utf8.count <= longestName else {
                throw entry.error("is longer than \(longestName) bytes")
            }
            guard !names.contains(name) else {
                throw entry.error("\(name) is listed twice", suggestion: "keep one of them")
            }
            names.append(name)
        }
        return names
    }
}

extension CatalogueProduct {
    /// `{grants: [NAME, …], kind: KIND, duration: P90D, apple_id: NUMBER}`.
    fileprivate init(_ value: SettingsValue) throws(ConfigurationError) {
        let mapping = try value.mapping(keys: ["grants", "kind", "duration", "apple_id"])
        self.init()
        if let kind = mapping.value("kind") { self.kind = try kind.choice() }
        appleID = try mapping.value("apple_id")?.subscriptionAppleID()
        if let grants = mapping.value("grants") {
            self.grants = try ProductCatalogue.grants(grants)
        }
        if let duration = mapping.value("duration") {
            let text = try duration.text("a duration such as P90D")
            guard let read = CalendarDuration(text) else {
                throw duration.error(
                    "\"\(text)\" is not a duration of at most 100 years",
                    suggestion: "write it as ISO 8601 does: P90D, P12W, P6M or P1Y")
            }
            self.duration = read
        }
        guard kind != .consumable || grants.isEmpty else {
            throw mapping.error(
                "grants", "is given for a consumable, which never grants an entitlement",
                suggestion: "leave grants out, or correct kind")
        }
        guard kind == .nonRenewing || duration == nil else {
            throw mapping.error(
                "duration", "is given for a product of the kind \(kind.rawValue)",
                suggestion: "only non-renewing products have one: leave it out, or correct kind")
        }
        guard kind != .nonRenewing || grants.isEmpty || duration != nil else {
            throw mapping.error(
                "duration", "is missing: Apple states no end of a non-renewing subscription",
                suggestion: "add \"duration: P90D\"")
        }
    }
}
