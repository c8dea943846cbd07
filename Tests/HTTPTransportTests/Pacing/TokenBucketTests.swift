import HTTPTransport
import Testing

@Suite struct `A token bucket` {
    @Test func `gives slots at the rate to a crowd that arrives at once`() {
        var bucket = TokenBucket(limitPerSecond: 50)
        let slots = (0..<500).map { _ in
            bucket.slotWasTaken(at: .zero, ratePerSecond: 50).time
        }
        #expect(slots.first == .zero)
        #expect(slots.last == .milliseconds(20) * 499)
        #expect(zip(slots, slots.dropFirst()).allSatisfy { $1 - $0 == .milliseconds(20) })
    }

    @Test func `lets one second's worth start at once after a quiet time`() {
        var bucket = TokenBucket(limitPerSecond: 10)
        let now: Duration = .seconds(100)
        let slots = (0..<12).map { _ in bucket.slotWasTaken(at: now, ratePerSecond: 10).time }
        #expect(slots.prefix(10).allSatisfy { $0 == now })
        #expect(slots[10] == now + .milliseconds(100))
        #expect(slots[11] == now + .milliseconds(200))
    }

    @Test func `gives no burst below one call a second`() {
        var bucket = TokenBucket(limitPerSecond: 0.5)
        let slots = (0..<3).map { _ in
            bucket.slotWasTaken(at: .seconds(100), ratePerSecond: 0.5).time
        }
        #expect(slots == [.seconds(100), .seconds(102), .seconds(104)])
    }

    @Test func `gives nothing during a pause and no burst after it`() {
        var bucket = TokenBucket(limitPerSecond: 10)
        bucket.wasPaused(until: .seconds(30))
        let slots = (0..<3).map { _ in
            bucket.slotWasTaken(at: .seconds(10), ratePerSecond: 10).time
        }
        #expect(slots == [.seconds(30), .milliseconds(30_100), .milliseconds(30_200)])
    }

    @Test func `uses nearly all of its rate over hours`() {
        var bucket = TokenBucket(limitPerSecond: 5)
        var slot: Duration = .zero
        for _ in 0..<(5 * 7200) {
            slot = bucket.slotWasTaken(at: slot, ratePerSecond: 5).time
        }
        #expect(slot < .seconds(7200) * 1.001)
    }

    @Test func `tells a turn that has not come from an hour that is used up`() {
        var bucket = TokenBucket(limitPerSecond: 1)
        let turns = (0..<10).map { _ in bucket.slotWasTaken(at: .zero, ratePerSecond: 1) }
        #expect(turns.allSatisfy { !$0.isLimitReached })
        var quick = TokenBucket(limitPerSecond: 1)
        let slots = (0..<3602).map { quick.slotWasTaken(at: .milliseconds($0), ratePerSecond: 1e6) }
        #expect(slots.prefix(3600).allSatisfy { !$0.isLimitReached })
        #expect(slots[3600].isLimitReached && slots[3600].time >= .seconds(3600))
        #expect(slots[3601].isLimitReached)
    }

    @Test(arguments: 0..<20)
    func `never exceeds its budget in any hour`(round: Int) {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let rates: [Double] = [0.05, 0.5, 1, 3.7, 5]
        let rate = rates[round % rates.count]
        var bucket = TokenBucket(limitPerSecond: rate)
        var now: Duration = .zero
        var slots: [Duration] = []
        while now < .seconds(4 * 3600) {
            switch Int.random(in: 0..<1000, using: &generator) {
            case 0: now += .seconds(Int.random(in: 0...4000, using: &generator))
            case 1:
                bucket.wasPaused(until: now + .seconds(Int.random(in: 0...60, using: &generator)))
            default: now += .milliseconds(Int.random(in: 0...300, using: &generator))
            }
            let lowered = rate * Double.random(in: 0.1...1, using: &generator)
            let slot = bucket.slotWasTaken(
                at: now, ratePerSecond: round.isMultiple(of: 2) ? rate : lowered
            ).time
            #expect(slot >= now, "seed \(seed)")
            now = max(now, slot - .seconds(5))
            slots.append(slot)
        }
        let limit = Int(rate * 3600)
        let breach = slots.indices.dropFirst(limit).first {
            slots[$0] - slots[$0 - limit] <= .seconds(3600)
        }
        #expect(breach == nil, "seed \(seed)")
        #expect(slots == slots.sorted(), "seed \(seed)")
    }
}
