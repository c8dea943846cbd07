package import Subscriptions

extension AllRules {
    /// `seat_member`: the row is a member's of a group whose invitations the developer manages.
    ///
    /// Such members have no transactions: the company's own seat claims give them access, so Apple knows
    /// no subscription of theirs. The company marks their rows with `SEAT_MEMBER` in
    /// `in_app_ownership_type`. They are excluded: Apple is not asked, nothing is written, and what earlier
    /// runs found about them is over. Source: App Store Server API 1.23, `invitationManagement`.
    static let seatMember = Rule<LocalSubscription, [Difference]>("SeatMemberRule") { row in
        guard row.isSeatMember else { return [] }
        return [
            Difference(
                .seatMember, .info, of: row, in: .inAppOwnershipType,
                cause: "seat of a group that the developer manages")
        ]
    }
}

extension LocalSubscription {
    /// Whether the company marks the row as a member's.
    var isSeatMember: Bool { inAppOwnershipType == "SEAT_MEMBER" }
}

/// The outcome of a row about which Apple is not asked.
package func outcome(
    ofExcluded row: LocalSubscription, because reason: ExclusionReason, policy: Policy
) -> RowOutcome {
    OutcomeDraft(excluding: row, because: reason).outcome(policy: policy)
}

extension OutcomeDraft {
    /// The draft of a row that is excluded.
    init(excluding row: LocalSubscription, because reason: ExclusionReason) {
        self.init(key: row.key)
        self.row = row
        verdict = .excluded(reason)
        add(AllRules.seatMember.find(row))
    }
}
