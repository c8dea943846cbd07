/// The result of one question to Apple.
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
    /// Apple refused the stored revision or page token (4000005, 4000014, 4000017): start over.
    case restart
    /// Another refusal of this question, with Apple's message.
    case refused(code: Int, httpStatus: Int, message: String)
    /// 5000000: the question is asked once more at the end of the run.
    case internalFault
    /// 429 again and again, until the attempts of this request were used up.
    case rateLimited
    /// All attempts failed, or the answer did not come from Apple; the text says how it failed.
    case unavailable(String)
    /// The answer cannot be read; the text says why.
    case undecodable(String)
    /// The whole answer is refused (its envelope names another app or environment).
    case unverified(RejectedStatement)
}

extension Lookup: Equatable where Answer: Equatable {}
extension Lookup: Hashable where Answer: Hashable {}

/// A fault that ends the asking about an app, or the whole run; it says nothing about any row.
package enum RunStop: Error, Hashable, Sendable {
    /// A 401 also with a new token; the text names the likely reason (exit 77).
    case denied(String)
    /// Apple does not know the configured app: 4000002, 4040003 (exit 78).
    case misconfigured(String)
    /// Waiting for the quota would pass the deadline (exit 75).
    case quotaWaitPastDeadline(until: Timestamp)
    /// The run's deadline passed before the question could be sent.
    case deadlineReached
    /// The run was cancelled while waiting.
    case cancelled
    /// Calls cannot be booked in the database that all workers share, so none may be made.
    case store(StoreError)
}
