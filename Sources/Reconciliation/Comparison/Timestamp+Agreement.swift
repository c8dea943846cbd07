import Subscriptions

extension Timestamp {
    /// Whether this local time says the same as Apple's.
    ///
    /// Many tables keep whole seconds. A local time without milliseconds is therefore compared to
    /// the second (docs/columns.md): it is Apple's time cut off, never rounded up.
    func agrees(withApple time: Timestamp) -> Bool {
        if self == time { return true }
        return unixMilliseconds % 1000 == 0 && time.wholeSeconds == wholeSeconds
    }

    /// Whether this local time is later than Apple's, equal to the second not being later.
    func isLater(thanApple time: Timestamp) -> Bool {
        self > time && !agrees(withApple: time)
    }

    /// Seconds since 1970, rounded down before 1970 too.
    private var wholeSeconds: Int64 {
        let (quotient, remainder) = unixMilliseconds.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
