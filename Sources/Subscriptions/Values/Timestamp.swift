/// A moment in whole UNIX milliseconds, as Apple states every time.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let unixMilliseconds: Int64

    package init(unixMilliseconds: Int64) {
        self.unixMilliseconds = unixMilliseconds
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.unixMilliseconds < right.unixMilliseconds
    }

    /// The moment this many milliseconds later (earlier when negative), clamped to `Int64`.
    package func adding(milliseconds: Int64) -> Timestamp {
        let (sum, overflow) = unixMilliseconds.addingReportingOverflow(milliseconds)
        guard overflow else { return Timestamp(unixMilliseconds: sum) }
        return Timestamp(unixMilliseconds: milliseconds > 0 ? .max : .min)
    }

    /// Milliseconds from `earlier` to this moment, clamped to `Int64`.
    package func milliseconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = unixMilliseconds.subtractingReportingOverflow(
            earlier.unixMilliseconds)
        guard overflow else { return difference }
        return unixMilliseconds > 0 ? .max : .min
    }

    /// Whether it lies more than a day after `now`, so that nothing can have been signed then.
    ///
    /// A day allows for clocks that are wrong and for times that were stored in another zone.
    package func isAhead(of now: Timestamp) -> Bool {
        self > now.adding(milliseconds: Milliseconds.perDay)
    }

    /// The UTC day as `yyyy-MM-dd`.
    package var utcDay: String { String(rfc3339.prefix(10)) }
}

/// Stored as UNIX milliseconds.
extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(unixMilliseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(unixMilliseconds)
    }
}
