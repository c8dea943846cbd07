import Subscriptions

/// An old subscription in billing retry is not inserted next to a newer one that gives access.
///
/// Apple tries to charge for the old one for up to 60 days. A row inserted for it now would be the
/// customer's newest row, and a service that uses the newest row would lose the subscription that
/// the customer pays for.
struct DisplacementVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        guard reading.newerEntitling(than: stated) != nil else { return nil }
        return "old subscription in billing retry next to a newer one"
    }
}

/// Nothing is inserted for an Apple Account whose rows name different customers, or of which a row
/// has another account's token: the owner of the new row would be unknown.
struct DisputedCustomerVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        if reading.customers.count > 1 { return "rows of this account name different customers" }
        if reading.holdsForeignRow { return "a row of this account has another account's token" }
        return nil
    }
}

/// A subscription is not inserted for a customer when its signed account token belongs to another
/// account.
///
/// One Apple Account may pay for several accounts of the company. The customer's tokens are those
/// of our rows of the answer, and those that Apple signed for these rows. Tokens are UUIDs,
/// compared without regard to case; an absent token is not an objection.
struct ForeignTokenVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        guard let token = stated.transaction.appAccountToken?.lowercased() else { return nil }
        let known = reading.accountTokens
        guard !known.isEmpty, !known.contains(token) else { return nil }
        return "the signed account token names another account than the customer's rows"
    }
}

/// Nothing is inserted into a table of the company's whose mapping does not allow it.
struct InsertVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        reading.context.policy.kept.takesInserts
            ? nil : "store.subscriptions.insert does not allow rows to be inserted"
    }
}

/// A subscription is not inserted while a row of it is under another app, which a run for some apps
/// alone does not read: there would be two rows for one subscription.
///
/// A run that reads every row finds `wrong_app` there instead.
struct OtherAppVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        reading.context.item.underOtherApps[stated.originalTransactionID].map {
            "a row of it is stored under \($0.bundleID) (\($0.environment)); correct the app of that row"
        }
    }
}

/// A subscription is not inserted while a row is stored under the id of one of its later
/// transactions, or under its id before a migration: there would be two rows for one subscription.
///
/// A status answer does not show such a row's id. An earlier run may have found it; otherwise
/// Apple's complete history of the customer says it. While that cannot be read, the insert waits.
struct AliasRowVeto: WriteVeto {
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String? {
        let item = reading.context.item
        if item.aliasRows[stated.originalTransactionID]?.isEmpty == false {
            return VetoCause.aliasRow
        }
        switch item.history {
        case .complete, nil: return nil
        case .since, .incomplete:
            return "it is not known whether a row is stored under one of its later transaction ids"
        }
    }
}
