import Subscriptions

extension AllRules {
    /// `contradiction`: Apple's unsigned status contradicts the signed payloads next to it.
    ///
    /// Only TLS protects the status; the payloads are signed. Where both cannot be true it is unknown
    /// which one is, so the row is undecided and nothing is written. Only clear cases count, because
    /// Apple's data has harmless inconsistencies: see `StatedSubscription.contradiction`. A statement
    /// that is signed more than a day after the run's clock is one as well: stored, it would count as
    /// newer than everything that Apple says later.
    static let contradiction = DoubtRule("ContradictionRule", version: 2) { comparison, policy in
        let isAhead = comparison.stated.signedDate.isAhead(of: policy.now)
        guard
            let reason = isAhead
                ? "signed later than the run's clock" : comparison.stated.contradiction
        else { return nil }
        let difference = comparison.difference(
            .contradiction, .medium, in: .status, cause: reason, isCorrected: false)
        return .undecided(.contradiction, [difference])
    }
}
