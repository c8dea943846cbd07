/// Which failures are retried, how often, and after which pause.
///
/// Pauses have full jitter: a uniformly random time between zero and a bound that doubles with each
/// attempt, so that requests that failed together are not repeated together.
package struct RetryPolicy: Sendable {
    /// Why an attempt failed.
    package enum Failure: Hashable, Sendable {
        /// No complete answer came.
        case connection
        /// An answer with this status and, in an error body, this code.
        case answer(status: Int, code: Int?)
    }

    package let retriedCodes: Set<Int>
    package let attemptLimit: Int
    package let firstBound: Duration
    package let longestBound: Duration

    /// A policy for one service.
    ///
    /// `retriedCodes` are the error codes which the service declares worth a retry; no other is.
    /// `attemptLimit` counts the first attempt, too.
    package init(
        retriedCodes: Set<Int>, attemptLimit: Int = 5, firstBound: Duration = .milliseconds(500),
        longestBound: Duration = .seconds(20)
    ) {
        precondition(attemptLimit > 0, "there must be a first attempt")
        self.retriedCodes = retriedCodes
        self.attemptLimit = attemptLimit
        self.firstBound = firstBound
        self.longestBound = longestBound
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
/// Retries are at most a tenth of the calls, plus an allowance so that small runs can retry, too.
/// Waits that the server ordered (429) do not count.
package struct RetryBudget: Sendable {
    package let allowance: Int
    package let share: Double
    package private(set) var calls = 0
    package private(set) var retries = 0

    package init(allowance: Int = 50, share: Double = 0.1) {
        self.allowance = allowance
        self.share = share
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
