import Subscriptions

extension AllRules {
    /// `renewal_preference`: whether it renews, or as which product, differs.
    ///
    /// Both come from the renewal info; one finding for each of the two columns.
    static let renewalPreference = RowRule("RenewalPreferenceRule") { comparison in
        var differences: [Difference] = []
        if comparison.disagrees(in: .autoRenewStatus) {
            let isOff = comparison.stated.renewal.autoRenewStatus == 0
            differences.append(
                comparison.difference(
                    .renewalPreference, .medium, in: .autoRenewStatus,
                    cause: isOff ? "cancellation not recorded" : "auto-renewal not recorded"))
        }
        if comparison.disagrees(in: .autoRenewProductID) {
            differences.append(
                comparison.difference(
                    .renewalPreference, .medium, in: .autoRenewProductID,
                    cause: "next product not recorded"))
        }
        return differences
    }
}
