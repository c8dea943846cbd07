/// Which failures are worth another attempt, how many, and after what pause.
///
/// Pauses have full jitter: a uniformly random time between nothing and a bound that doubles with
/// each attempt, so that requests which failed together do not come back together.
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

    /// Whether a failure of this kind is worth a retry at all.
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
