import HTTPTransport
import Subscriptions

/// Whether, and after what pause, a call that failed is made again.
extension RequestState {
    /// Only questions for statuses come again at the end of a run, so that only they can be put off.
    static func isAskedAgain(_ endpoint: Endpoint) -> Bool { endpoint == .subscriptionStatuses }

    /// Why a question that has failed makes way for another; `nil` while it may be asked itself.
    ///
    /// Where nothing has been answered yet, an outage and a row of bad ids look alike, and to ask
    /// the same questions again would never tell them apart.
    mutating func putOff(
        _ endpoint: Endpoint, _ progress: inout Progress
    ) -> String? {
        let lane = withLane(endpoint) { $0 }
        guard progress.attempts > 0, lane.isInDoubt, outstanding[endpoint, default: 0] > 1 else {
            return nil
        }
        outstanding[endpoint, default: 0] -= 1
        progress.isOutstanding = false
        return "\(lane.lastFault) (\(progress.attempts) attempts, then put off for others)"
    }

    /// Of a single question nobody can tell whether it or the endpoint is at fault: it has its retry
    /// budget and no more.
    private mutating func isLastHope(_ endpoint: Endpoint) -> Bool {
        Self.isAskedAgain(endpoint) && outstanding[endpoint, default: 0] == 1
            && crowded.contains(endpoint)
            && withLane(endpoint) { $0.isSilent }
    }

    /// Another attempt after a pause, when policy and budget allow it.
    mutating func retry(
        _ failure: RetryPolicy.Failure, _ progress: Progress, cause: String
    ) -> Step {
        guard
            let pause = Self.policy.pause(
                after: failure, attempts: progress.attempts, using: &generator)
        else { return .done(.unavailable("\(cause) (\(progress.attempts) attempts)")) }
        guard budget.retryWasWanted() else {
            return .done(.unavailable("\(cause) (no more retries: this run made too many)"))
        }
        return .againAfter(pause, cause)
    }

    /// Another attempt after a fault of the endpoint, unless it is rather one of this question.
    mutating func retryAfterFault(
        _ failure: RetryPolicy.Failure, of endpoint: Endpoint, _ progress: inout Progress,
        cause: String
    ) -> Step {
        if let text = putOff(endpoint, &progress) {
            return .done(.unavailable(text))
        }
        // The only one left to find out when it works: its attempts are the breaker's to count.
        if isLastHope(endpoint) { return .again }
        let answers = withLane(endpoint) { $0.answers }
        let before = progress.answersBefore ?? answers
        progress.answersBefore = before
        guard answers == before || progress.attempts < Self.attemptsAmongAnswers else {
            return .done(
                .unavailable(
                    "\(cause) (\(progress.attempts) attempts, while others were answered)"))
        }
        return retry(failure, progress, cause: cause)
    }

    /// The pause that a 429 without a usable `Retry-After` earns.
    mutating func pauseWithoutRetryAfter(_ progress: Progress) -> Duration {
        let bound = Self.policy.bound(afterAttempts: progress.attempts)
        return max(
            RetryAfter.shortestWait, bound * Double.random(in: 0.5...1, using: &generator))
    }
}
