/// What real attempts to a configured address came to, in four bytes: Apple makes six at most.
struct AttemptOutcomes: Hashable, Sendable {
    /// Four bits for each attempt, and in the highest four their number.
    private var bits: UInt32 = 0

    var count: Int { Int(bits >> 28) }

    /// 0 for success, or else one more than an index into `Delivery.failures`.
    subscript(attempt: Int) -> UInt8 { UInt8(bits >> UInt32(attempt * 4) & 15) }

    var last: UInt8? { count == 0 ? nil : self[count - 1] }

    mutating func append(_ outcome: UInt8) {
        guard count < 7 else { return }
        bits = (bits | UInt32(outcome & 15) << UInt32(count * 4)) + (1 << 28)
    }
}
