import Subscriptions

/// Send attempts in one column: a line each, UNIX milliseconds, a blank and Apple's result.
enum SendAttemptText {
    static func encode(_ attempts: [SendAttempt]) -> String {
        TextList.encode(attempts.map { "\($0.attemptDate.unixMilliseconds) \($0.result)" })
    }

    static func decode(_ column: String) -> [SendAttempt] {
        TextList.decode(column).compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let milliseconds = Int64(parts[0]) else { return nil }
            return SendAttempt(
                attemptDate: Timestamp(unixMilliseconds: milliseconds), result: String(parts[1]))
        }
    }
}
