import Subscriptions

/// The names of runs.
enum RunName {
    /// For example `20261120T031704Z-7f3c9a`: sorts by time, and no two runs share one.
    static func make(started: Timestamp) -> String {
        let digits = started.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" }
        let random = String(UInt32.random(in: 0..<(1 << 24)), radix: 16)
        return digits + "Z-" + String(repeating: "0", count: 6 - random.count) + random
    }
}
