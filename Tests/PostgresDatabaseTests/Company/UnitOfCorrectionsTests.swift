import PostgresDatabase
import ServerConnections
import Subscriptions
import Synchronization
import TestSupport
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

    private func company(
        _ session: ScriptedSession, limits: SessionLimits = SessionLimits()
    ) throws -> PostgresCompany {
        let address = try PostgresAddress(url: "postgres://localhost/x")
        return PostgresCompany(
            PostgresConnector(address) { () throws(ServerFailure) in session },
            mapping: Self.mapping, books: "books", limits: limits)
    }

    @Test func `is one transaction with its entries`() throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, _ in server.answer(sql) }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        try company.append(Self.entry)
        #expect(try company.commit() == .committed)
        #expect(
            session.asked.map { $0.split(separator: " ")[0] }
                == ["BEGIN", "SELECT", "UPDATE", "SELECT", "INSERT", "COMMIT"])
    }

    @Test func `continues where one change is refused`() throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, before throws(ServerFailure) in
            // The second UPDATE of the same text is that of the second row.
            if sql.hasPrefix("UPDATE"), before == 1 { throw ScriptedSession.failure("23514") }
            return server.answer(sql)
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
                "BEGIN", "SELECT", "UPDATE", "SELECT", "SELECT", "UPDATE", "ROLLBACK",
                "BEGIN", "SELECT", "UPDATE", "SELECT", "COMMIT",
            ])
    }

    @Test(arguments: [
        "55000", "0A000", "XX000", "42P01", "42883", "428C9", "25006", "38000", "HV000", "TU001",
        "72000", "08001", "28000", "57P03", "P0001", "23505", "22012",
    ])
    func `continues where a trigger refuses, in whatever way`(state: String) throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, before throws(ServerFailure) in
            if sql.hasPrefix("UPDATE"), before == 0 { throw ScriptedSession.failure(state) }
            return server.answer(sql)
        }
        let company = try company(session)
        try company.begin()
        guard case .refused(let words) = try company.write(Self.change("1")) else {
            Issue.record("the change was not refused")
            return
        }
        #expect(words.contains(state))
        #expect(try company.write(Self.change("2")) == .applied(version: nil))
        #expect(try company.commit() == .committed)
    }

    @Test func `ends where the server ended the session with a state of a trigger`() throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, _ throws(ServerFailure) in
            if sql.hasPrefix("UPDATE") || sql == "ROLLBACK" {
                throw ScriptedSession.failure("08006")
            }
            return server.answer(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect { try company.write(Self.change("1")) } throws: { error in
            (error as? StoreError)?.exitStatus == .unavailable
        }
    }

    @Test(arguments: [0, 1])
    func `takes back a change that does not stand afterwards`(affected: Int) throws {
        let session = ScriptedSession { sql, _ in
            // The row stays as it is, whatever the server says that it has done.
            if sql.hasPrefix("UPDATE") { return ServerRows(affected: affected) }
            return ObligingServer().answer(sql)
        }
        let company = try company(session)
        try company.begin()
        guard case .refused(let words) = try company.write(Self.change("1")) else {
            Issue.record("the change was not refused")
            return
        }
        #expect(!words.contains("TU003"))
        #expect(try company.commit() == .committed)
        #expect(
            session.asked.map { $0.split(separator: " ")[0] }
                == ["BEGIN", "SELECT", "UPDATE", "SELECT", "ROLLBACK", "BEGIN", "COMMIT"])
    }

    @Test func `is begun again after a deadlock, and that is counted`() throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, before throws(ServerFailure) in
            if sql.hasPrefix("UPDATE"), before == 1 { throw ScriptedSession.failure("40P01") }
            return server.answer(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        #expect(try company.write(Self.change("2")) == .applied(version: nil))
        #expect(try company.commit() == .committed)
        #expect(company.repetitions == 1)
    }

    @Test func `is given up where it deadlocks again and again`() throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, _ throws(ServerFailure) in
            if sql.hasPrefix("UPDATE") { throw ScriptedSession.failure("40P01") }
            return server.answer(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect { try company.write(Self.change("1")) } throws: { error in
            (error as? StoreError)?.exitStatus == .busy
        }
        company.rollBack()
        #expect(!session.asked.contains("COMMIT"))
    }

    @Test(arguments: [
        "transaction blocks not allowed in statement pooling mode", "query_wait_timeout",
    ])
    func `is begun once where PgBouncer says that waiting does not help`(words: String) throws {
        let session = ScriptedSession { sql, _ throws(ServerFailure) in
            throw ServerFailure(state: SQLState("08P01"), endsSession: true, words: words)
        }
        let company = try company(session)
        #expect(throws: StoreError.self) { try company.begin() }
        #expect(session.asked.count == 1)
    }

    @Test func `has an unknown end where no server can be asked after a COMMIT without an answer`()
        throws
    {
        let server = ObligingServer()
        let session = ScriptedSession { sql, _ throws(ServerFailure) in
            if sql == "COMMIT" { throw ScriptedSession.failure("", ends: true) }
            return server.answer(sql)
        }
        var limits = SessionLimits()
        limits.pausesMilliseconds = []
        let company = try company(session, limits: limits)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        try company.append(Self.entry)
        #expect(try company.commit() == .unknown)
        #expect(session.asked.contains("SELECT pg_xact_status($1::xid8)"))
        #expect(session.asked.count { $0 == "UPDATE \"subs\"" } == 1)
    }

    @Test(arguments: ["23503", "P0001", "22012", "55000", "42P01"])
    func `is refused where a deferred constraint says no at its end`(state: String) throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, before throws(ServerFailure) in
            if sql == "COMMIT", before == 0 { throw ScriptedSession.failure(state) }
            return server.answer(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        guard case .refused(let words) = try company.commit() else {
            Issue.record("the transaction was not refused")
            return
        }
        #expect(words.contains(state))
        try company.begin()
        #expect(try company.write(Self.change("2")) == .applied(version: nil))
        #expect(try company.commit() == .committed)
    }

    @Test func `was not written where the server answers ROLLBACK`() throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, _ in
            sql == "COMMIT" ? ServerRows(tag: "ROLLBACK") : server.answer(sql)
        }
        let company = try company(session)
        try company.begin()
        #expect(try company.write(Self.change("1")) == .applied(version: nil))
        #expect(throws: StoreError.self) { try company.commit() }
    }

    @Test func `does not begin on a standby`() throws {
        let server = ObligingServer()
        let session = ScriptedSession { sql, _ in
            sql.hasPrefix("BEGIN") ? ServerRows(rows: [[nil, "on"]]) : server.answer(sql)
        }
        let company = try company(session)
        #expect { try company.begin() } throws: { error in
            (error as? StoreError)?.exitStatus == .unavailable
        }
    }
}

/// A server that does what it is told, with a table where every row has status 1; what was just
/// written is read again as it was written.
private final class ObligingServer: Sendable {
    private let hasWritten = Mutex(false)

    func answer(_ sql: String) -> ServerRows {
        if sql.hasPrefix("BEGIN") { return ServerRows(rows: [["77", "off"]]) }
        let isWrite = sql.hasPrefix("UPDATE")
        let hadWritten = hasWritten.withLock { written in
            defer { written = isWrite }
            return written
        }
        if sql.hasPrefix("SELECT") { return ServerRows(rows: [["1", hadWritten ? "2" : "1"]]) }
        return ServerRows(affected: 1, tag: sql.hasPrefix("COMMIT") ? "COMMIT" : "UPDATE 1")
    }
}
