import Foundation
import Subscriptions
import TestSupport
import Testing
import trueup

@Suite struct `The mapping of a company's table` {
    private static let plain = """
        {table: shop.subs, columns: {original_transaction_id: otid, bundle_id: {constant: b}, \
        environment: {constant: sandbox}, status: s}}
        """

    private static func yaml(_ mapping: String, books: String? = "sqlite:books.sqlite") -> String {
        SettingsText.production + "\nstore:\n  url: sqlite:shop.sqlite\n"
            + (books.map { "  books: \($0)\n" } ?? "") + "  subscriptions: \(mapping)\n"
    }

    @Test func `names the company's table, and the books become the database`() throws {
        let settings = try SettingsText.settings(Self.yaml(Self.plain))
        #expect(settings.databasePath.hasSuffix("conf/books.sqlite"))
        let table = try #require(settings.company.table)
        #expect(table.source.url.hasSuffix("conf/shop.sqlite"))
        #expect(table.mapping.table == CompanyTableName(schema: "shop", name: "subs"))
        #expect(table.mapping.columns[.environment] == .constant("Sandbox"))
        #expect(table.mapping.columns[.status] == .column("s", .integer))
        #expect(table.mapping.inserts == nil)
    }

    @Test func `needs books, and books need it`() {
        #expect(SettingsText.error(of: Self.yaml(Self.plain, books: nil))?.key == "store.books")
        let alone = SettingsText.production + "\nstore: {books: sqlite:b.sqlite}\n"
        #expect(SettingsText.error(of: alone)?.key == "store.subscriptions")
        #expect(
            SettingsText.error(of: Self.yaml(Self.plain, books: "sqlite:shop.sqlite"))?.key
                == "store.books")
    }

    @Test(arguments: [true, false])
    func `needs books that are not the same file by a link`(isSymbolic: Bool) throws {
        let manager = FileManager.default
        let folder = manager.temporaryDirectory.appending(path: UUID().uuidString)
        try manager.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? manager.removeItem(at: folder) }
        let shop = folder.appending(path: "shop.sqlite")
        let books = folder.appending(path: "books.sqlite")
        let yaml = Self.yaml(Self.plain, books: "sqlite:\(books.path)")
            .replacing("sqlite:shop.sqlite", with: "sqlite:\(shop.path)")
        try Data("x".utf8).write(to: shop)
        #expect(SettingsText.error(of: yaml) == nil)
        if isSymbolic {
            try manager.createSymbolicLink(at: books, withDestinationURL: shop)
        } else {
            try manager.linkItem(at: shop, to: books)
        }
        let error = SettingsText.error(of: yaml)
        #expect(error?.key == "store.books")
        #expect(error?.description.contains("a link") == true)
    }

    @Test(arguments: [
        ("status: s", "expires_date: e, status: s", "expires_date"),
        ("status: s", "expires_date: {column: e}, status: s", "form"),
        ("status: s", "expires_date: {column: e, form: timestamp}, status: s", "zone"),
        (
            "status: s",
            "expires_date: {column: e, form: timestamp, zone: Europe/Nowhere}, status: s",
            "zone"
        ),
        ("status: s", "product_id: {column: p, form: seconds}, status: s", "form"),
        ("status: s", "product_id: {constant: p}, status: s", "constant"),
        ("status: s", "product_id: s, status: s", "subscriptions"),
        (
            "status: s", "paid_elsewhere_until: {column: p, form: seconds}, status: s",
            "paid_elsewhere_until"
        ),
        (", status: s", "", "status"),
        (
            "status: s", "expires_date: {column: e, form: timestamp, zone: ../UTC}, status: s",
            "zone"
        ),
        ("environment: {constant: sandbox}", "environment: {constant: moon}", "constant"),
        (
            "environment: {constant: sandbox}",
            "environment: {column: e, words: {a: sandbox, b: Sandbox}}", "b"
        ),
        ("environment: {constant: sandbox}", "environment: {column: e, words: {a: moon}}", "a"),
        ("status: s", "product_id: {column: p, words: {a: b}}, status: s", "words"),
        ("bundle_id: {constant: b}, ", "", "columns"),
    ])
    func `is refused with its key where it is not whole`(
        old: String, new: String, key: String
    ) throws {
        let error = SettingsText.error(of: Self.yaml(Self.plain.replacing(old, with: new)))
        #expect(error?.key?.hasSuffix(key) == true, "\(error?.description ?? "accepted")")
    }

    @Test func `has words for environments`() throws {
        let words = Self.plain.replacing(
            "{constant: sandbox}", with: "{column: e, words: {prod: Production, test: sandbox}}")
        let mapping = try #require(try SettingsText.settings(Self.yaml(words)).company.mapping)
        #expect(mapping.columns[.environment] == .column("e", .text))
        #expect(mapping.environmentWords == ["prod": "Production", "test": "Sandbox"])
    }

    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: "/usr/share/zoneinfo/Europe/Berlin"),
            "needs the time zone database (apt: tzdata)"))
    func `has clocks that change in summer`() throws {
        let zoned = Self.plain.replacing(
            "status: s",
            with: "expires_date: {column: e, form: timestamp, zone: Europe/Berlin}, status: s")
        let mapping = try #require(try SettingsText.settings(Self.yaml(zoned)).company.mapping)
        guard case .column("e", .timestamp(let clock)) = mapping.columns[.expiresDate] else {
            Issue.record("no such form")
            return
        }
        #expect(clock.description == "Europe/Berlin")
        let summer = try #require(Timestamp(rfc3339: "2026-07-15T10:00:00Z"))
        #expect(clock.local(at: summer)?.rfc3339 == "2026-07-15T12:00:00.000Z")
    }

    @Test func `every number of a status has one word to write`() throws {
        let words = Self.plain.replacing(
            ", status: s}}", with: "}, status: {column: s, words: WORDS}}")
        let missing = Self.yaml(words.replacing("WORDS", with: "{on: 1, off: 2}"))
        #expect(SettingsText.error(of: missing)?.description.contains("no word for 3") == true)
        let doubled = Self.yaml(
            words.replacing("WORDS", with: "{a: 1, b: 1, off: 2, r: 3, g: 4, x: 5}"))
        #expect(
            SettingsText.error(of: doubled)?.description.contains("several words for 1") == true)
        let whole = Self.yaml(
            words.replacing(
                "WORDS", with: "{a: 1, b: 1, off: 2}, write: {1: a, 3: off, 4: b, 5: off}"))
        let mapping = try #require(try SettingsText.settings(whole).company.mapping)
        #expect(mapping.statusWords?.written == [1: "a", 2: "off", 3: "off", 4: "b", 5: "off"])
        #expect(mapping.statusesKeptAs == [3: 2, 4: 1, 5: 2])
    }

    @Test func `tells values of inserted rows apart by their form`() throws {
        let mapping = Self.plain.replacing(
            "status: s}}", with: "status: s}, insert: {a: x, b: 7, c: true, d: null, e: \"7\"}}")
        let settings = try SettingsText.settings(Self.yaml(mapping))
        #expect(
            settings.company.mapping?.inserts == [
                "a": .text("x"), "b": .integer(7), "c": .boolean(true), "d": .null, "e": .text("7"),
            ])
    }

    @Test(arguments: [
        "status-text", "bigint-ids", "row-per-transaction", "json-payload", "mysql-purchases",
    ])
    func `of every example is read`(name: String) throws {
        // …/Tests/trueupTests/Configuration/TableMappingTests.swift
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(4)
        let text = try String(
            contentsOfFile: parts.joined(separator: "/") + "/docs/mappings/\(name).yaml",
            encoding: .utf8)
        let indented = text.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
        let settings = try SettingsText.settings(Self.yaml("\n" + indented))
        #expect(settings.company.mapping?.columns[.originalTransactionID] != nil)
    }

    @Test func `is proposed from a schema, and can be read`() throws {
        let columns = [
            ("user_id", "integer"), ("original_transaction_id", "text"), ("product_id", "text"),
            ("expires_at", "timestamptz"), ("status", "text"), ("notes", "text"),
        ]
        let table = CompanyTableDescription(
            name: CompanyTableName(name: "subscriptions"), isView: false,
            columns: columns.map {
                CompanyColumn(name: $0.0, type: $0.1, isNullable: true, hasDefault: false)
            },
            primaryKey: ["original_transaction_id"], indexes: [],
            rights: CompanyRights(maySelect: true, updatable: [], insertable: []))
        let text = try #require(MappingProposal([table], url: "sqlite:shop.sqlite").text)
        #expect(text.contains("never read or written: notes"))
        let settings = try SettingsText.settings(SettingsText.production + "\n" + text)
        let mapping = try #require(settings.company.mapping)
        #expect(mapping.columns[.expiresDate] == .column("expires_at", .timestamptz))
        #expect(mapping.columns[.customerID] == .column("user_id", .integer))
        #expect(mapping.statusWords?.numbers["active"] == 1)
        #expect(MappingProposal([], url: "sqlite:x").text == nil)
    }

    @Test(arguments: ["sqlite", "postgresql"])
    func `is proposed for the table of every example, and can be read`(kind: String) throws {
        for example in ExampleTable.all {
            var proposal = MappingProposal([example.table(kind)], url: "sqlite:s.db")
            proposal.statusWords = ["active", "past due", "lapsed"]
            let text = try #require(proposal.text)
            #expect(
                (proposal.wordedStatus == nil) == !text.contains(##"# "past due": N, "lapsed": N"##)
            )
            let settings = try SettingsText.settings(SettingsText.production + "\n" + text)
            let mapping = try #require(settings.company.mapping)
            for (field, column) in example.mapped {
                #expect(
                    mapping.columns[.subscription(field)]?.name == column,
                    "\(example.name): \(text)")
            }
            #expect(mapping.latestBy == example.latestBy, "\(example.name): \(text)")
        }
    }
}

