import Subscriptions

extension AllRules {
    /// `identity`: the signed transaction names another `appAccountToken` than the row.
    ///
    /// The customer may have another's subscription: critical, never corrected, and nothing else of the
    /// row is written. Tokens are UUIDs, compared without regard to case; an absent token on either
    /// side is not a difference.
    static let identity = RowRule("IdentityRule") { comparison in
        guard let ours = comparison.row.appAccountToken,
            let theirs = comparison.stated.transaction.appAccountToken,
            ours.lowercased() != theirs.lowercased()
        else { return [] }
        return [
            comparison.difference(
                .identity, .critical, in: .appAccountToken,
                cause: "another account's subscription", isCorrected: false)
        ]
    }
}
