import Testing
import trueup

@Suite struct `Settings of a PostgreSQL database` {
    private static let mapping = """
          subscriptions:
            table: billing.subs
            columns:
              original_transaction_id: otid
              bundle_id: {constant: com.example.app}
              environment: {constant: production}
              status: status
        """

    private static func yaml(url: String, _ rest: String...) -> String {
        SettingsText.production + "\nstore:\n  url: \(url)\n" + rest.joined(separator: "\n") + "\n"
    }

    @Test func `name the database, and the books beside it`() throws {
        let settings = try SettingsText.settings(
            Self.yaml(
                url: "postgres://trueup@db.example.com/billing", "  books: sqlite:books.sqlite",
                Self.mapping))
        #expect(settings.databasePath == "conf/books.sqlite")
        #expect(settings.company.source?.url == "postgres://db.example.com/billing")
    }

    @Test func `come from the environment, too`() throws {
        let settings = try SettingsText.settings(
            Self.yaml(
                url: "postgres://trueup@db.example.com/billing", "  books: sqlite:books.sqlite",
                Self.mapping),
            environment: ["TRUEUP_STORE_URL": "postgres://trueup@other.example.com/billing"])
        #expect(settings.company.source?.url == "postgres://other.example.com/billing")
    }

    @Test func `need books and a mapping`() {
        let url = "postgres://trueup@db.example.com/billing"
        #expect(SettingsText.error(of: Self.yaml(url: url))?.key == "store.books")
        #expect(
            SettingsText.error(of: Self.yaml(url: url, Self.mapping))?.key == "store.books")
        #expect(
            SettingsText.error(of: Self.yaml(url: url, "  books: sqlite:books.sqlite"))?.key
                == "store.subscriptions")
        #expect(
            SettingsText.error(of: Self.yaml(url: url, "  books: \(url)", Self.mapping))?.key
                == "store.books")
    }

    @Test func `are refused with a password, which is not repeated`() throws {
        let error = try #require(
            SettingsText.error(of: Self.yaml(url: "postgres://trueup:s3cret@db/billing")))
        #expect(error.key == "store.url")
        #expect(error.description.contains("PGPASSFILE"))
        #expect(!error.description.contains("s3cret"))
    }
}
