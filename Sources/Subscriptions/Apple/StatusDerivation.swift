/// The signed fields that a subscription's status follows from.
///
/// Apple signs no status: its number stands beside the two payloads. What it means stands in them.
package struct SignedStatusFields: Hashable, Sendable {
    /// The later of the two signatures, with which the other times are compared.
    package var signedDate: Timestamp
    package var expiresDate: Timestamp?
    package var renewalDate: Timestamp?
    package var revocationDate: Timestamp?
    package var revocationType: String?
    package var isUpgraded = false
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?

    package init(signedDate: Timestamp) {
        self.signedDate = signedDate
    }
}

/// Which status the signed fields give, and by which of them.
///
/// The first that holds decides: a revocation, a grace period that goes on, a failed charge, a paid
/// time that goes on; without any of them it has expired. Source: App Store Server API, `status`,
/// and the signed fields that belong to each of its values; docs/report-files.md.
package struct StatusDerivation: Hashable, Sendable {
    package let fields: SignedStatusFields
    package let status: SubscriptionStatus
    /// Which field decides, in Apple's names.
    package let reason: String

    package init(_ fields: SignedStatusFields) {
        self.fields = fields
        (status, reason) = Self.decide(fields)
    }

    private static func decide(
        _ fields: SignedStatusFields
    ) -> (SubscriptionStatus, String) {
        // A prorated refund returns a part of the money and need not end the access.
        if fields.revocationDate != nil, fields.revocationType != "REFUND_PRORATED" {
            return (.revoked, "revocationDate is stated")
        }
        if let end = fields.gracePeriodExpiresDate, end > fields.signedDate {
            return (.billingGracePeriod, "gracePeriodExpiresDate is after signedDate")
        }
        if fields.isInBillingRetryPeriod == true {
            return (.billingRetry, "isInBillingRetryPeriod is true")
        }
        if fields.isUpgraded {
            return (.expired, "isUpgraded is true")
        }
        if let end = fields.expiresDate, end > fields.signedDate {
            return (.active, "expiresDate is after signedDate")
        }
        // An extension may move this one alone.
        if let end = fields.renewalDate, end > fields.signedDate {
            return (.active, "renewalDate is after signedDate")
        }
        return (.expired, "expiresDate is not after signedDate")
    }

    /// Why a row has this status, in one sentence with all of the fields.
    ///
    /// Where the fields allow more than one status, Apple's unsigned one decides
    /// (docs/promises.md), and the sentence says so.
    package func sentence(forStatus stated: Int64) -> String {
        let given = "\(reason) (\(values))"
        guard stated != Int64(status.rawValue) else { return "status \(stated): \(given)" }
        return "status \(stated) is Apple's unsigned word, which the signed fields do not "
            + "contradict; alone they give \(status.rawValue): \(given)"
    }

    private var values: String {
        let named: [(String, String?)] = [
            ("signedDate", fields.signedDate.rfc3339),
            ("expiresDate", fields.expiresDate?.rfc3339),
            ("renewalDate", fields.renewalDate?.rfc3339),
            ("revocationDate", fields.revocationDate?.rfc3339),
            ("revocationType", fields.revocationType),
            ("isUpgraded", String(fields.isUpgraded)),
            ("isInBillingRetryPeriod", fields.isInBillingRetryPeriod.map { String($0) }),
            ("gracePeriodExpiresDate", fields.gracePeriodExpiresDate?.rfc3339),
        ]
        return named.map { "\($0.0) \($0.1 ?? "none")" }.joined(separator: ", ")
    }

    /// The fields by Apple's names.
    package var fieldsJSON: CanonicalJSON {
        .object([
            "signedDate": .time(fields.signedDate),
            "expiresDate": .time(fields.expiresDate),
            "renewalDate": .time(fields.renewalDate),
            "revocationDate": .time(fields.revocationDate),
            "revocationType": .text(fields.revocationType),
            "isUpgraded": .boolean(fields.isUpgraded),
            "isInBillingRetryPeriod": fields.isInBillingRetryPeriod.map { .boolean($0) } ?? .null,
            "gracePeriodExpiresDate": .time(fields.gracePeriodExpiresDate),
        ])
    }
}
