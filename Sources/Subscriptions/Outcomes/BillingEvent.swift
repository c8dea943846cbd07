/// What a correction means to billing, in the words that billing people use.
///
/// The names are read by other software: they stay; new ones may be added.
package enum BillingEvent: String, Hashable, Sendable, CaseIterable {
    /// A subscription that was not held and entitles its customer.
    case initialPurchase = "initial_purchase"
    /// Paid for on, or paid again: the customer may go on using it.
    case renewal
    /// It will not renew; until then nothing changes for the customer.
    case cancellation
    /// It will renew after all.
    case uncancellation
    /// Apple could not collect the money: billing retry or grace period.
    case billingIssue = "billing_issue"
    /// It ended.
    case expiration
    /// Another product, at once or from the next period on.
    case productChange = "product_change"
    /// Apple gave the money back, or took the sharing back.
    case refund
    case refundReversed = "refund_reversed"
    /// It belongs to somebody else than was held: shared against purchased, or another customer.
    case transfer
    /// Corrected in a way that has no name of its own.
    case correction
    /// A row or a period that was not known yet was filled in; nothing had been missed.
    case firstFill = "first_fill"

    /// What is told unless the settings say otherwise: everything that mends something.
    ///
    /// A backfill fills in every row there is, and none of that is news.
    package static let toldByDefault = Set(allCases).subtracting([.firstFill])
}
