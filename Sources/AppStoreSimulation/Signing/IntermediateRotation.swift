import Subscriptions
import Synchronization

/// The intermediates of the signing chain: one for years, or each issues leaves for a while.
///
/// A leaf is issued by the intermediate in force when the leaf begins, and both last from there to
/// the leaf's end. Apple's intermediates (G2 to G6 of the Worldwide Developer Relations authority)
/// change as well, which a client that pins one does not survive.
final class IntermediateRotation: Sendable {
    private let first: SigningChain.Authority
    /// The beginning of the first intermediate.
    private let begin: Timestamp
    private let lifetimeMilliseconds: Int64
    /// From the beginning of one to that of the next; `nil`: the first one issues all leaves.
    private let stepMilliseconds: Int64?
    private let made: Mutex<[Int64: SigningChain.Authority]>

    /// Begins with the intermediate of the start.
    ///
    /// `days`: how long an intermediate lasts, at least twice `leafDays`; `nil` for as long as the
    /// root.
    init(
        first: SigningChain.Authority, start: Timestamp, days: Int64?, leafDays: Int64
    ) {
        self.first = first
        let lifetime = (days ?? 0) * CivilCalendar.millisecondsPerDay
        begin = SigningChain.Authority.firstBegins(before: start, days: days ?? 0)
        lifetimeMilliseconds = lifetime
        // A leaf that the old one issues last ends before it.
        let leafLifetime = leafDays * CivilCalendar.millisecondsPerDay
        stepMilliseconds = days.map { _ in max(lifetime - leafLifetime, lifetime / 2) }
        made = Mutex([0: first])
    }

    /// The authority that issues a leaf which begins at a moment.
    func authority(at moment: Timestamp) throws -> SigningChain.Authority {
        guard let stepMilliseconds else { return first }
        let elapsed = moment.milliseconds(since: begin)
        let number =
            elapsed >= 0 ? elapsed / stepMilliseconds : (elapsed + 1) / stepMilliseconds - 1
        if let authority = made.withLock({ $0[number] }) { return authority }
        let from = begin.adding(milliseconds: number * stepMilliseconds)
        let authority = try first.successor(
            number, from: from, to: from.adding(milliseconds: lifetimeMilliseconds))
        return made.withLock { made in
            // Another request may have been faster; all leaves must have the same issuer.
            if let other = made[number] { return other }
            made[number] = authority
            return authority
        }
    }

    /// Every authority that was needed so far.
    var all: [SigningChain.Authority] { made.withLock { Array($0.values) } }
}
