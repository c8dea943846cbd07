import Subscriptions

/// An optional moment in eight bytes instead of sixteen: a world holds millions.
@propertyWrapper
struct Compact: Hashable, Sendable {
    /// No event happens at the beginning of time, so it can stand for "none".
    private var milliseconds: Int64

    init(wrappedValue: Timestamp?) {
        milliseconds = wrappedValue?.unixMilliseconds ?? .min
    }

    var wrappedValue: Timestamp? {
        get { milliseconds == .min ? nil : Timestamp(unixMilliseconds: milliseconds) }
        set { milliseconds = newValue?.unixMilliseconds ?? .min }
    }
}
