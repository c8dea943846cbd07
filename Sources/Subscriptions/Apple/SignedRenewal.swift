/// The verified contents of a `JWSRenewalInfoDecodedPayload`; only a verifier makes one.
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
    /// Whether it renews, where it states 0 or 1; another value is kept out of the company's row.
    package var knownAutoRenewStatus: Int? {
        autoRenewStatus.flatMap { (0...1).contains($0) ? $0 : nil }
    }
}
