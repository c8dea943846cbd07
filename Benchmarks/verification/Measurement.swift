import Glibc

/// Processor time of one thing per payload, a figure for each round.
struct Measurement {
    let name: String
    private(set) var microseconds: [Double] = []

    init(_ name: String) {
        self.name = name
    }

    /// Runs over all payloads once and notes the processor time per payload.
    mutating func round(
        of count: Int, _ body: () async throws -> Void
    ) async rethrows {
        let before = Self.processorNanoseconds()
        try await body()
        microseconds.append(Double(Self.processorNanoseconds() - before) / 1000 / Double(count))
    }

    /// `name least median`, in microseconds.
    var line: String {
        let sorted = microseconds.sorted()
        return "\(name) \(Self.rounded(sorted[0])) \(Self.rounded(sorted[sorted.count / 2]))"
    }

    private static func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }

    /// Of all threads: what somebody else does on the machine meanwhile does not count.
    private static func processorNanoseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
