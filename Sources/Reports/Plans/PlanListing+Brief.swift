import Subscriptions

extension PlanListing {
    /// About two lines of the summary.
    private static let mostCharacters = 165

    /// What says most of a row that is inserted or deleted, in this order.
    private static let telling = [
        "product_id", "status", "expires_date", "grace_period_expires_date", "revocation_date",
        "purchase_date",
    ]

    /// The same as `line`, with as many columns as two lines of the summary hold.
    ///
    /// - Parameters:
    ///   - correction: What is planned.
    ///   - fate: What became of it; said unless it is still planned.
    /// - Returns: One line, safe on a terminal.
    static func brief(of correction: PlannedCorrection, fate: CorrectionFate) -> String {
        let named = correction.changes.named
        var shown = named
        if correction.action == .update {
            // That Apple signed it later is true of every change.
            let others = named.filter { $0.column != "signed_date" }
            if !others.isEmpty { shown = others }
            // What the correction is for, before what is written with it.
            var reasons: [String] = []
            for column in correction.kinds.flatMap(\.columns)
            where !reasons.contains(column.rawValue) {
                reasons.append(column.rawValue)
            }
            shown =
                reasons.compactMap { reason in shown.first { $0.column == reason } }
                + shown.filter { !reasons.contains($0.column) }
        } else {
            let chosen = telling.compactMap { column in named.first { $0.column == column } }
            if !chosen.isEmpty { shown = chosen }
        }
        var room = mostCharacters - line(of: correction, fate: fate, telling: []).count
        var told: [String] = []
        for change in shown {
            let words = words(of: change, in: correction)
            room -= words.count + 2
            guard told.isEmpty || room >= 0 else { break }
            told.append(words)
        }
        let more = named.count - told.count
        if more > 0 { told.append(more.of("more column")) }
        return line(of: correction, fate: fate, telling: told)
    }
}

extension FindingKind {
    /// The columns of a row that findings of this kind are about.
    fileprivate var columns: [SubscriptionField] {
        switch self {
        case .accessMissing, .accessUnpaid, .status, .refundReversalMissed, .revocationMissed:
            [.status]
        case .graceMissed: [.status, .gracePeriodExpiresDate]
        case .expiry: [.expiresDate]
        case .product: [.productID]
        case .renewalPreference: [.autoRenewStatus, .autoRenewProductID]
        case .revocationDate: [.revocationDate]
        case .latestTransaction: [.latestTransactionID, .webOrderLineItemID]
        case .ownership: [.inAppOwnershipType]
        case .identity: [.appAccountToken]
        default: []
        }
    }
}
