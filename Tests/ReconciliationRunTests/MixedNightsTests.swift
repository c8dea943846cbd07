import Reconciliation
import ReconciliationRun
import StoreSupport
import Subscriptions
import TestSupport
import Testing

/// Nights of which every one is killed, stopped, guarded, narrowed, only checked, or poorly answered,
/// in any mix: once they are left alone, the table stands as if they had always been.
@Suite struct `Mixed nights` {
    private static let nights: Int64 = 8
    private static let rows = 40

    /// What comes in the way of one run.
    private enum Disturbance: CaseIterable {
        case none, killed, stopped, guarded, limited, sharded, named, checked, unanswered, outage
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `end as nights that nothing disturbed`(seed: UInt64) async throws {
        let undisturbed = World(rows: Self.rows)
        let disturbed = World(rows: Self.rows)
        var generator = SeededGenerator(seed: seed)
        let change: (inout ReconciliationJob) -> Void =
            seed.isMultiple(of: 3) ? { _ in } : `Delta nights`.delta(sample: 2)
        try await undisturbed.night("before", change)
        try await disturbed.night("before", change)
        for night in 1...Self.nights {
            Self.happen(to: [undisturbed, disturbed], on: night, &generator)
            try await undisturbed.night("night-\(night)", after: night * 25, change)
            for attempt in 0..<Int64.random(in: 1...3, using: &generator) {
                let disturbance = Disturbance.allCases.randomElement(using: &generator) ?? .none
                try await Self.run(
                    "night-\(night)-\(attempt)", after: night * 25 + attempt * 3, disturbance,
                    in: disturbed, &generator, change)
            }
        }
        for night in 1...2 {
            let hours = (Self.nights + Int64(night)) * 25
            let end = try await undisturbed.night("last-\(night)", after: hours, change)
            let late = try await disturbed.night("last-\(night)", after: hours, change)
            #expect(late.exitStatus == end.exitStatus, "\(late.messages)")
            #expect(late.coverage?.left.isEmpty ?? true)
        }
        #expect(Self.values(of: disturbed) == Self.values(of: undisturbed))
        let open = undisturbed.store.report(ofRun: "last-2")?.kinds
        #expect(disturbed.store.report(ofRun: "last-2")?.kinds == open)
        // Each thing that happened is corrected once, however often it was looked at.
        #expect(disturbed.store.ledger.count == undisturbed.store.ledger.count)
    }

    /// A day: a subscription ends and is told of, a mistake is made in our table, a stranger buys.
    private static func happen(
        to worlds: [World], on night: Int64, _ generator: inout SeededGenerator
    ) {
        let signed = World.start.adding(
            milliseconds: (night * 25 - Int64.random(in: 2...20, using: &generator)) * World.hour)
        let first = Int(night - 1) * 3
        let wrong = [2, 3, 5].randomElement(using: &generator)
        for world in worlds {
            for number in first...(first + 1) {
                let ended = World.stated(World.id(number), .expired) {
                    $0.transaction.signedDate = signed
                    $0.renewal.signedDate = signed
                }
                world.say([ended])
                world.tell([World.notification("ended \(number)", ended)])
            }
            if var row = world.store.rows[World.key(World.id(first + 2))] {
                row.status = wrong
                world.store.hold(row)
            }
            guard night.isMultiple(of: 3) else { continue }
            let stranger = World.stated(World.id(rows + Int(night))) {
                $0.transaction.signedDate = signed
                $0.renewal.signedDate = signed
            }
            world.say([stranger])
            world.tell([World.notification("bought \(night)", stranger)])
        }
    }

    private static func run(
        _ runID: String, after hours: Int64, _ disturbance: Disturbance, in world: World,
        _ generator: inout SeededGenerator, _ change: @escaping (inout ReconciliationJob) -> Void
    ) async throws {
        var job: (inout ReconciliationJob) -> Void = change
        let stop = StopRequest()
        let number = Int.random(in: 1...8, using: &generator)
        switch disturbance {
        case .none: break
        case .killed:
            world.store.kill(afterCommits: Int.random(in: 1...12, using: &generator))
            _ = try? await world.night(runID, after: hours, change)
            world.store.restart()
            return
        case .stopped:
            world.apple.change { script in
                script.beforeAnswer = { if $0 == number { stop.request(signal: 15) } }
            }
        case .guarded:
            job = { job in
                change(&job)
                job.guards.minChanges = 1
                job.guards.maxChanges = 0
            }
        case .limited:
            job = {
                change(&$0)
                $0.filters.limit = number
            }
        case .sharded:
            job = {
                change(&$0)
                $0.filters.shard = .init(number: 1 + number % 4, count: 4)
            }
        case .named:
            job = {
                change(&$0)
                $0.filters.ids = [World.id(number), World.id(number + 9)]
            }
        case .checked:
            job = {
                change(&$0)
                $0.mode = .check
            }
        case .unanswered:
            world.apple.change {
                $0.faults = [number: .unavailable("503"), number + 1: .unavailable("503")]
            }
        case .outage: world.apple.change { $0.outageFrom = number }
        }
        try await world.night(runID, after: hours, stop: stop, job)
        if [.none, .guarded, .limited, .sharded, .named, .checked].contains(disturbance) {
            let asked = world.apple.asked
            #expect(Set(asked).count == asked.count, "\(runID), \(disturbance)")
        }
        world.apple.change { script in
            script.beforeAnswer = { _ in }
            script.faults = [:]
            script.outageFrom = nil
        }
    }

    /// What the company reads in its table.
    private static func values(of world: World) -> [SubscriptionKey: LocalSubscription] {
        world.store.rows.mapValues { row in
            var row = row
            row.rowVersion = 0
            return row
        }
    }
}
