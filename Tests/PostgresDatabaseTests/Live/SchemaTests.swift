#if PostgreSQL
    import PostgresDatabase
    import Subscriptions
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `The schema of a company's database` {
        private func problem(
            _ live: LiveCompany, mayWrite: Bool = true
        ) throws -> String {
            do throws(StoreError) {
                try live.company.check(mayWrite: mayWrite)
                return ""
            } catch {
                #expect(error.exitStatus == .config)
                return error.description
            }
        }

        @Test(arguments: SeedTable.all)
        func `holds the mapping`(table: SeedTable) throws {
            #expect(try problem(try LiveCompany(table)) == "")
        }

        @Test func `is refused where a column has another name or type`() throws {
            let renamed = try LiveCompany(
                preparing: "ALTER TABLE subs RENAME COLUMN expires_at TO ends_at")
            #expect(try problem(renamed).contains("\"expires_at\""))
            let retyped = try LiveCompany(
                preparing: "ALTER TABLE subs ALTER expires_at TYPE bigint USING 0")
            #expect(try problem(retyped).contains("\"expires_at\" is of type bigint"))
            let gone = try LiveCompany(preparing: "ALTER TABLE subs RENAME TO other")
            #expect(try problem(gone).contains("no table or view subs"))
        }

        @Test func `is refused where a right is missing, and names it`() throws {
            let role = "reader\(Int.random(in: 1...999_999_999))"
            let live = try LiveCompany(
                user: role,
                preparing: """
                    CREATE ROLE \(role) LOGIN;
                    GRANT SELECT ON subs TO \(role); GRANT UPDATE (status) ON subs TO \(role)
                    """)
            #expect(try problem(live, mayWrite: false) == "")
            let text = try problem(live)
            #expect(text.contains("GRANT UPDATE (\"expires_at\""))
            #expect(!text.contains("\"status\""))
            #expect(!text.contains("\"note\""))
        }

        @Test func `gets one of ours, in steps that are done once`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            try live.company.check(mayWrite: true)
            #expect(
                try live.text("SELECT string_agg(number::text, ',') FROM trueup.migrations")
                    == "1,2,3,4")
            _ = try live.service.script("INSERT INTO trueup.migrations (number) VALUES (99)")
            #expect(try problem(live).contains("version 99"))
        }

        @Test func `is described, without ours`() throws {
            let live = try LiveCompany(
                .perTransaction, preparing: "CREATE VIEW seen AS SELECT 1 AS one")
            try live.company.check(mayWrite: true)
            let tables = try live.company.tables()
            #expect(tables.map(\.name.description) == ["billing.Purchases", "public.seen"])
            let table = try #require(tables.first)
            #expect(!table.isView)
            #expect(table.primaryKey == ["transactionId"])
            #expect(table.indexes.map(\.columns) == [["originalId"]])
            #expect(table.column("expiresAt")?.type == "timestamp(3) without time zone")
            #expect(table.column("expiresAt")?.isNullable == true)
            #expect(table.rights.maySelect && table.rights.mayInsert)
            #expect(table.rights.updatable.contains("sku"))
            #expect(tables.last?.isView == true)
        }
    }
#endif
