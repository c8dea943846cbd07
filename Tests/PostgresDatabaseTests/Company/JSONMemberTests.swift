import PostgresDatabase
import ServerConnections
import Subscriptions
import TestSupport
import Testing

@Suite struct `A member of JSON in a column` {
    /// The product of a row, from what the server returns for it.
    private func product(_ returned: String?) throws -> FieldValue? {
        let mapping = TableMapping(
            table: CompanyTableName(name: "subs"),
            columns: [
                .originalTransactionID: .column("otid", .text),
                .bundleID: .constant("com.example.app"), .environment: .constant("Production"),
                .productID: .member(of: "payload", path: ["renewal", "product"], .text),
            ])
        let session = ScriptedSession { sql, _ in
            sql.hasPrefix("SELECT")
                ? ServerRows(rows: [["1", returned]])
                : ServerRows(tag: sql.hasPrefix("COMMIT") ? "COMMIT" : "")
        }
        let address = try PostgresAddress(url: "postgres://localhost/x")
        let company = PostgresCompany(
            PostgresConnector(address) { () throws(ServerFailure) in session },
            mapping: mapping, books: "books")
        return try company.rows(after: nil, limit: 10).rows.first?.values[.productID]
    }

    @Test func `is what the server looked up`() throws {
        #expect(try product("mgold") == .text("gold"))
        #expect(try product("m") == .text(""))
        #expect(try product("m\u{301}gold") == .text("\u{301}gold"))
        #expect(try product(nil) == .null)
    }

    @Test(arguments: [
        (#"d{"renewal": {"product": "gold"}}"#, "gold"),
        (#"d{"renewal": {"product": "g\u00fcl\"d"}, "other": [1, {"a": null}]}"#, "gül\"d"),
        (#"d{"renewal": {"product": 1790000000123}}"#, "1790000000123"),
        (#"d{"renewal": {"product": 18446744073709551615}}"#, "18446744073709551615"),
        (#"d{"renewal": {"product": true}}"#, "true"),
        (#"d{"renewal": {"product": 1.5}}"#, "1.5"),
    ])
    func `is looked up in a column that may hold anything`(text: String, member: String) throws {
        #expect(try product(text) == .text(member))
    }

    @Test(arguments: [
        "d", "dnot json", "d[1, 2]", "d1", "dnull", "d{}", #"d{"renewal": 1}"#,
        #"d{"renewal": {"product": null}}"#, #"d{"renewal": {"product": "gold"}"#,
        #"d{"renewal": {"product": "a\u0000b"}}"#, #"d{"renewal": {"product": {}}}"#,
    ])
    func `is empty where there is none`(text: String) throws {
        #expect(try product(text) == .null)
    }
}
