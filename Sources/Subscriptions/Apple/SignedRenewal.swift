/// The contents of a verified `JWSRenewalInfoDecodedPayload`; only a verifier creates one.
package struct SignedRenewal: Hashable, Sendable {
    package var evidence: SignedPayload
    package var originalTransactionID: String
    package var environment: String?
    package var productID: String?
    package var autoRenewProductID: String?
    /// 0 off, 1 on.
    package var autoRenewStatus: Int?
    package var renewalDate: Timestamp?
    package var isInBillingRetryPeriod: Bool?
    package var gracePeriodExpiresDate: Timestamp?
    package var expirationIntent: Int?
    package var appAccountToken: String?
    package var signedDate: Timestamp
    package var unknowns: [UnknownValue]

    package init(evidence: SignedPayload, originalTransactionID: String, signedDate: Timestamp) {
        self.evidence = evidence
        self.originalTransactionID = originalTransactionID
        self.signedDate = signedDate
        self.unknowns = []
    }
}

extension SignedRenewal {
    /// The auto-renew status where it is known (0 or 1); other values are never written to a row.
    package var knownAutoRenewStatus: Int? {
        autoRenewStatus.flatMap { (0...1).contains($0) ? $0 : nil }
    }
}