/// The tables of docs/mappings, as a database describes them.
private struct ExampleTable {
    let name: String
    let columns: [(String, String)]
    let unique: String
    let mapped: [SubscriptionField: String]
    var latestBy: String?

    func table(_ kind: String) -> CompanyTableDescription {
        let types = [
            "timestamptz": "timestamp with time zone", "timestamp": "timestamp without time zone",
        ]
        return CompanyTableDescription(
            name: CompanyTableName(name: name), isView: false,
            columns: columns.map { name, type in
                CompanyColumn(
                    name: name, type: kind == "sqlite" ? type : types[type] ?? type,
                    isNullable: true, hasDefault: false)
            },
            primaryKey: [],
            indexes: [CompanyIndex(columns: [unique], isUnique: true, isWhole: true)],
            rights: CompanyRights(maySelect: true, updatable: [], insertable: []))
    }

    static let all = [
        ExampleTable(
            name: "subscriptions",
            columns: [
                ("user_id", "integer"), ("original_transaction_id", "text"),
                ("product_id", "text"), ("expires_at", "timestamptz"), ("status", "text"),
            ], unique: "original_transaction_id",
            mapped: [
                .customerID: "user_id", .originalTransactionID: "original_transaction_id",
                .productID: "product_id", .expiresDate: "expires_at", .status: "status",
            ]),
        ExampleTable(
            name: "apple_subscriptions",
            columns: [
                ("id", "bigint"), ("account_id", "bigint"), ("otid", "bigint"), ("product", "text"),
                ("apple_status", "integer"), ("expires", "bigint"), ("auto_renew", "boolean"),
                ("last_transaction", "bigint"), ("lock_version", "integer"), ("source", "text"),
            ], unique: "otid",
            mapped: [
                .customerID: "account_id", .originalTransactionID: "otid", .productID: "product",
                .status: "apple_status", .expiresDate: "expires", .autoRenewStatus: "auto_renew",
                .latestTransactionID: "last_transaction",
            ]),
        ExampleTable(
            name: "purchases",
            columns: [
                ("id", "integer"), ("user_id", "integer"), ("app", "text"),
                ("store_environment", "text"), ("original_id", "text"), ("transaction_id", "text"),
                ("product", "text"), ("expires_ms", "bigint"), ("state", "text"),
            ], unique: "transaction_id",
            mapped: [
                .customerID: "user_id", .bundleID: "app", .environment: "store_environment",
                .originalTransactionID: "original_id", .latestTransactionID: "transaction_id",
                .productID: "product", .expiresDate: "expires_ms", .status: "state",
            ], latestBy: "expires_ms"),
        ExampleTable(
            name: "memberships",
            columns: [
                ("member", "uuid"), ("apple_id", "text"), ("status", "text"),
                ("paid_until", "timestamp"), ("last_payload", "jsonb"),
            ], unique: "apple_id",
            mapped: [
                .customerID: "member", .originalTransactionID: "apple_id", .status: "status",
                .expiresDate: "paid_until",
            ]),
    ]
}
