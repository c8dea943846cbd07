import PostgresDatabase
import ServerConnections
import Subscriptions
import Testing

/// Booking calls of all workers, without a server.
@Suite struct `Booking the calls of all workers` {
    private static let account = QuotaAccount(
        app: AppIdentity(bundleID: "com.example.one", environment: .production),
        endpoint: "subscription_statuses")
    private static let now = Timestamp(unixMilliseconds: 1_796_000_000_000)

    private static func calls(over session: ScriptedSession) throws -> SharedCalls {
        let address = try PostgresAddress(url: "postgres://trueup@localhost/billing")
        var limits = SessionLimits()
        limits.pausesMilliseconds = [1]
        return SharedCalls(
            PostgresConnector(address) { () throws(ServerFailure) in session }, limits: limits)
    }

    /// A server whose hour holds some calls, and whose clock is that of the caller.
    private static func answer(_ sql: String, booked: Int) -> ServerRows {
        if sql.hasPrefix("SELECT (extract") {
            return ServerRows(rows: [[String(now.unixMilliseconds)]])
        }
        if sql.hasPrefix("SELECT second") {
            return ServerRows(rows: [[String(now.unixMilliseconds / 1000 - 60), String(booked)]])
        }
        return ServerRows(affected: 1, tag: sql)
    }

    @Test func `takes what the hour has left`() throws {
        let session = ScriptedSession { sql, _ in Self.answer(sql, booked: 90) }
        let calls = try Self.calls(over: session)
        let grant = try calls.book(
            25, of: Self.account, limit: 100, givingBack: nil, at: Self.now)
        #expect(grant.calls == 10)
        #expect(grant.usedOfHour == 100)
        #expect(grant.bucket == QuotaWindow.bucket(of: Self.now))
        #expect(!session.asked.contains("UPDATE trueup.calls"))
    }

    @Test func `books nothing where the hour is used up, and says until when`() throws {
        let session = ScriptedSession { sql, _ in Self.answer(sql, booked: 100) }
        let grant = try Self.calls(over: session).book(
            25, of: Self.account, limit: 100, givingBack: nil, at: Self.now)
        #expect(grant.calls == 0)
        #expect(grant.nextFree == Self.now.adding(milliseconds: 3_550_000))
        #expect(!session.asked.contains("INSERT INTO"))
    }

    @Test func `gives nothing back twice when a transaction is begun again`() throws {
        let session = ScriptedSession { (sql, before) throws(ServerFailure) in
            // The second booking meets another transaction once.
            if sql == "COMMIT", before == 1 { throw ScriptedSession.failure("40001") }
            return Self.answer(sql, booked: 0)
        }
        let calls = try Self.calls(over: session)
        let first = try calls.book(
            25, of: Self.account, limit: 100, givingBack: nil, at: Self.now)
        _ = try calls.book(25, of: Self.account, limit: 100, givingBack: first, at: Self.now)
        #expect(session.asked.count { $0 == "UPDATE trueup.calls" } == 1)
        #expect(session.asked.count { $0 == "INSERT INTO" } == 3)
    }

    @Test func `gives back only what it booked itself, in its bucket`() throws {
        let session = ScriptedSession { sql, _ in Self.answer(sql, booked: 0) }
        let calls = try Self.calls(over: session)
        var foreign = QuotaGrant(
            calls: 5, bucket: QuotaWindow.bucket(of: Self.now), limit: 100, nextFree: nil)
        try calls.giveBack(foreign, of: Self.account)
        foreign = try calls.book(
            25, of: Self.account, limit: 100, givingBack: foreign, at: Self.now)
        foreign.bucket -= QuotaWindow.bucketSeconds
        try calls.giveBack(foreign, of: Self.account)
        #expect(!session.asked.contains("UPDATE trueup.calls"))
    }

    @Test func `fails where the server does, so that no call is made`() throws {
        let session = ScriptedSession { (sql, _) throws(ServerFailure) in
            if sql.hasPrefix("INSERT") { throw ScriptedSession.failure("57P01", ends: true) }
            return Self.answer(sql, booked: 0)
        }
        let calls = try Self.calls(over: session)
        #expect {
            try calls.book(25, of: Self.account, limit: 100, givingBack: nil, at: Self.now)
        } throws: { error in
            (error as? StoreError)?.exitStatus == .unavailable
        }
    }
}
