import Subscriptions
import TestSupport
import Testing

@Suite struct `The statements of a mapping` {
    static let mapping = TableMapping(
        table: CompanyTableName(schema: "billing", name: "subs"),
        columns: [
            .originalTransactionID: .column("otid", .integer),
            .bundleID: .constant("com.example.app"), .environment: .constant("Production"),
            .customerID: .column("user id", .integer), .productID: .column("product", .text),
            .expiresDate: .column("expires_at", .timestamptz), .status: .column("state", .text),
            .autoRenewProductID: .member(
                of: "payload", path: ["renewal", "product"], .text),
        ],
        statusWords: StatusWords(
            numbers: ["active": 1, "trialing": 1, "ended": 2],
            written: [1: "active", 2: "ended", 3: "ended", 4: "active", 5: "ended"]),
        versionColumn: "lock_version")

    private let key = SubscriptionKey(
        bundleID: "com.example.app", environment: "Production", originalTransactionID: "42")

    private func standing(_ state: String = "trialing") -> [String?] {
        ["42", "7", "gold", state, "2026-09-21 14:13:20+00", "silver", "3"]
    }

    private func change(version: Int64? = 3) -> CompanyChange {
        CompanyChange(
            action: .update, key: key, before: [.status: .integer(1)],
            after: [.status: .integer(2)], version: version)
    }

