import Subscriptions

/// The vetoes that prevent the insert of a subscription that is missing, for reasons in the
/// customer's whole answer.
///
/// The finding stays, with the action `refused` and the veto's text as its cause, for a person to
/// decide.
extension CustomerReading {
    /// Returns why a missing subscription is not inserted; `nil` when no veto objects.
    func veto(onInsertOf stated: StatedSubscription) -> String? {
        foreignTokenVeto(stated) ?? disputedCustomerVeto ?? aliasRowVeto(stated)
            ?? displacementVeto(stated) ?? otherAppVeto(stated) ?? insertVeto
    }

    /// A subscription is not inserted for a customer when its signed account token belongs to
    /// another account.
    ///
    /// One Apple Account may pay for several accounts of the company. The customer's tokens are those
    /// of our rows of the answer, and those that Apple signed for these rows. Tokens are UUIDs,
    /// compared without regard to case; an absent token is not an objection.
    private func foreignTokenVeto(_ stated: StatedSubscription) -> String? {
        guard let token = stated.transaction.appAccountToken?.lowercased() else { return nil }
        let known = accountTokens
        guard !known.isEmpty, !known.contains(token) else { return nil }
        return "the signed account token names another account than the customer's rows"
    }

    /// Nothing is inserted for an Apple Account whose rows name different customers, or of which a
    /// row has another account's token: the owner of the new row would be unknown.
    private var disputedCustomerVeto: String? {
        if customers.count > 1 { return "rows of this account name different customers" }
        if holdsForeignRow { return "a row of this account has another account's token" }
        return nil
    }

    /// A subscription is not inserted while a row is stored under the id of one of its later
    /// transactions, or under its id before a migration: there would be two rows for one subscription.
    ///
    /// A status answer does not show such a row's id. An earlier run may have found it; otherwise
    /// Apple's complete history of the customer says it. While that cannot be read, the insert waits.
    private func aliasRowVeto(_ stated: StatedSubscription) -> String? {
        if context.item.aliasRows[stated.originalTransactionID]?.isEmpty == false {
            return Finding.causeAliasRow
        }
        switch context.item.history {
        case .complete, nil: return nil
        case .since, .incomplete: return Self.vetoOfUnreadHistory
        }
    }

    /// The reason why the insert waits for the history.
    static let vetoOfUnreadHistory =
        "it is not known whether a row is stored under one of its later transaction ids"

    /// An old subscription in billing retry is not inserted next to a newer one that gives access.
    ///
    /// Apple tries to charge for the old one for up to 60 days. A row inserted for it now would be the
    /// customer's newest row, and a service that uses the newest row would lose the subscription that
    /// the customer pays for.
    private func displacementVeto(_ stated: StatedSubscription) -> String? {
        newerEntitling(than: stated).map { _ in
            "old subscription in billing retry next to a newer one"
        }
    }

    /// A subscription is not inserted while a row of it is under another app, which a run for some
    /// apps alone does not read: there would be two rows for one subscription.
    ///
    /// A run that reads every row finds `wrong_app` there instead.
    private func otherAppVeto(_ stated: StatedSubscription) -> String? {
        context.item.underOtherApps[stated.originalTransactionID].map {
            "a row of it is stored under \($0.bundleID) (\($0.environment)); correct the app of that row"
        }
    }

    /// Nothing is inserted into a table of the company's whose mapping does not allow it.
    private var insertVeto: String? {
        context.policy.kept.takesInserts
            ? nil : "store.subscriptions.insert does not allow rows to be inserted"
    }
}
