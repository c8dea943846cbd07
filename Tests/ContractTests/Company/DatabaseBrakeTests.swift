import Foundation
import StoreSupport
import Subscriptions
import Synchronization
import TestSupport
import Testing

@testable import SubscriptionStore

/// A run whose company's database is over `store.max_load`, on a real one.
@Suite struct `A limit of the company's database` {
    private static let places = CompanyPlace.here.filter { $0 != .program }
    private static let busyRows = DatabaseBrake(
        load: LoadLimit(query: "SELECT count(*) FROM subscriptions WHERE status = 5", limit: 2))

    private func store(
        _ table: ContractTable, _ limits: DatabaseBrake
    ) throws -> (SQLiteStore, CompanyBrake) {
        let path = table.path("books-\(UUID().uuidString).sqlite")
        try BlankDatabase.write(to: path)
        let link = CompanyLink(table.company, mapping: CompanyPlace.mapping, brake: limits)
        let store = try SQLiteStore.open(at: path, access: .readWrite, company: link)
        let brake = try #require(link.brake)
        return (store, brake)
    }

    @Test(arguments: places)
    func `pauses a run until it is released`(place: CompanyPlace) async throws {
        let table = try place.table()
        let (store, brake) = try store(table, Self.busyRows)
        try table.sql("UPDATE subscriptions SET status = 5")
        let told = Mutex<[String?]>([])
        brake.obey(
            whileAllowed: { true },
            tell: { excess in
                told.withLock { $0.append(excess) }
                if excess != nil { try? table.sql("UPDATE subscriptions SET status = 1") }
            })
        let now = Timestamp(unixMilliseconds: 1_796_000_000_000)
        let read = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(read.isWhole && read.rows == 25)
        #expect(
            told.withLock(\.self) == ["the number of store.max_load is 25, above 2", nil])
        let pauses = try #require(store.databasePauses)
        #expect(pauses.number == 1)
        #expect((900...20_000).contains(pauses.milliseconds))
        #expect(store.companyRemarks.contains { $0.contains("paused once") })
        // Equal to the limit is not above it.
        for number in [1, 2] { try table.service("status = 5", of: number) }
        #expect(try await store.waitForCompanyDatabase())
        #expect(store.databasePauses?.number == 1)
    }

    @Test(arguments: places)
    func `ends with the run`(place: CompanyPlace) async throws {
        let table = try place.table()
        let (store, brake) = try store(table, Self.busyRows)
        try table.sql("UPDATE subscriptions SET status = 5")
        let end = ContinuousClock.now + .milliseconds(1500)
        brake.obey(whileAllowed: { ContinuousClock.now < end }, tell: { _ in })
        #expect(try await !store.waitForCompanyDatabase())
        let pauses = try #require(store.databasePauses)
        #expect(pauses.number == 1)
        #expect(pauses.milliseconds < 6500)
        let now = Timestamp(unixMilliseconds: 1_796_000_000_000)
        let read = try await store.refreshCopy(
            for: .check, at: now, whileAllowed: { _, _ in ContinuousClock.now < end })
        // One page has all of so few rows.
        #expect(read.first?.rows == 25)
    }

    @Test(arguments: places)
    func `that cannot be asked ends the run before it reads`(place: CompanyPlace) async throws {
        let table = try place.table()
        let now = Timestamp(unixMilliseconds: 1_796_000_000_000)
        let wrong = [
            DatabaseBrake(load: LoadLimit(query: "SELECT load FROM nowhere", limit: 2)),
            // None of these is a replica; PostgreSQL's primary knows the lag of its standbys.
            place == .postgresql ? nil : DatabaseBrake(lagMilliseconds: 1000),
        ]
        for limits in wrong.compactMap(\.self) {
            let (store, _) = try store(table, limits)
            do {
                _ = try await store.refreshCopy(for: .apply, at: now)
                Issue.record("it was read")
            } catch {
                #expect(error.exitStatus == .config)
                #expect("\(error)".contains("store.max_"), "\(error)")
            }
            #expect(try store.copyState() == nil)
        }
    }

    #if PostgreSQL
        @Test(.enabled(if: CompanyPlace.here.contains(.postgresql)))
        func `of the replication lag holds on a PostgreSQL without standbys`() throws {
            let table = try CompanyPlace.postgresql.table()
            #expect(try table.company.replicationLag() == 0)
        }
    #endif
}

/// The limits as figures.
@Suite struct `Limits of a company's database` {
    @Test func `are exceeded above them alone`() {
        let limits = DatabaseBrake(
            load: LoadLimit(query: "SELECT 1", limit: 2.5), lagMilliseconds: 1500)
        #expect(limits.excess(number: 2.5, lag: 1.5) == nil)
        #expect(
            limits.excess(number: 2.75, lag: 9)
                == "the number of store.max_load is 2.75, above 2.5")
        #expect(
            limits.excess(number: 0, lag: 12)
                == "a replica is 12 s behind, more than the 1.5 s of store.max_lag")
        #expect(
            limits.excess(number: 0, lag: .infinity)
                == "replication does not run, and store.max_lag is 1.5 s")
        #expect(limits.excess(number: .nan, lag: 0) != nil)
        #expect(limits.excess(number: 1e300, lag: 0) != nil)
        #expect(limits.excess(number: nil, lag: nil) == nil)
    }
}
