package import Subscriptions
import Yams

/// The settings below `app_store_connect`.
package struct SalesSettings: Hashable, Sendable {
    /// Product ids by Apple's numbers of them, as sales reports have them.
    package var products: [String: String] = [:]
    /// The zone of the days in sales reports.
    package var zone = SalesZone.pacific
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
                    ).text("a Subscription Apple ID")
                    let entry = SettingsValue(
                        node: node, file: value.file, key: value.key + "." + id,
                        line: node.mark?.line ?? line)
                    guard id.utf8.count <= 20, id.utf8.allSatisfy({ (0x30...0x39).contains($0) })
                    else { throw entry.error("\"\(id)\" is not a Subscription Apple ID, a number") }
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
