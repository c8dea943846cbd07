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

    @Test func `put the books there unless they say otherwise, with a copy beside them`() throws {
        let url = "postgres://trueup@db.example.com/billing"
        let settings = try SettingsText.settings(Self.yaml(url: url, Self.mapping))
        #expect(settings.company.booksName == "main")
        #expect(settings.databasePath == "conf/trueup-books.sqlite")
        let named = try SettingsText.settings(
            Self.yaml(url: url, "  books: postgres:w-1", "  copy: /var/copy.sqlite", Self.mapping),
            environment: ["TRUEUP_STORE_BOOKS": "postgres:w-2"])
        #expect(named.company.booksName == "w-2")
        #expect(named.databasePath == "/var/copy.sqlite")
    }

    #if PostgreSQL
        @Test(arguments: [
            "  books: \"postgres:\"", "  books: postgres:a b", "  books: \"postgres:a;b\"",
            "  books: sqlite:b.sqlite\n  copy: c.sqlite",
        ])
        func `refuse books that nobody could find again`(lines: String) {
            let url = "postgres://trueup@db.example.com/billing"
            let key = SettingsText.error(of: Self.yaml(url: url, lines, Self.mapping))?.key
            #expect(key == (lines.contains("copy") ? "store.copy" : "store.books"))
        }

        @Test func `need a mapping`() {
            let url = "postgres://trueup@db.example.com/billing"
            #expect(SettingsText.error(of: Self.yaml(url: url))?.key == "store.subscriptions")
            #expect(
                SettingsText.error(of: Self.yaml(url: url, "  books: sqlite:books.sqlite"))?.key
                    == "store.subscriptions")
            #expect(
                SettingsText.error(of: Self.yaml(url: url, "  books: \(url)", Self.mapping))?.key
                    == "store.books")
        }
    #else
        @Test func `are refused before anything else that is wrong in a build without it`() throws {
            let url = "postgres://trueup@db.example.com/billing"
            for lines in ["", "  subscriptions: {tabel: subs}"] {
                let error = try #require(SettingsText.error(of: Self.yaml(url: url, lines)))
                #expect(error.key == "store.url")
                #expect("\(error)".contains("trueup-postgresql"))
            }
        }
    #endif

    @Test func `put no books on a server where the rows stand in a file`() {
        let lines = ["  books: postgres:main", Self.mapping].joined(separator: "\n")
        #expect(
            SettingsText.error(of: Self.yaml(url: "sqlite:shop.sqlite", lines))?.key
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
