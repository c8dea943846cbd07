import Foundation
import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

/// A 429 in the books of one database: it holds for every process there.
@Suite struct `A 429 in SQLite` {
    private struct Books: RefusalBooks {
        let store: SQLiteStore

        func book(
            _ wanted: Int, of account: QuotaAccount, limit: Int, givingBack unused: QuotaGrant?,
            at now: Timestamp
        ) async throws -> QuotaGrant {
            try await store.bookCalls(
                wanted, of: account, limit: limit, givingBack: unused, now: { now })
        }

        func keep(
            _ refusal: QuotaRefusal, of account: QuotaAccount, at now: Timestamp
        ) async throws {
            try await store.keepRefusal(refusal, of: account)
        }
    }

    private let account = QuotaAccount(app: app, endpoint: "subscription_statuses")
    private let now = Timestamp(unixMilliseconds: Int64(Date().timeIntervalSince1970 * 1000))

    @Test func `keeps what books of calls promise`() async throws {
        let database = try TemporaryDatabase()
        let promises = KeptRefusals(
            told: Books(store: try database.open()), other: Books(store: try database.open()))
        #expect(try await promises.brokenPromises(at: now) == [])
    }

    @Test func `stops a command that leaves the database as it is, too`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let resumption = now.adding(milliseconds: 60_000)
        try await store.keepRefusal(
            QuotaRefusal(resumesAt: resumption, rateShare: 0.5), of: account)
        let reader = try database.open(.readOnly)
        let none = try await reader.noteCall(of: account, limit: 7, at: now)
        #expect(none.calls == 0)
        #expect(none.refusal?.resumesAt == resumption)
        #expect(try await reader.noteCall(of: account, limit: 7, at: resumption).calls == 1)
    }

    @Test func `is forgotten where a clock that was set back puts it beyond any pause`()
        async throws
    {
        let store = try TemporaryDatabase().open()
        try await store.keepRefusal(
            QuotaRefusal(resumesAt: now.adding(milliseconds: 86_400_000), rateShare: 0.5),
            of: account)
        let grant = try await store.bookCalls(
            1, of: account, limit: 7, givingBack: nil, now: { [now] in now })
        #expect(grant.calls == 1)
    }
}
