/// A small deterministic random sequence (SplitMix64): the same seed gives the same world.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// A sequence of its own for one part of the world, independent of the order of making.
    init(seed: UInt64, stream: UInt64) {
        state = Self.mixed(seed &+ Self.mixed(stream &+ 0x632B_E59B_D9B4_E019))
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    /// True with this probability.
    mutating func chance(_ probability: Double) -> Bool {
        fraction() < probability
    }

    /// Uniform in 0..<1.
    mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1.0p-53
    }

    /// Uniform in the range, without the bias-free loop of the standard library: the sequence must
    /// not depend on its implementation.
    mutating func integer(in range: ClosedRange<Int64>) -> Int64 {
        let span = UInt64(bitPattern: range.upperBound &- range.lowerBound) &+ 1
        return span == 0
            ? Int64(bitPattern: next()) : range.lowerBound &+ Int64(bitPattern: next() % span)
    }

    /// Scatters all 64 bits; a bijection.
    static func mixed(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
