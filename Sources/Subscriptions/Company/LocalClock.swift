/// The clock by which a column without an offset is written: of UTC, of a fixed offset, or of a zone
/// whose clocks change.
///
/// In such a zone an hour of the year is skipped and another one comes twice. Times in these are
/// never guessed: the first are no times, and the second are read and written by nobody.
package struct LocalClock: Hashable, Sendable, CustomStringConvertible {
    /// As the settings name it; what two runs are compared by.
    package let description: String
    /// Seconds east of UTC before the first change.
    let first: Int64
    /// The changes in order, by seconds since 1970.
    let changes: [Change]
    /// What holds after the last of them; `nil` where that one stays.
    let yearly: YearlyRule?
    /// Every offset that ever holds.
    private let offsets: [Int64]

    struct Change: Hashable, Sendable {
        var at: Int64
        var offset: Int64
    }

    init(_ description: String, first: Int64, changes: [Change], yearly: YearlyRule?) {
        self.description = description
        self.first = first
        self.changes = changes
        self.yearly = yearly
        let rule = yearly.map { [$0.standard, $0.summer] } ?? []
        offsets = Set([first] + changes.map(\.offset) + rule).sorted()
    }

    /// A clock that never changes.
    package init(minutesEast: Int) {
        self.init(
            String(minutesEast), first: Int64(minutesEast) &* 60, changes: [], yearly: nil)
    }

    package static func == (left: LocalClock, right: LocalClock) -> Bool {
        left.description == right.description && left.first == right.first
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// The instant that a local time means; `nil` where it means none, or two.
    ///
    /// - Parameter local: What the clock shows, as if it were UTC.
    /// - Returns: The instant.
    package func instant(ofLocal local: Timestamp) -> Timestamp? {
        let (seconds, rest) = local.unixMilliseconds.floorDivided(by: Milliseconds.perSecond)
        var found: Int64?
        for offset in offsets {
            let (instant, overflow) = seconds.subtractingReportingOverflow(offset)
            guard !overflow, self.offset(at: instant) == offset else { continue }
            guard found == nil else { return nil }
            found = instant
        }
        return found.flatMap { Self.time(seconds: $0, rest) }
    }

    /// What the clock shows at an instant, as if that were UTC; `nil` where the same is shown twice.
    ///
    /// - Parameter instant: The time.
    /// - Returns: The local time, which reads back as this instant.
    package func local(at instant: Timestamp) -> Timestamp? {
        let (seconds, rest) = instant.unixMilliseconds.floorDivided(by: Milliseconds.perSecond)
        let (local, overflow) = seconds.addingReportingOverflow(offset(at: seconds))
        guard !overflow, let shown = Self.time(seconds: local, rest),
            self.instant(ofLocal: shown) == instant
        else { return nil }
        return shown
    }

    private static func time(seconds: Int64, _ milliseconds: Int64) -> Timestamp? {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: Milliseconds.perSecond)
        let (sum, isTooFar) = product.addingReportingOverflow(milliseconds)
        return overflow || isTooFar ? nil : Timestamp(unixMilliseconds: sum)
    }

    /// Seconds east of UTC at an instant.
    private func offset(at seconds: Int64) -> Int64 {
        guard let last = changes.last else { return yearly?.offset(at: seconds) ?? first }
        guard seconds < last.at else { return yearly?.offset(at: seconds) ?? last.offset }
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low &+ high) / 2
            if changes[middle].at <= seconds { low = middle &+ 1 } else { high = middle }
        }
        return low == 0 ? first : changes[low &- 1].offset
    }
}
