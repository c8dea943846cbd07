import Subscriptions
import TestSupport
import Testing

@Suite struct `A window of the quota` {
    private static let now = Timestamp(unixMilliseconds: 1_795_144_624_000)

    private func window(_ buckets: [(Int64, Int)], at now: Timestamp = now) -> QuotaWindow {
        QuotaWindow(buckets.map { QuotaWindow.Bucket(start: $0.0, calls: $0.1) }, at: now)
    }

    @Test func `grants what fits, in the bucket of the moment`() {
        let grant = window([(1_795_144_000, 5)]).grant(10, limit: 8, at: Self.now)
        #expect(grant.calls == 3)
        #expect(grant.bucket == 1_795_144_620)
        #expect(grant.limit == 8)
        #expect(grant.nextFree == nil)
    }

    @Test func `says how much of the hour is used once its calls are made`() {
        let booked = window([(1_795_144_000, 5), (1_795_144_100, 2)])
        #expect(booked.grant(10, limit: 20, at: Self.now).usedOfHour == 17)
        #expect(booked.grant(1, limit: 7, at: Self.now).usedOfHour == 0)
    }

    @Test func `grants nothing while a 429 holds`() {
        let refusal = QuotaRefusal(resumesAt: Self.now.adding(milliseconds: 1), rateShare: 0.5)
        #expect(refusal.holds(at: Self.now))
        #expect(!refusal.holds(at: refusal.resumesAt))
        #expect(!refusal.holds(at: Self.now.adding(milliseconds: -86_400_000)))
        #expect(
            !QuotaRefusal(resumesAt: Timestamp(unixMilliseconds: .max), rateShare: 0.5)
                .holds(at: Self.now))
        let none = QuotaGrant(during: refusal, limit: 7, at: Self.now)
        #expect(none.calls == 0)
        #expect(none.nextFree == refusal.resumesAt)
        #expect(none.refusal == refusal)
    }

    @Test func `says when the next call fits`() {
        let full = window([(1_795_144_100, 2), (1_795_144_000, 3), (1_795_144_600, 4)])
        // Of nine calls with a limit of seven, three have to leave: the first bucket is enough.
        let first = full.grant(1, limit: 7, at: Self.now)
        #expect(first.calls == 0)
        #expect(first.nextFree == Timestamp(unixMilliseconds: 1_795_147_610_000))
        let second = full.grant(1, limit: 5, at: Self.now)
        #expect(second.nextFree == Timestamp(unixMilliseconds: 1_795_147_710_000))
    }

    @Test func `counts a bucket until all of it, and another one's time, is an hour ago`() throws {
        let start: Int64 = 1_795_144_000
        let left = Timestamp(unixMilliseconds: (start + 3610) * 1000)
        let before = left.adding(milliseconds: -1)
        #expect(window([(start, 1)], at: before).used == 1)
        #expect(window([(start, 1)], at: left).used == 0)
        let grant = window([(start, 1)], at: before).grant(1, limit: 1, at: before)
        #expect(grant.nextFree == left)
    }

    @Test func `counts what a clock that was set back left in the future, for an hour`() {
        #expect(window([(1_795_144_620 + 3600, 2)]).used == 2)
        #expect(window([(1_795_144_620 + 3605, 2)]).used == 0)
    }

    @Test func `takes any number that stands in a database`() {
        let strange = window([
            (.min, 1), (.max, 1), (1_795_144_000, .max), (1_795_144_005, .max),
            (1_795_144_010, -5),
        ])
        #expect(strange.used == .max)
        #expect(strange.grant(1, limit: 7, at: Self.now).calls == 0)
        let far = Timestamp(unixMilliseconds: .max)
        #expect(window([], at: far).grant(3, limit: 7, at: far).calls == 3)
        let past = Timestamp(unixMilliseconds: .min)
        #expect(window([], at: past).grant(0, limit: 7, at: past).calls == 1)
        #expect(window([], at: past).grant(1, limit: 0, at: past).nextFree != nil)
    }

    /// Several processes that book ahead, use, give back and crash in any order.
    @Test(arguments: 0..<20)
    func `never lets more calls through in any hour, whatever processes do`(round: Int) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let limit = [1, 7, 40, 300][round % 4]
        let batch = [1, 5, 60][round % 3]
        var booked: [Int64: Int] = [:]
        var rests: [QuotaGrant?] = [nil, nil, nil]
        var sent: [Int64] = []
        var now = Self.now
        func giveBack(_ index: Int) {
            guard let rest = rests[index], rest.calls > 0 else { return }
            booked[rest.bucket, default: 0] -= rest.calls
        }
        while now < Self.now.adding(milliseconds: 4 * 3_600_000) {
            now = now.adding(milliseconds: .random(in: 0...20_000, using: &generator))
            let index = Int.random(in: 0..<rests.count, using: &generator)
            switch Int.random(in: 0..<20, using: &generator) {
            case 0:
                // Killed: what it had booked stays booked.
                rests[index] = nil
            case 1:
                giveBack(index)
                rests[index] = nil
            default:
                if rests[index]?.calls ?? 0 == 0
                    || rests[index]?.bucket != QuotaWindow.bucket(of: now)
                {
                    giveBack(index)
                    let window = QuotaWindow(
                        booked.map { QuotaWindow.Bucket(start: $0.key, calls: $0.value) }, at: now)
                    let grant = window.grant(batch, limit: limit, at: now)
                    booked[grant.bucket, default: 0] += grant.calls
                    rests[index] = grant
                    if let next = grant.nextFree { #expect(next > now, "seed \(seed)") }
                }
                guard let rest = rests[index], rest.calls > 0 else { continue }
                let count = Int.random(in: 1...rest.calls, using: &generator)
                rests[index]?.calls -= count
                // On its way for a few seconds at most.
                for _ in 0..<count {
                    sent.append(
                        now.unixMilliseconds + .random(in: 0..<5000, using: &generator))
                }
            }
        }
        sent.sort()
        let breach = sent.indices.dropFirst(limit).first {
            sent[$0] - sent[$0 - limit] <= 3_600_000
        }
        #expect(breach == nil, "seed \(seed)")
        #expect(sent.count >= limit, "seed \(seed)")
    }
}
