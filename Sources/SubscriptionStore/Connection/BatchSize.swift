/// How many rows the next transaction takes, so that it keeps the lock for a short time on this
/// machine: another process waits for at most a transaction and the pause after it.
struct BatchSize: Hashable, Sendable {
    private(set) var rows: Int
    private let most: Int

    /// Rows of the first transaction, before it is known how long one takes.
    private static let first = 50
    private static let fewest = 10
    /// How long a transaction is to take.
    static let aim = Duration.milliseconds(20)

    /// - Parameter most: More rows than these are never taken.
    init(most: Int) {
        self.most = most
        rows = min(most, Self.first)
    }

    /// Notes how long a transaction of `rows` rows took.
    mutating func note(_ took: Duration) {
        let share = took / Self.aim
        // One that was slow by chance halves it at most, and one that was fast doubles it at most.
        let next = Double(rows) / min(2, max(0.5, share))
        rows = min(most, max(min(Self.fewest, most), Int(next)))
    }
}
