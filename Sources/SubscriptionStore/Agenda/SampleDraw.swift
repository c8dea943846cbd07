import Subscriptions

/// The rows of a sample: of all rows that are offered, those whose numbers are the smallest.
///
/// The numbers follow from the seed and the key, so that the same seed draws the same rows, and any
/// set of rows is as probable as any other of its size.
struct SampleDraw: Sendable {
    private let seed: UInt64
    private let size: SampleSize
    private var drawn: [(number: UInt64, key: SubscriptionKey)] = []
    private var bound = UInt64.max
    /// The digest of the app of the last key, which nearly all keys share.
    private var app: (bundleID: String, environment: String, digest: ValuesDigest)?

    init(_ size: SampleSize, seed: UInt64) {
        self.size = size
        self.seed = seed
        if case .share(let share) = size { bound = Self.bound(of: share) }
    }

    private static func bound(of share: Double) -> UInt64 {
        guard share > 0 else { return 0 }
        guard share < 1 else { return .max }
        return UInt64(exactly: (share * 0x1p64).rounded(.down)) ?? .max
    }

    mutating func offer(_ key: SubscriptionKey) {
        let number = number(of: key)
        guard number < bound else { return }
        drawn.append((number, key))
        guard case .rows(let rows) = size, drawn.count >= 2 * max(rows, 512) else { return }
        keep(rows)
    }

    /// The drawn rows so far, in no order; only with a share they may be taken out in between.
    mutating func take() -> [SubscriptionKey] {
        if case .rows(let rows) = size { keep(rows) }
        defer { drawn = [] }
        return drawn.map(\.key)
    }

    var mayTakeEarly: Bool { if case .share = size { true } else { false } }

    private mutating func keep(_ rows: Int) {
        drawn.sort { $0.number < $1.number }
        guard drawn.count > rows else { return }
        drawn.removeSubrange(rows...)
        bound = drawn.last?.number ?? 0
    }

    /// SplitMix64's finishing mix over the digest of the key: neighbours get unrelated numbers.
    private mutating func number(of key: SubscriptionKey) -> UInt64 {
        var digest = digest(ofAppOf: key)
        digest.add(key.originalTransactionID)
        var z = (digest.bits ^ seed) &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    private mutating func digest(ofAppOf key: SubscriptionKey) -> ValuesDigest {
        if let app, app.bundleID == key.bundleID, app.environment == key.environment {
            return app.digest
        }
        var digest = ValuesDigest()
        digest.add(key.bundleID)
        digest.add(key.environment)
        app = (key.bundleID, key.environment, digest)
        return digest
    }
}
