/// What came of asking Apple one question: always one of these, never a bare failure.
///
/// A fault that concerns the whole run (a 401, a wrong bundle) is thrown as `RunStop` instead.
package enum Lookup<Answer: Sendable>: Sendable {
    case answered(Answer)
    /// 4040010 TransactionIdNotFound.
    case transactionNotFound
    /// 4040001 AccountNotFound.
    case accountNotFound
    /// Apple says that the id is malformed (4000006).
    case invalidID
    /// A stored place to go on from was refused (4000005, 4000014, 4000017): start again.
    case restart
    /// Another refusal that concerns this question alone, in Apple's words.
    case refused(code: Int, httpStatus: Int, message: String)
    /// 5000000: to be asked once more at the end of the run.
    case internalFault
    /// 429 that did not end within the patience of this request.
    case rateLimited
    /// Retries and patience are used up, or what came was not Apple's; the text says on what.
    case unavailable(String)
    /// An answer came that cannot be read; the text says why.
    case undecodable(String)
    /// The whole answer is unverifiable (its envelope names another app or environment).
    case unverified(RejectedStatement)
}

extension Lookup: Equatable where Answer: Equatable {}
extension Lookup: Hashable where Answer: Hashable {}

/// A fault that ends the run, whoever meets it.
///
/// No row is judged by it.
package enum RunStop: Error, Hashable, Sendable {
    /// A 401 that a new token did not mend; the text says what is likely (exit 77).
    case denied(String)
    /// Apple says that the settings are wrong: 4000002, 4040003 (exit 78).
    case misconfigured(String)
    /// Waiting for the quota would pass the deadline (exit 75).
    case quotaWaitPastDeadline(until: Timestamp)
    /// There was no time left in which it could have been asked.
    case deadlineReached
    /// The run was cancelled while waiting.
    case cancelled
}
