import Subscriptions

/// A notification as Apple keeps it: what, when, the state as sent, and how delivery went.
struct NotificationRecord: Sendable {
    var date: Timestamp
    /// -1 where it concerns no purchase (TEST).
    var chain: Int32
    var transaction: Int32
    var event: NotificationEvent
    /// Apple's status at that moment; 0 for one-time purchases.
    var status: UInt8
    var delivery: Delivery
    /// Which failure the attempts met; index into `Delivery.failures`.
    var failure: UInt8 = 0
    /// What real attempts to a configured address came to, each 0 for success or else one more than
    /// an index into `Delivery.failures`; `nil` where delivery only follows the plan.
    var outcomes: [UInt8]?
    var revocationDate: Timestamp?
    var renewal: RenewalState

    /// How many attempts fail before one succeeds.
    struct Delivery: Sendable, Equatable {
        var failedAttempts: UInt8

        static let atOnce = Delivery(failedAttempts: 0)
        static let never = Delivery(failedAttempts: .max)

        /// Apple's `sendAttemptResult` values of failed attempts.
        static let failures = [
            "TIMED_OUT", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "NO_RESPONSE", "SOCKET_ISSUE",
            "TLS_ISSUE", "CIRCULAR_REDIRECT", "UNSUPPORTED_CHARSET", "INVALID_RESPONSE",
            "PREMATURE_CLOSE", "OTHER",
        ]
    }

    /// From the event to the first attempt.
    static let sendingMilliseconds: Int64 = 400

    /// The next real attempt, when it is due by `now` and none has succeeded.
    func dueAttempt(
        in environment: SimulatedEnvironment, by now: Timestamp
    ) -> (number: Int, date: Timestamp)? {
        guard let outcomes, outcomes.last != 0, outcomes.count < environment.attemptDelays.count
        else { return nil }
        let moment = date.adding(
            milliseconds: environment.attemptDelays[outcomes.count] + Self.sendingMilliseconds)
        return moment <= now ? (outcomes.count, moment) : nil
    }

    /// Attempts made until `now`: when, and with what result.
    func attempts(
        in environment: SimulatedEnvironment, until now: Timestamp
    ) -> [(date: Timestamp, result: String)] {
        var attempts: [(date: Timestamp, result: String)] = []
        for (index, delay) in environment.attemptDelays.enumerated() {
            let moment = date.adding(milliseconds: delay + Self.sendingMilliseconds)
            guard moment <= now else { break }
            if let outcomes {
                guard index < outcomes.count else { break }
                let outcome = Int(outcomes[index])
                attempts.append(
                    (moment, outcome == 0 ? "SUCCESS" : Delivery.failures[outcome - 1]))
                continue
            }
            let succeeds = index >= Int(delivery.failedAttempts)
            attempts.append(
                (moment, succeeds ? "SUCCESS" : Delivery.failures[Int(failure)]))
            if succeeds { break }
        }
        return attempts
    }
}
