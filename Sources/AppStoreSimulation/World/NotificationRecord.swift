import Subscriptions

/// A notification as Apple keeps it: what, when, the state as sent, and how delivery went.
struct NotificationRecord: Sendable {
    var date: Timestamp
    /// -1 where it concerns no purchase (TEST).
    var chain: Int32
    /// The chain's transaction that it carries; -1 where there is none.
    var transaction: Int16
    var event: NotificationEvent
    /// Apple's status at that moment; 0 for one-time purchases.
    var status: UInt8
    var delivery: Delivery
    /// Which failure the attempts met; index into `Delivery.failures`.
    var failure: UInt8 = 0
    /// Tells notifications of one kind, chain and moment apart.
    var repetition: UInt8 = 0
    /// `nil` where delivery only follows the plan.
    var outcomes: AttemptOutcomes?
    /// What was stated, since later events must not change it; `nil` where nothing is.
    var transactionThen: StatedTransaction?
    var streakStart: Timestamp
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

    /// By date; then by what makes it, so that the order of making does not show.
    var order: (Timestamp, Int32, UInt8, UInt8) { (date, chain, event.rawValue, repetition) }

    /// From the event to the first attempt.
    static let sendingMilliseconds: Int64 = 400

    /// When the first attempt is made: a test notification is sent at once, also while the clock
    /// stands.
    static func firstAttempt(of key: NotificationKey) -> Timestamp {
        key.event == .test ? key.date : key.date.adding(milliseconds: sendingMilliseconds)
    }

    /// When the next real attempt is due, where none has succeeded and one is left.
    func nextAttempt(in environment: SimulatedEnvironment) -> Timestamp? {
        guard let outcomes, outcomes.last != 0, outcomes.count < environment.attemptDelays.count
        else { return nil }
        return Self.firstAttempt(of: key).adding(
            milliseconds: environment.attemptDelays[outcomes.count])
    }

    /// Attempts made until `now`: when, and with what result.
    func attempts(
        in environment: SimulatedEnvironment, until now: Timestamp
    ) -> [(date: Timestamp, result: String)] {
        var attempts: [(date: Timestamp, result: String)] = []
        for (index, delay) in environment.attemptDelays.enumerated() {
            let moment = Self.firstAttempt(of: key).adding(milliseconds: delay)
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
