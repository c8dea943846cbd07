import PostgresDatabase
import Subscriptions
import Testing

/// What becomes of a unit when its statements fail, without a server.
@Suite struct `A unit of corrections` {
    private static let mapping = TableMapping(
        table: CompanyTableName(name: "subs"),
        columns: [
            .originalTransactionID: .column("otid", .text), .bundleID: .constant("com.example.app"),
            .environment: .constant("Production"), .status: .column("status", .integer),
        ])

    private static func change(_ id: String) -> CompanyChange {
        CompanyChange(
            action: .update,
            key: SubscriptionKey(
                bundleID: "com.example.app", environment: "Production", originalTransactionID: id),
            before: [.status: .integer(1)], after: [.status: .integer(2)])
    }

    private static let entry = CompanyLedgerEntry(
        number: 1, digest: "aa", run: "r", content: "{}",
        writtenAt: Timestamp(unixMilliseconds: 0))

    /// A table where every row has status 1, and a server that does what it is told.
    private static func obliging(_ sql: String) -> ServerRows {
        if sql.hasPrefix("BEGIN") { return ServerRows(rows: [["77", "off"]]) }
        if sql.hasPrefix("SELECT") { return ServerRows(rows: [["1", "1"]]) }
        return ServerRows(
            affected: 1, tag: sql.hasPrefix("COMMIT") ? "COMMIT" : "UPDATE 1")
    }

    private func company(_ session: ScriptedSession) throws -> PostgresCompany {
        let address = try PostgresAddress(url: "postgres://localhost/x")
        return PostgresCompany(
            PostgresConnector(address) { () throws(ServerFailure) in session },
            mapping: Self.mapping, books: "books")
    }

    @Test func `is one transaction with its entries`() throws {
        let session = ScriptedSession { sql, _ in Self.obliging(sql) }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        try company.append(Self.entry)
        #expect(try company.commit() == .committed)
        #expect(
            session.asked.map { $0.split(separator: " ")[0] }
                == ["BEGIN", "SELECT", "UPDATE", "INSERT", "COMMIT"])
    }

    @Test func `goes on where one change is refused`() throws {
        let session = ScriptedSession { sql, before throws(ServerFailure) in
            // The second UPDATE of the same text is that of the second row.
            if sql.hasPrefix("UPDATE"), before == 1 { throw ScriptedSession.failure("23514") }
            return Self.obliging(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        guard case .refused(let words) = try company.write(Self.change("2")) else {
            Issue.record("the change was not refused")
            return
        }
        #expect(words.contains("23514"))
        #expect(try company.commit() == .committed)
        #expect(
            session.asked.map { $0.split(separator: " ")[0] } == [
                "BEGIN", "SELECT", "UPDATE", "SELECT", "UPDATE", "ROLLBACK",
                "BEGIN", "SELECT", "UPDATE", "COMMIT",
            ])
    }

    @Test func `is begun again after a deadlock, and that is counted`() throws {
        let session = ScriptedSession { sql, before throws(ServerFailure) in
            if sql.hasPrefix("UPDATE"), before == 1 { throw ScriptedSession.failure("40P01") }
            return Self.obliging(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        #expect(try company.write(Self.change("2")) == .applied(version: nil))
        #expect(try company.commit() == .committed)
        #expect(company.repetitions == 1)
    }

    @Test func `is given up where it deadlocks again and again`() throws {
        let session = ScriptedSession { sql, _ throws(ServerFailure) in
            if sql.hasPrefix("UPDATE") { throw ScriptedSession.failure("40P01") }
            return Self.obliging(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect { try company.write(Self.change("1")) } throws: { error in
            (error as? StoreError)?.exitStatus == .busy
        }
        company.rollBack()
        #expect(!session.asked.contains("COMMIT"))
    }

    @Test func `has an unknown end where COMMIT is not answered`() throws {
        let session = ScriptedSession { sql, _ throws(ServerFailure) in
            if sql == "COMMIT" { throw ScriptedSession.failure("", ends: true) }
            return Self.obliging(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        #expect(try company.commit() == .unknown)
    }

    @Test func `is refused where a deferred constraint says no at its end`() throws {
        let session = ScriptedSession { sql, before throws(ServerFailure) in
            if sql == "COMMIT", before == 0 { throw ScriptedSession.failure("23503") }
            return Self.obliging(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        guard case .refused(let words) = try company.commit() else {
            Issue.record("the transaction was not refused")
            return
        }
        #expect(words.contains("23503"))
        try company.begin()
        #expect(try company.write(Self.change("2")) == .applied(version: nil))
        #expect(try company.commit() == .committed)
    }

    @Test func `was not written where the server answers ROLLBACK`() throws {
        let session = ScriptedSession { sql, _ in
            sql == "COMMIT" ? ServerRows(tag: "ROLLBACK") : Self.obliging(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        #expect(throws: StoreError.self) { try company.commit() }
    }

    @Test func `does not begin on a standby`() throws {
        let session = ScriptedSession { sql, _ in
            sql.hasPrefix("BEGIN") ? ServerRows(rows: [[nil, "on"]]) : Self.obliging(sql)
        }
        let company = try company(session)
        #expect { try company.begin() } throws: { error in
            (error as? StoreError)?.exitStatus == .unavailable
        }
    }
}
