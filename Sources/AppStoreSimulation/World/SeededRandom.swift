/// A deterministic random number generator (SplitMix64): the same seed gives the same world.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// An independent sequence for one part of the world, whatever the order of creation.
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
        Self.fraction(of: next())
    }

    /// Maps 64 random bits to 0..<1.
    static func fraction(of bits: UInt64) -> Double {
        Double(bits >> 11) * 0x1.0p-53
    }

    /// Uniform in the range; the standard library's own method may change, and the same seed must always
    /// give the same world.
    mutating func integer(in range: ClosedRange<Int64>) -> Int64 {
        let span = UInt64(bitPattern: range.upperBound &- range.lowerBound) &+ 1
        return span == 0
            ? Int64(bitPattern: next()) : range.lowerBound &+ Int64(bitPattern: next() % span)
    }

    /// Mixes all 64 bits; a bijection.
    static func mixed(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
