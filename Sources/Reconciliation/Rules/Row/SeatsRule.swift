import Subscriptions

extension AllRules {
    /// `seats`: the seats that were bought for the current period, revoked ones among them, or the
    /// seats of the next period differ.
    ///
    /// One finding for each of the columns. Where the status or the period differs, other findings tell
    /// so and their corrections write the seats as well. A change of the seats never changes access.
    static let seats = RowRule("SeatsRule") { comparison in
        guard comparison.statusAgrees, !comparison.disagrees(in: .expiresDate),
            !comparison.disagrees(in: .productID)
        else { return [] }
        return causes.compactMap { field, cause in
            guard comparison.row.value(of: field) != .null, comparison.differs(in: field) else {
                return nil
            }
            return comparison.difference(.seats, .medium, in: field, cause: cause)
        }
    }

    private static let causes: [(SubscriptionField, String)] = [
        (.quantity, "added seats not recorded"),
        (.renewalQuantity, "seats of the next period not recorded"),
        (.revokedSeats, "refund of seats not recorded"),
    ]
}
