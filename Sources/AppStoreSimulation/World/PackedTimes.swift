import Subscriptions

/// Milliseconds in six bytes, without the alignment of a larger integer: some 4,400 years either way.
struct PackedMilliseconds: Hashable, Sendable {
    private var low: UInt16
    private var middle: UInt16
    private var high: Int16

    private static let range: ClosedRange<Int64> = -(1 << 47) + 1...1 << 47 - 1

    /// Stands for an absent time.
    static let none = PackedMilliseconds(bits: -1 << 47)

    /// A value out of range becomes the nearest one within.
    init(_ value: Int64) {
        self.init(bits: min(max(value, Self.range.lowerBound), Self.range.upperBound))
    }

    private init(bits: Int64) {
        low = UInt16(truncatingIfNeeded: bits)
        middle = UInt16(truncatingIfNeeded: bits >> 16)
        high = Int16(truncatingIfNeeded: bits >> 32)
    }

    var value: Int64 { Int64(high) << 32 | Int64(middle) << 16 | Int64(low) }
}

/// A timestamp in six bytes instead of eight, because a world holds millions.
@propertyWrapper
struct PackedTimestamp: Hashable, Sendable {
    private var milliseconds: PackedMilliseconds

    init(wrappedValue: Timestamp) {
        milliseconds = PackedMilliseconds(wrappedValue.unixMilliseconds)
    }

    var wrappedValue: Timestamp {
        get { Timestamp(unixMilliseconds: milliseconds.value) }
        set { milliseconds = PackedMilliseconds(newValue.unixMilliseconds) }
    }
}

/// An optional timestamp in six bytes instead of nine.
@propertyWrapper
struct PackedOptionalTimestamp: Hashable, Sendable {
    private var milliseconds: PackedMilliseconds

    init(wrappedValue: Timestamp?) {
        milliseconds = wrappedValue.map { PackedMilliseconds($0.unixMilliseconds) } ?? .none
    }

    var wrappedValue: Timestamp? {
        get {
            milliseconds == .none ? nil : Timestamp(unixMilliseconds: milliseconds.value)
        }
        set {
            milliseconds = newValue.map { PackedMilliseconds($0.unixMilliseconds) } ?? .none
        }
    }
}
