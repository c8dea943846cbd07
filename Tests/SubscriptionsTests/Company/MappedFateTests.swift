import Subscriptions
import TestSupport
import Testing

/// What a database did instead of what it was told.
@Suite struct `The fate of a mapped write` {
    private static let statements = MappedStatements(
        `The statements of a mapping`.mapping, for: .sqlite)
    private static let before: [String?] = [
        "42", "7", "gold", "trialing", "2026-09-21 14:13:20+00", "silver", "3",
    ]
    private static let change = CompanyChange(
        action: .update,
        key: SubscriptionKey(
            bundleID: "com.example.app", environment: "Production", originalTransactionID: "42"),
        before: [.status: .integer(1), .expiresDate: time("2026-09-21T14:13:20Z")],
        after: [.status: .integer(3), .expiresDate: time("2026-10-21T14:13:20.567Z")], version: 3)

    private static func time(_ text: String) -> FieldValue {
        .time(Timestamp(rfc3339: text) ?? Timestamp(unixMilliseconds: 0))
    }

    private static func row(
        _ state: String, _ expires: String, version: String = "4"
    ) -> [String?] {
        ["42", "7", "gold", state, expires, "silver", version]
    }

    private func fate(
        _ after: [[String?]], affected: Int = 1, of change: CompanyChange = Self.change
    ) -> CompanyWriteFate {
        Self.statements.fate(of: change, affected: affected, from: Self.before, to: after)
    }

    private func reason(_ fate: CompanyWriteFate) -> String? {
        if case .refused(let reason) = fate { reason } else { nil }
    }

