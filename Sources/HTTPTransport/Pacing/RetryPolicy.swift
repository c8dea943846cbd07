import Glibc

/// Which failures are retried, how often, and after which pause.
///
/// Pauses have full jitter: a uniformly random time between zero and a bound that doubles with each
/// attempt, so that requests that failed together are not repeated together.
package struct RetryPolicy: Sendable {
    /// The reason why an attempt failed.
    package enum Failure: Hashable, Sendable {
        /// No complete answer came.
        case connection
        /// An answer with this status and, in an error body, this code.
        case answer(status: Int, code: Int?)
    }

    package let retriedCodes: Set<Int>
    /// Counts the first attempt as well.
    package let attemptLimit = 5
    package let firstBound: Duration = .milliseconds(500)
    package let longestBound: Duration = .seconds(20)

    /// A policy for one service.
    ///
    /// `retriedCodes` are the error codes which the service declares worth a retry; no other is.
    package init(retriedCodes: Set<Int>) {
        self.retriedCodes = retriedCodes
    }

    /// Whether failures of this kind are retried at all.
    package func retries(_ failure: Failure) -> Bool {
        switch failure {
        case .connection, .answer(status: 429, _): true
        case .answer(_, let code?): retriedCodes.contains(code)
        case .answer(let status, nil): (500...599).contains(status)
        }
    }

    /// The pause before the next attempt, or `nil` when there is none.
    ///
    /// `attempts` is how many were made so far.
    package func pause(
        after failure: Failure, attempts: Int, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        guard retries(failure), attempts < attemptLimit else { return nil }
        return bound(afterAttempts: attempts) * Double.random(in: 0...1, using: &generator)
    }

    /// The longest pause after this many attempts.
    package func bound(afterAttempts attempts: Int) -> Duration {
        var bound = firstBound
        for _ in 1..<max(1, min(attempts, 64)) where bound < longestBound { bound *= 2 }
        return min(bound, longestBound)
    }
}

/// Keeps retries a small part of the requests, so that a failing server does not get more requests
/// than a healthy one.
///
/// Retries are at most a tenth of the calls, plus an allowance so that small runs can retry as
/// well. Waits that the server ordered (429) do not count.
package struct RetryBudget: Sendable {
    package let allowance: Int
    package let share = 0.1
    package private(set) var calls = 0
    package private(set) var retries = 0

    package init(allowance: Int = 50) {
        self.allowance = allowance
    }

    /// Counts a first attempt.
    package mutating func callWasMade() {
        calls += 1
    }

    /// Counts a retry when it may be made.
    package mutating func retryWasWanted() -> Bool {
        guard Double(retries + 1) <= Double(allowance) + share * Double(calls) else { return false }
        retries += 1
        return true
    }
}

/// SplitMix64: random numbers that a seed repeats, for jitter and for tests of it.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The `Retry-After` header, which Apple sends as a UNIX time in milliseconds.
///
/// Standards, proxies and tools use other forms, so a number is read by its magnitude: from 1e11 on
/// as milliseconds since 1970, from 1e9 on as seconds since 1970, below that as a delay in seconds.
/// Everything else is read as an HTTP date.
package enum RetryAfter {
    package static let longestWait: Duration = .seconds(3600)
    /// The wait for a time in the past: not zero, because the server said that we are too fast.
    package static let shortestWait: Duration = .seconds(1)

    /// How long to wait, or `nil` where there is no header or none that can be read.
    ///
    /// - Parameters:
    ///   - value: The header without white space around it, as the transport returns it.
    ///   - nowUnixMilliseconds: The wall clock, for the forms that state a time.
    /// - Returns: A duration between `shortestWait` and `longestWait`.
    package static func wait(
        for value: String?, nowUnixMilliseconds: Int64
    ) -> Duration? {
        guard let value,
            let milliseconds = waitMilliseconds(for: value, now: nowUnixMilliseconds)
        else { return nil }
        return min(longestWait, max(shortestWait, .milliseconds(milliseconds)))
    }

    private static func waitMilliseconds(for text: String, now: Int64) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return HTTPDate.unixMilliseconds(text).map { $0 - now }
        }
        // Empty, or too long for any of the forms: garbage.
        guard let number = Int64(text) else { return nil }
        switch number {
        case 100_000_000_000...: return min(number, .max / 2) - now
        case 1_000_000_000...: return number * 1000 - now
        default: return number * 1000
        }
    }
}

/// The date of HTTP headers (RFC 9110, section 5.6.7), in the form that servers send today:
/// `Fri, 20 Nov 2026 03:17:04 GMT`.
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Milliseconds since 1970, or `nil` for anything else, the obsolete forms included.
    package static func unixMilliseconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT",
            let day = number(words[1], 1...31), let month = months.firstIndex(of: String(words[2])),
            let year = number(words[3], 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 0...23),
            let minute = number(clock[1], 0...59), let second = number(clock[2], 0...60)
        else { return nil }
        var parts = unsafe tm()
        unsafe parts.tm_year = Int32(year - 1900)
        unsafe parts.tm_mon = Int32(month)
        unsafe parts.tm_mday = Int32(day)
        unsafe parts.tm_hour = Int32(hour)
        unsafe parts.tm_min = Int32(minute)
        unsafe parts.tm_sec = Int32(second)
        return Int64(unsafe timegm(&parts)) * 1000
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int64(text), range.contains(number)
        else { return nil }
        return number
    }
}
