import Subscriptions

extension AllRules {
    /// `purchase_refund_missed`: a refund of a one-time purchase, or its reversal, is not recorded.
    ///
    /// High where one side states a refund and the other none; medium where both state another one.
    static let purchaseRefundMissed = PurchaseRule("PurchaseRefundMissedRule") { comparison in
        guard let stored = comparison.stored, comparison.isComparable,
            let field = comparison.refundDifferences.first
        else { return nil }
        let signed = comparison.signed
        let (severity, cause, direction): (Severity, String, Direction) =
            switch (stored.revocationDate, signed.revocationDate) {
            case (nil, .some): (.high, "refund not recorded", .companyLoses)
            case (.some, nil): (.high, "the refund was reversed", .customerLoses)
            default: (.medium, "another refund", .neutral)
            }
        var finding = comparison.finding(.purchaseRefundMissed, severity, cause: cause)
        finding.field = field.rawValue
        finding.localValue = stored.value(of: field)
        finding.appleValue = signed.value(of: field)
        finding.changedAt = signed.revocationDate
        finding.direction = direction
        return Difference(finding, payload: signed.evidence).stating(priceOf: signed)
    }
}
