import Subscriptions
import TestSupport
import Testing
import trueup

@Suite struct `Settings of a MySQL database` {
    private static let url = "mysql://trueup@db.example.com/billing"
    private static let mapping = """
          subscriptions:
            table: subs
            columns:
              original_transaction_id: otid
              bundle_id: {constant: com.example.app}
              environment: {constant: production}
              customer_id: {column: user_id, form: uuid-binary}
              status: status
        """

    private static func yaml(url: String = Self.url, _ rest: String...) -> String {
        SettingsText.production + "\nstore:\n  url: \(url)\n" + rest.joined(separator: "\n") + "\n"
    }

    #if MySQL
        @Test func `name the database, and the file of the books beside it`() throws {
            let settings = try SettingsText.settings(Self.yaml(Self.mapping))
            #expect(settings.databasePath == "conf/trueup.sqlite")
            #expect(settings.company.booksName == nil)
            #expect(settings.company.source?.url == "mysql://db.example.com:3306/billing")
            #expect(
                settings.company.mapping?.columns[.customerID] == .column("user_id", .uuidBinary))
            let named = try SettingsText.settings(
                Self.yaml("  books: sqlite:books.sqlite", Self.mapping),
                environment: ["TRUEUP_STORE_URL": "mariadb://trueup@other.example.com/billing"])
            #expect(named.databasePath == "conf/books.sqlite")
            #expect(named.company.source?.url == "mysql://other.example.com:3306/billing")
        }

        @Test func `need a mapping`() {
            #expect(SettingsText.error(of: Self.yaml())?.key == "store.subscriptions")
        }

        @Test(arguments: ["postgres:main", "mysql://trueup@db/books", "postgres://db/x"])
        func `put no books on a server`(books: String) {
            #expect(
                SettingsText.error(of: Self.yaml("  books: \(books)", Self.mapping))?.key
                    == "store.books")
        }

        @Test func `make no copy of books in a file`() {
            #expect(
                SettingsText.error(of: Self.yaml("  copy: c.sqlite", Self.mapping))?.key
                    == "store.copy")
        }
    #else
        @Test func `are refused before anything else that is wrong in a build without it`() throws {
            for lines in ["", "  subscriptions: {tabel: subs}"] {
                let error = try #require(SettingsText.error(of: Self.yaml(lines)))
                #expect(error.key == "store.url")
                #expect("\(error)".contains("--traits MySQL"))
            }
        }
    #endif

    @Test func `are refused with a password, which is not repeated`() throws {
        let error = try #require(
            SettingsText.error(of: Self.yaml(url: "mysql://trueup:s3cret@db/billing")))
        #expect(error.key == "store.url")
        #expect(error.description.contains("my.cnf"))
        #expect(!error.description.contains("s3cret"))
    }

    @Test func `are proposed for the types of MySQL`() throws {
        let columns = [
            ("user_id", "binary(16)"), ("original_transaction_id", "bigint(20) unsigned"),
            ("product_id", "varchar(255)"), ("expires_at", "timestamp(3)"),
            ("refunded_at", "datetime"), ("status", "enum('active','expired')"),
            ("auto_renew", "tinyint(1)"),
        ]
        let table = CompanyTableDescription(
            name: CompanyTableName(name: "ios_purchases"), isView: false,
            columns: columns.map {
                CompanyColumn(name: $0.0, type: $0.1, isNullable: true, hasDefault: false)
            },
            primaryKey: ["original_transaction_id"], indexes: [],
            rights: CompanyRights(maySelect: true, updatable: [], insertable: []))
        let text = try #require(MappingProposal([table], url: Self.url).text)
        #if MySQL
            let settings = try SettingsText.settings(SettingsText.production + "\n" + text)
            let mapping = try #require(settings.company.mapping)
            #expect(mapping.columns[.customerID] == .column("user_id", .uuidBinary))
            #expect(
                mapping.columns[.originalTransactionID]
                    == .column("original_transaction_id", .integer))
            #expect(mapping.columns[.expiresDate] == .column("expires_at", .timestamptz))
            #expect(
                mapping.columns[.revocationDate]
                    == .column("refunded_at", .timestamp(LocalClock(minutesEast: 0))))
            #expect(mapping.columns[.autoRenewStatus] == .column("auto_renew", .boolean))
        #else
            #expect(text.contains("uuid-binary"))
        #endif
    }
}
