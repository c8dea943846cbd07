import Foundation
import ServerConnections
import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

@Suite struct `A lease on an app` {
    private let one = AppIdentity(bundleID: "com.example.one", environment: .production)
    private let two = AppIdentity(bundleID: "com.example.two", environment: .production)

    private func leases(
        _ live: WorkerDatabase, _ holder: String, at place: String = "/books",
        lifetime: Int64 = 60_000
    ) throws -> any LeaseTable {
        try live.leases(
            LeaseHolder(
                books: "books of \(holder)", name: holder, place: place,
                lifetimeMilliseconds: lifetime))
    }

    @Test(arguments: WorkerPlace.here)
    func `is held by one worker at a time, app by app`(place: WorkerPlace) throws {
        let live = try place.database()
        let first = try leases(live, "first")
        let second = try leases(live, "second")
        let held = try first.take([one], job: "nightly")
        #expect(held.map(\.number) == [1])
        #expect { try second.take([two, one], job: "nightly") } throws: { error in
            let error = error as? StoreError
            return error?.exitStatus == .busy && error?.description.contains("first") == true
        }
        // All or none: the other app is free.
        #expect(try second.take([two], job: "nightly").map(\.number) == [1])
        #expect(try second.take([one], job: "audit").map(\.number) == [1])
        try first.giveBack(held)
        #expect(try second.take([one], job: "nightly").map(\.number) == [2])
    }

    @Test(arguments: WorkerPlace.here)
    func `is taken up at once by the same books, whose last run died`(place: WorkerPlace) throws {
        let live = try place.database()
        let died = try leases(live, "first").take([one], job: "nightly")
        #expect(try leases(live, "first").take([one], job: "nightly").map(\.number) == [2])
        #expect(try leases(live, "first").renew(died) == died)
    }

    @Test(arguments: WorkerPlace.here)
    func `is held by no copy of the books of a run that goes on`(place: WorkerPlace) throws {
        let live = try place.database()
        let first = try leases(live, "first", at: "one:/books")
        let held = try first.take([one], job: "nightly")
        let copy = try leases(live, "first", at: "two:/books")
        // Neither of the same app nor of another one.
        for app in [one, two] {
            #expect { try copy.take([app], job: "nightly") } throws: { error in
                let error = error as? StoreError
                return error?.exitStatus == .busy
                    && error?.description.contains("one:/books") == true
                    && error?.description.contains("store.books") == true
            }
        }
        #expect(try first.renew(held).isEmpty)
        // Books that were moved go on.
        try first.giveBack(held)
        #expect(try copy.take([one], job: "nightly").map(\.number) == [2])
    }

    @Test(arguments: WorkerPlace.here)
    func `lasts as long as its holder says so`(place: WorkerPlace) throws {
        let live = try place.database()
        let first = try leases(live, "first", lifetime: 3000)
        let held = try first.take([one], job: "nightly")
        Thread.sleep(forTimeInterval: 2)
        #expect(try first.renew(held).isEmpty)
        Thread.sleep(forTimeInterval: 2)
        let second = try leases(live, "second")
        #expect(throws: StoreError.self) { try second.take([one], job: "nightly") }
        Thread.sleep(forTimeInterval: 4)
        #expect(try second.take([one], job: "nightly").map(\.number) == [2])
        #expect(try first.renew(held) == held)
    }

    @Test(arguments: WorkerPlace.here)
    func `that another has taken over lets nobody write`(place: WorkerPlace) throws {
        let live = try place.database()
        try live.company.check(mayWrite: true)
        let held = try leases(live, "first", lifetime: 50).take([one], job: "nightly")
        live.company.hold(held)
        try live.company.begin()
        live.company.rollBack()
        Thread.sleep(forTimeInterval: 0.2)
        _ = try leases(live, "second").take([one], job: "nightly")
        #expect { try live.company.begin() } throws: { error in
            (error as? StoreError)?.exitStatus == .busy
        }
        // Nothing is left open.
        live.company.hold([])
        try live.company.begin()
        live.company.rollBack()
    }

    @Test(arguments: WorkerPlace.here)
    func `is not taken over while a transaction under it is open`(place: WorkerPlace) throws {
        let live = try place.database()
        try live.company.check(mayWrite: true)
        let held = try leases(live, "first", lifetime: 50).take([one], job: "nightly")
        live.company.hold(held)
        try live.company.begin()
        Thread.sleep(forTimeInterval: 0.2)
        let second = try leases(live, "second")
        #expect { try second.take([one], job: "nightly") } throws: { error in
            (error as? StoreError)?.exitStatus == .busy
        }
        #expect(try live.company.commit(keeping: []) == .committed)
        #expect(try second.take([one], job: "nightly").map(\.number) == [2])
    }
}
