import InMemoryPorts
import ReconciliationRun
import Subscriptions
import Testing

/// What a retry goes on with after a stopped night, and what the next night looks at anew.
@Suite struct `Stopped nights` {
    @Test func `a stopped walk over every row does not keep the next night from looking`()
        async throws
    {
        let world = World(rows: 6)
        let stop = StopRequest()
        world.apple.change { $0.beforeAnswer = { if $0 == 5 { stop.request(signal: 15) } } }
        let stopped = try await world.night("run-1", stop: stop)
        #expect(stopped.exitStatus == .terminated)
        world.apple.change { $0.beforeAnswer = { _ in } }
        let ended = World.stated(World.id(3), .expired) {
            $0.transaction.signedDate = World.start.adding(milliseconds: 10 * World.hour)
            $0.renewal.signedDate = $0.transaction.signedDate
        }
        world.say([ended])
        world.tell([World.notification("ended", ended)])
        let next = try await world.night("run-2", after: 23)
        #expect(next.closesPass)
        #expect(world.status(of: World.id(3)) == 2)
    }

    @Test(arguments: [Int64(5), 6, 23])
    func `a night after a stopped one looks at everything anew, a retry does not`(
        hours: Int64
    ) async throws {
        let world = World(rows: 6)
        try await world.night("run-0", `Delta nights`.delta())
        let first = World.start.adding(milliseconds: 12 * World.hour)
        func end(_ number: Int, at signed: Timestamp) {
            let ended = World.stated(World.id(number), .expired) {
                $0.transaction.signedDate = signed
                $0.renewal.signedDate = signed
            }
            world.say([ended])
            world.tell([World.notification("ended \(number)", ended)])
        }
        for number in [1, 4] { end(number, at: first) }
        let stop = StopRequest()
        world.apple.change { $0.beforeAnswer = { if $0 == 1 { stop.request(signal: 15) } } }
        let stopped = try await world.night("run-1", after: 24, stop: stop, `Delta nights`.delta())
        #expect(stopped.exitStatus == .terminated)
        #expect(!stopped.closesPass)
        world.apple.change { $0.beforeAnswer = { _ in } }
        // Meanwhile one more ends, and somebody writes to a row that nothing spoke for.
        end(3, at: first.adding(milliseconds: 13 * World.hour))
        var row = try #require(world.store.rows[World.key(World.id(2))])
        row.status = 3
        world.store.hold(row)
        let next = try await world.night("run-2", after: 24 + hours, `Delta nights`.delta())
        #expect(next.closesPass)
        #expect([1, 4].allSatisfy { world.status(of: World.id($0)) == 2 })
        let isAnew = hours >= 6
        #expect(world.status(of: World.id(3)) == (isAnew ? 2 : 1))
        // The stopped night had not come to its schedule, so a retry finds what was written, too.
        #expect(world.status(of: World.id(2)) == 1)
        #expect(world.store.ledger.count == (isAnew ? 4 : 3))
        // What a retry left is found the night after.
        try await world.night("run-3", after: 48 + hours, `Delta nights`.delta())
        #expect([1, 3, 4].allSatisfy { world.status(of: World.id($0)) == 2 })
        #expect(world.status(of: World.id(2)) == 1)
    }
}