    @Test func `is applied where it stands, as far as the column keeps it`() {
        let whole = Self.row("ended", "2026-10-21 14:13:20.567+00")
        #expect(fate([whole]) == .applied(version: 4))
        // One word stands for two of Apple's statuses, and a column may keep whole seconds.
        #expect(fate([Self.row("ended", "2026-10-21 14:13:20+00")]) == .applied(version: 4))
        // A trigger may count on its own.
        #expect(
            fate([Self.row("ended", "2026-10-21 14:13:20.567+00", version: "9")])
                == .applied(version: 9))
    }

    @Test(arguments: [
        (before, "status"), (row("ended", "2026-10-21 00:00:00+00"), "expires_date"),
        (row("ended", "2026-10-21 14:13:21+00"), "expires_date"),
        (row("ended", "soon"), "expires_date"),
        (row("paused", "2026-10-21 14:13:20.567+00"), "status"),
    ])
    func `is refused where another value stands, naming the column`(
        after: [String?], column: String
    ) throws {
        #expect(try #require(reason(fate([after]))).contains(column))
    }

    @Test func `is refused where nothing was changed, and stale where another program changed it`()
        throws
    {
        #expect(try #require(reason(fate([Self.before], affected: 0))).contains("skips"))
        #expect(fate([Self.row("ended", "2026-09-21 14:13:20+00")], affected: 0) == .stale)
        #expect(fate([], affected: 0) == .stale)
    }

    @Test func `is refused where the row is gone, or is several`() {
        #expect(reason(fate([])) != nil)
        let row = Self.row("ended", "2026-10-21 14:13:20.567+00")
        #expect(reason(fate([row, row])) != nil)
        #expect(reason(fate([row], affected: 2)) != nil)
    }

    @Test func `of a deletion is that no row stands`() {
        var delete = Self.change
        delete.action = .delete
        delete.after = [:]
        #expect(fate([], of: delete) == .applied(version: nil))
        #expect(reason(fate([Self.before], of: delete)) != nil)
        #expect(reason(fate([Self.before], affected: 0, of: delete)) != nil)
    }

    @Test func `of an insertion leaves defaults where nothing was stated`() {
        var insert = Self.change
        insert.action = .insert
        insert.before = [:]
        insert.after = [.status: .integer(1), .productID: .null]
        func fate(_ after: [[String?]], affected: Int = 1) -> CompanyWriteFate {
            Self.statements.fate(of: insert, affected: affected, from: nil, to: after)
        }
        #expect(fate([Self.row("active", "2026-10-21 14:13:20+00")]) == .applied(version: 4))
        #expect(reason(fate([Self.row("ended", "2026-10-21 14:13:20+00")])) != nil)
        #expect(reason(fate([], affected: 0)) != nil)
        #expect(reason(fate([])) != nil)
    }

    /// A table with a row for each transaction.
    private var purchases: MappedStatements {
        var mapping = `The statements of a mapping`.mapping
        mapping.versionColumn = nil
        mapping.latestBy = "expires_at"
        mapping.columns[.latestTransactionID] = .column("txid", .text)
        mapping.inserts = [:]
        return MappedStatements(mapping, for: .postgresql)
    }

    private static let next = CompanyChange(
        action: .update, key: change.key,
        before: [
            .latestTransactionID: .text("900"), .expiresDate: time("2026-11-21T14:13:20Z"),
        ],
        after: [
            .latestTransactionID: .text("901"), .expiresDate: time("2026-10-21T14:13:20Z"),
        ])

    @Test func `is refused where another row stays the latest`() throws {
        let standing: [String?] = [
            "42", "7", "gold", "active", "2026-11-21 14:13:20+00", "silver", "900",
        ]
        let inserted: [String?] = [
            "42", "7", "gold", "active", "2026-10-21 14:13:20+00", "silver", "901",
        ]
        func fate(_ change: CompanyChange, _ after: [String?]) -> CompanyWriteFate {
            purchases.fate(of: change, affected: 1, from: standing, to: [after])
        }
        #expect(
            try #require(reason(fate(Self.next, standing))).contains("stays the latest"))
        #expect(fate(Self.next, inserted) == .applied(version: nil))
        // With one time of both nobody could tell which counts, in any later run, either.
        let tie = purchases.fate(
            of: Self.next, affected: 1, from: standing, to: [standing, inserted])
        #expect(try #require(reason(tie)).contains("several rows of the subscription"))
        // An earlier end makes the row of another transaction the latest.
        var shorter = Self.next
        shorter.after[.latestTransactionID] = nil
        #expect(try #require(reason(fate(shorter, inserted))).contains("stays the latest"))
    }

    @Test func `is looked at before a transaction stands there twice`() throws {
        let look = try #require(purchases.rowOfTransaction(Self.next))
        #expect(
            look.sql == """
                SELECT 1 FROM "billing"."subs" AS t WHERE t."otid" = $1 AND t."txid" = $2 LIMIT 1
                """)
        #expect(look.arguments == [.integer(42), .text("901")])
        #expect(purchases.rowOfTransaction(Self.change) == nil)
        #expect(Self.statements.rowOfTransaction(Self.next) == nil)
    }

    private func table(isView: Bool = false, generated: String? = nil) -> CompanyTableDescription {
        let names = `The statements of a mapping`.mapping.namedColumns
        return CompanyTableDescription(
            name: `The statements of a mapping`.mapping.table, isView: isView,
            columns: names.map { name in
                CompanyColumn(
                    name: name, type: "text", isNullable: true, hasDefault: false,
                    isGenerated: name == generated)
            }, primaryKey: [], indexes: [],
            rights: CompanyRights(
                maySelect: true, updatable: Set(names), insertable: Set(names)))
    }

    @Test func `is known beforehand of views and of columns that the table generates`() throws {
        let mapping = `The statements of a mapping`.mapping
        #expect(mapping.obstacleToWriting(to: table()) == nil)
        #expect(
            try #require(mapping.obstacleToWriting(to: table(isView: true))).contains("a view"))
        for name in ["state", "lock_version"] {
            let obstacle = mapping.obstacleToWriting(to: table(generated: name))
            #expect(try #require(obstacle).contains("\"\(name)\" is generated"))
        }
        // What no correction writes may be generated.
        for name in ["otid", "user id", "payload"] {
            #expect(mapping.obstacleToWriting(to: table(generated: name)) == nil)
        }
    }
}