    @Test func `a page for PostgreSQL quotes names and binds values`() {
        let statement = MappedStatements(Self.mapping, for: .postgresql).page(
            after: ["41"], limit: 1000)
        #expect(
            statement.sql == """
                SELECT t."otid"::text, t."user id"::text, t."product"::text, t."state"::text, \
                t."expires_at"::text, \
                CASE WHEN pg_typeof(t."payload") = 'jsonb'::regtype \
                THEN 'm' || (t."payload"::jsonb->'renewal'->>'product') \
                ELSE 'd' || t."payload"::text END, \
                t."lock_version"::text FROM "billing"."subs" AS t WHERE t."otid" IS NOT NULL \
                AND t."otid" > $1 ORDER BY t."otid" LIMIT $2
                """)
        #expect(statement.arguments == [.integer(41), .integer(1000)])
    }

    private static let apps = [
        AppIdentity(bundleID: "a", environment: .production),
        AppIdentity(bundleID: "b", environment: .sandbox),
    ]

    /// Both parts of the app in columns, the environment in words of the company's.
    private var mappingOfApps: TableMapping {
        var mapping = Self.mapping
        mapping.columns[.bundleID] = .column("app", .text)
        mapping.columns[.environment] = .column("env", .text)
        mapping.environmentWords = ["prod": "Production", "test": "Sandbox"]
        return mapping
    }

    @Test func `a page of apps reads their rows alone`() {
        let page = MappedStatements(mappingOfApps, for: .sqlite)
            .page(after: nil, limit: 10, of: Self.apps)
        #expect(
            page.sql.contains(
                #"((t."app" = ?1 AND t."env" = ?2) OR (t."app" = ?3 AND t."env" = ?4))"#))
        #expect(
            page.arguments
                == [.text("a"), .text("prod"), .text("b"), .text("test"), .integer(10)])
        var oneEnvironment = mappingOfApps
        oneEnvironment.columns[.environment] = .constant("Sandbox")
        oneEnvironment.environmentWords = nil
        let sandbox = MappedStatements(oneEnvironment, for: .sqlite)
            .page(after: nil, limit: 10, of: Self.apps)
        #expect(sandbox.arguments == [.text("b"), .integer(10)])
        let mine = AppIdentity(bundleID: "com.example.app", environment: .production)
        let statements = MappedStatements(Self.mapping, for: .sqlite)
        #expect(
            statements.page(after: nil, limit: 10, of: [mine])
                == statements.page(after: nil, limit: 10))
        #expect(statements.page(after: nil, limit: 10, of: Self.apps).sql.contains("1 = 0"))
    }

    @Test func `rows of a subscription are looked for under every other app`() throws {
        let statements = MappedStatements(mappingOfApps, for: .sqlite)
        let apps = try #require(statements.apps(besides: Self.apps))
        #expect(
            apps.sql.contains(
                #"NOT ((t."app" = ?1 AND t."env" = ?2) OR (t."app" = ?3 AND t."env" = ?4))"#))
        let rows = try #require(
            statements.rows(holding: "42", in: [["c", "prod"], ["d", "test"]]))
        #expect(
            rows.sql.contains(
                #"t."otid" = ?1 AND ((t."app" = ?2 AND t."env" = ?3) OR (t."app" = ?4"#))
        #expect(
            rows.arguments
                == [.integer(42), .text("c"), .text("prod"), .text("d"), .text("test")])
        // Too many to be named: every row of the id, and whoever asks looks at its app.
        let many = (0...500).map { [String?.some("app\($0)"), "prod"] }
        let any = try #require(statements.rows(holding: "42", in: many))
        #expect(any.arguments == [.integer(42)])
        #expect(statements.rows(holding: "no number", in: [["c", "prod"]]) == nil)
        #expect(statements.rows(holding: "42", in: []) == nil)
        #expect(MappedStatements(Self.mapping, for: .sqlite).apps(besides: Self.apps) == nil)
    }

    @Test func `words for an environment are read, and written in keys`() throws {
        let mapping = mappingOfApps
        let statements = MappedStatements(mapping, for: .sqlite)
        let texts = ["42", "test", "b", "7", "gold", "active", "2026-09-21T14:13:20Z", nil, "3"]
        let row = mapping.row(of: texts)
        #expect(
            row.key
                == SubscriptionKey(
                    bundleID: "b", environment: "Sandbox", originalTransactionID: "42"))
        #expect(row.unreadable.isEmpty)
        let read = try #require(statements.row(row.key))
        #expect(read.arguments.contains(.text("test")))
        #expect(statements.cursor(of: texts) == ["b", "test", "42"])
        var strange = texts
        strange[1] = "Sandbox"
        let other = mapping.row(of: strange)
        #expect(other.unreadable == [.environment: "Sandbox"])
        #expect(other.key.environment != "Sandbox")
        #expect(statements.row(other.key) == nil)
    }

    @Test func `a row is read back in our columns`() {
        let row = Self.mapping.row(of: standing())
        #expect(row.key == key)
        #expect(row.version == 3)
        #expect(row.values[.status] == .integer(1))
        #expect(row.values[.customerID] == .text("7"))
        #expect(row.values[.autoRenewProductID] == .text("silver"))
        #expect(row.unreadable.isEmpty)
        let strange = Self.mapping.row(of: standing("paused"))
        #expect(strange.unreadable == [.status: "paused"])
        #expect(strange.values[.status] == nil)
    }

    @Test func `an update compares every replaced value as it was read, and the version`() throws {
        let write = MappedStatements(Self.mapping, for: .sqlite).write(
            change(), standing: standing())
        guard case .execute(let statement) = write else {
            Issue.record("\(write)")
            return
        }
        #expect(
            statement.sql == """
                UPDATE "billing"."subs" AS t SET "state" = ?1, "lock_version" = "lock_version" + 1 \
                WHERE t."otid" = ?2 AND CAST(t."state" AS TEXT) = ?3 \
                AND CAST(t."lock_version" AS TEXT) = ?4
                """)
        #expect(
            statement.arguments == [.text("ended"), .integer(42), .text("trialing"), .text("3")])
    }

    @Test func `a row that moved is left alone`() {
        let statements = MappedStatements(Self.mapping, for: .sqlite)
        #expect(statements.write(change(), standing: nil) == .stale)
        #expect(statements.write(change(), standing: standing("ended")) == .stale)
        #expect(statements.write(change(), standing: standing("paused")) == .stale)
        #expect(statements.write(change(version: 2), standing: standing()) == .stale)
    }

    @Test func `nothing is inserted unless the mapping says so`() {
        var change = change()
        change.action = .insert
        let statements = MappedStatements(Self.mapping, for: .sqlite)
        guard case .refused = statements.write(change, standing: nil) else {
            Issue.record("inserted")
            return
        }
        var mapping = Self.mapping
        mapping.inserts = ["source": .text("trueup"), "checked": .boolean(true)]
        let insert = MappedStatements(mapping, for: .postgresql).write(change, standing: nil)
        #expect(
            insert
                == .execute(
                    MappedStatement(
                        sql: """
                            INSERT INTO "billing"."subs" ("otid", "state", "checked", "source") \
                            VALUES ($1, $2, $3, $4)
                            """,
                        arguments: [
                            .integer(42), .text("ended"), .boolean(true), .text("trueup"),
                        ])))
        #expect(statements.write(change, standing: standing()) == .stale)
    }

    @Test func `names with quotes stay names`() {
        var mapping = Self.mapping
        mapping.table = CompanyTableName(name: "a\"; DROP TABLE x; --")
        let page = MappedStatements(mapping, for: .sqlite).page(after: nil, limit: 1)
        #expect(page.sql.contains("FROM \"a\"\"; DROP TABLE x; --\" AS t"))
    }

    @Test func `with a row for each transaction another transaction is another row`() {
        var mapping = Self.mapping
        mapping.versionColumn = nil
        mapping.latestBy = "expires_at"
        mapping.columns[.latestTransactionID] = .column("txid", .text)
        mapping.inserts = [:]
        let statements = MappedStatements(mapping, for: .sqlite)
        let standing: [String?] = [
            "42", "7", "gold", "ended", "2026-09-21 14:13:20+00", "silver", "900",
        ]
        let next = CompanyChange(
            action: .update, key: key,
            before: [.status: .integer(2), .latestTransactionID: .text("900")],
            after: [.status: .integer(1), .latestTransactionID: .text("901")])
        guard case .execute(let statement) = statements.write(next, standing: standing) else {
            Issue.record("not inserted")
            return
        }
        #expect(statement.sql.hasPrefix("INSERT INTO"))
        #expect(statement.arguments.contains(.text("901")))
        #expect(statement.arguments.contains(.integer(7)))
        #expect(statements.page(after: nil, limit: 1).sql.contains("NOT EXISTS"))
    }

    @Test func `with a row for each transaction no row is deleted by an undo`() {
        var mapping = Self.mapping
        mapping.columns[.latestTransactionID] = .column("txid", .text)
        #expect(mapping.obstacle(toUndoBy: .delete, of: []) == nil)
        #expect(mapping.obstacle(toUndoBy: .update, of: [.latestTransactionID]) == nil)
        #expect(mapping.obstacle(toUndoBy: .insert, of: [])?.contains("insert") == true)
        mapping.latestBy = "expires_at"
        #expect(mapping.obstacle(toUndoBy: .delete, of: [])?.contains("by hand") == true)
        #expect(
            mapping.obstacle(toUndoBy: .update, of: [.status, .latestTransactionID])?
                .contains("by hand") == true)
        #expect(mapping.obstacle(toUndoBy: .update, of: [.status]) == nil)
    }

    @Test func `what is kept of a value is what is read again`() {
        let mapping = Self.mapping
        #expect(mapping.kept(.integer(3), in: .status) == .integer(2))
        #expect(mapping.statusesKeptAs == [3: 2, 4: 1, 5: 2])
        #expect(mapping.notKept.contains(.revocationDate))
        #expect(!mapping.notKept.contains(.signedDate))
        #expect(mapping.readOnly == [.autoRenewProductID])
        let status = FieldChange(before: .integer(1), after: .integer(5))
        let other = FieldChange(before: .null, after: .text("x"))
        let kept = mapping.kept(.subscription([.status: status, .revocationDate: other]))
        #expect(kept == .subscription([.status: status]))
        #expect(mapping.kept(.subscription([.revocationDate: other])) == nil)
        // The entry of an insert names the row, as that of our own table does.
        let insert = ChangeSet.subscription([.originalTransactionID: other, .status: status])
        #expect(mapping.kept(insert) == insert)
    }

    @Test func `purchases have a mapping of their own, next to that of subscriptions`() {
        var mapping = Self.mapping
        mapping.purchases = TableMapping(
            .purchases, table: CompanyTableName(name: "orders"),
            columns: [
                .purchase(.transactionID): .column("tx", .integer),
                .purchase(.bundleID): .constant("com.example.app"),
                .purchase(.environment): .constant("Production"),
                .purchase(.purchaseDate): .column("bought", .seconds),
                .purchase(.revocationDate): .column("refunded", .seconds),
            ])
        let orders = MappedStatements(mapping.purchases ?? mapping, for: .postgresql)
        let key = SubscriptionKey(
            bundleID: "com.example.app", environment: "Production", originalTransactionID: "7")
        let refund = FieldValue.time(Timestamp(unixMilliseconds: 9000))
        let change = CompanyChange(
            .purchases, action: .update, key: key, before: [.purchase(.revocationDate): .null],
            after: [.purchase(.revocationDate): refund])
        #expect(
            orders.write(change, standing: ["7", "5", nil])
                == .execute(
                    MappedStatement(
                        sql: """
                            UPDATE "orders" AS t SET "refunded" = $1 WHERE t."tx" = $2 AND t."refunded"::text IS NULL
                            """, arguments: [.integer(9), .integer(7)])))
        #expect(orders.write(change, standing: ["7", "5", "3"]) == .stale)
        #expect(orders.write(change, standing: nil) == .stale)
        // No run compares another column of a purchase than those of a refund.
        #expect(
            mapping.purchases?.notKept
                == [.purchase(.revocationReason), .purchase(.revocationPercentage)])
        let date = FieldChange(before: .null, after: refund)
        #expect(mapping.purchases?.kept(.purchase([.price: date])) == nil)
        // Whose original it is stays known, where the company has no column for it.
        let insert = ChangeSet.purchase([
            .transactionID: date, .originalTransactionID: date, .revocationDate: date, .price: date,
        ])
        #expect(
            mapping.purchases?.kept(insert)
                == .purchase([
                    .transactionID: date, .originalTransactionID: date, .revocationDate: date,
                ]))
    }

    @Test(arguments: [
        ColumnForm.seconds, .timestamptz, .timestamp(LocalClock(minutesEast: 0)), .milliseconds,
    ])
    func `a time that is kept with fewer digits is known again, and no other is`(form: ColumnForm) {
        var mapping = Self.mapping
        mapping.columns[.expiresDate] = .column("ends", form)
        func isKnown(_ milliseconds: Int64, of written: Int64) -> Bool {
            mapping.isReading(
                .time(Timestamp(unixMilliseconds: milliseconds)),
                of: .time(Timestamp(unixMilliseconds: written)), in: .expiresDate)
        }
        #expect(isKnown(30_502, of: 30_502))
        #expect(isKnown(30_000, of: 30_502) == (form != .milliseconds))
        #expect(isKnown(-2000, of: -1498) == (form != .milliseconds))
        let isText = ![.seconds, .milliseconds].contains(form)
        #expect(isKnown(30_500, of: 30_502) == isText)
        for other in [31_000, 30_501, 29_000, 0] as [Int64] { #expect(!isKnown(other, of: 30_502)) }
        // What is written is never more precise than what was read.
        #expect(!isKnown(30_502, of: 30_000))
    }

    @Test func `a status is known again by its word`() {
        // One word for two of Apple's statuses.
        #expect(Self.mapping.isReading(.integer(2), of: .integer(3), in: .status))
        #expect(!Self.mapping.isReading(.integer(1), of: .integer(3), in: .status))
    }

    @Test func `the ledger states times as Apple signed them`() {
        var mapping = Self.mapping
        mapping.columns[.expiresDate] = .column("ends", .seconds)
        let change = FieldChange(
            before: .null, after: .time(Timestamp(unixMilliseconds: 30_502)))
        let stated = ChangeSet.subscription([.expiresDate: change])
        #expect(mapping.kept(stated) == stated)
    }
}
