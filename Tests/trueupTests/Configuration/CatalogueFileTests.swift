import Reconciliation
import Subscriptions
import Testing
import trueup

@Suite struct `The catalogue` {
    private func catalogue(_ yaml: String) throws -> ProductCatalogue {
        try ProductCatalogue(yaml: yaml, file: "catalogue.yaml")
    }

    @Test func `lists products of every kind with what they grant`() throws {
        let catalogue = try catalogue(
            """
            products:
              com.example.pro.month: {grants: [pro]}
              com.example.pro.year: {grants: [pro, archive], kind: auto-renewable}
              com.example.coins.100: {kind: consumable}
              com.example.lifetime: {kind: non-consumable, grants: [pro]}
              com.example.season: {kind: non-renewing, grants: [pro], duration: P90D}
              0x10: {grants: []}
            """)
        #expect(
            catalogue.products == [
                "com.example.pro.month": CatalogueProduct(grants: ["pro"]),
                "com.example.pro.year": CatalogueProduct(grants: ["pro", "archive"]),
                "com.example.coins.100": CatalogueProduct(kind: .consumable),
                "com.example.lifetime": CatalogueProduct(kind: .nonConsumable, grants: ["pro"]),
                "com.example.season": CatalogueProduct(
                    kind: .nonRenewing, grants: ["pro"], duration: CalendarDuration("P90D")),
                "0x10": CatalogueProduct(),
            ])
    }

    @Test func `says which product a number of App Store Connect is, after the settings`() throws {
        let folder = try TemporaryFolder()
        let catalogue = """
            products:
              com.example.pro.month: {grants: [pro], apple_id: 6400000001}
              com.example.pro.year: {grants: [pro], apple_id: "6400000002"}
              com.example.pro.week: {grants: [pro], apple_id: 6400000003}
              com.example.coins.100: {kind: consumable}
            """
        _ = try folder.write(catalogue, to: "catalogue.yaml")
        let file = try folder.write(
            SettingsText.production + """

                catalogue: catalogue.yaml
                app_store_connect:
                  products: {6400000003: com.example.other, 7: com.example.pro.year}

                """, to: "trueup.yaml")
        let settings = try Settings.load(flag: file, environment: [:])
        #expect(
            settings.salesProducts == [
                "6400000001": "com.example.pro.month", "6400000003": "com.example.other",
                "7": "com.example.pro.year",
            ])
        // No entitlement depends on it.
        let without = catalogue.replacing(/, apple_id: "?[0-9]+"?/, with: "")
        #expect(
            try self.catalogue(catalogue).digested.rendered
                == self.catalogue(without).digested.rendered)
    }

    @Test(arguments: [
        SettingsMistake(
            "products:\n  a: {apple_id: 12a}\n", line: 2, key: "products.a.apple_id",
            says: "is not a Subscription Apple ID"),
        SettingsMistake(
            "products:\n  a: {apple_id: 12}\n  b: {apple_id: 12}\n", line: 3, key: "products.b",
            says: "apple_id 12 is listed twice"),
        SettingsMistake(
            "products:\n  a: {grants: [caf\u{e9}]}\n  b: {grants: [cafe\u{301}]}\n", line: 3,
            key: "products.b", says: "is spelled in two Unicode forms"),
        SettingsMistake("", line: 1, key: "products", says: "is missing"),
        SettingsMistake("products:\n", line: 1, key: "products", says: "must be products"),
        SettingsMistake("products: {}\n", line: 1, key: "products", says: "lists no product"),
        SettingsMistake("products: [a]\n", line: 1, key: "products", says: "must be products"),
        SettingsMistake(
            "prodcts: {}\n", line: 1, key: "prodcts", says: "did you mean \"products\"?"),
        SettingsMistake(
            "products:\n  a: {grants: [pro]}\n  b: {}\n  a: {grants: [x]}\n", line: 4, key: "a",
            says: "is listed twice"),
        SettingsMistake(
            "products:\n  a: {kind: renewable}\n", line: 2, key: "products.a.kind",
            says: "must be one of auto-renewable"),
        SettingsMistake(
            "products:\n  a:\n    grant: [pro]\n", line: 3, key: "products.a.grant",
            says: "did you mean \"grants\"?"),
        SettingsMistake(
            "products:\n  a: {grants: pro}\n", line: 2, key: "products.a.grants",
            says: "must be a list"),
        SettingsMistake(
            "products:\n  a: {grants: [pro, pro]}\n", line: 2, key: "products.a.grants[1]",
            says: "pro is listed twice"),
        SettingsMistake(
            "products:\n  a: {grants: [\"\"]}\n", line: 2, key: "products.a.grants[0]",
            says: "is empty"),
        SettingsMistake(
            "products:\n  a: {kind: consumable, grants: [pro]}\n", line: 2,
            key: "products.a.grants", says: "never grants"),
        SettingsMistake(
            "products:\n  a:\n    kind: non-renewing\n    grants: [pro]\n    duration: 90d\n",
            line: 5,
            key: "products.a.duration", says: "\"90d\" is not a duration", "P90D"),
        SettingsMistake(
            "products:\n  a: {kind: non-renewing, grants: [pro]}\n", line: 2,
            key: "products.a.duration", says: "is missing", "add \"duration: P90D\""),
        SettingsMistake(
            "products:\n  a: {grants: [pro], duration: P90D}\n", line: 2,
            key: "products.a.duration", says: "auto-renewable", "only non-renewing"),
        SettingsMistake(
            "products:\n  a: [pro]\n", line: 2, key: "products.a", says: "must be a list"),
    ])
    func `is refused with file, line, key and what to write`(mistake: SettingsMistake) throws {
        let error = try #require(throws: ConfigurationError.self) { try catalogue(mistake.yaml) }
        #expect(error.file == "catalogue.yaml")
        #expect(error.line == mistake.line)
        #expect(error.key == mistake.key)
        #expect(error.status == .config)
        for words in mistake.says { #expect(error.description.contains(words), "\(error)") }
    }

    @Test func `is read from the file that the settings name`() throws {
        let folder = try TemporaryFolder()
        let yaml = SettingsText.production + "\ncatalogue: products.yaml\n"
        let file = try folder.write(yaml, to: "trueup.yaml")
        let missing = try #require(throws: ConfigurationError.self) {
            try Settings.load(flag: file, environment: [:])
        }
        #expect(missing.description.contains("products.yaml"))
        #expect(missing.description.contains("does not exist"))
        _ = try folder.write("products: {a: {grants: [pro]}}\n", to: "products.yaml")
        let settings = try Settings.load(flag: file, environment: [:])
        #expect(settings.catalogue?.products?.products == ["a": CatalogueProduct(grants: ["pro"])])
    }

    @Test func `begins a new checkpoint when its contents change, wherever it is`() throws {
        let folder = try TemporaryFolder()
        func digest(_ name: String?, _ contents: String = "") throws -> String {
            var yaml = SettingsText.production
            if let name {
                yaml += "\ncatalogue: \(name)\n"
                _ = try folder.write(contents, to: name)
            }
            let settings = try Settings.load(
                flag: folder.write(yaml, to: "trueup.yaml"), environment: [:])
            return SettingsDigest.of(
                settings, try JobSettings(yaml: "{}", file: "nightly.yaml"), mode: .apply)
        }
        let one = try digest("a.yaml", "products: {a: {grants: [pro]}}")
        #expect(try digest("b.yaml", "# moved\nproducts:\n  a:\n    grants: [pro]\n") == one)
        #expect(try digest("a.yaml", "products: {a: {grants: [other]}}") != one)
        #expect(try digest(nil) != one)
    }
}
