import Subscriptions
import Testing

@testable import ReportAudit

/// The auditor names the columns by itself, so that an error in the list that drives the corrections
/// shows; it must not forget one.
@Suite struct `The auditor's columns` {
    private func values() -> StatedValues {
        func evidence(_ digit: Character) -> SignedPayload {
            SignedPayload(
                digest: EvidenceDigest(hexadecimal: String(repeating: digit, count: 64)), jws: "")
        }
        let signed = Timestamp(unixMilliseconds: 1_790_000_000_000)
        return StatedValues(
            transaction: SignedTransaction(
                evidence: evidence("a"), transactionID: "2", originalTransactionID: "1",
                signedDate: signed),
            renewal: SignedRenewal(
                evidence: evidence("b"), originalTransactionID: "1", signedDate: signed))
    }

    @Test func `are all that Apple signs of a subscription`() {
        let values = values()
        for field in SubscriptionField.allCases {
            // The status is not signed, the customer and what is paid elsewhere are the company's.
            let isSigned = ![.status, .customerID, .paidElsewhereUntil].contains(field)
            #expect(
                (values.subscriptionValue(of: field.rawValue) != nil) == isSigned,
                "\(field.rawValue)")
        }
        #expect(values.subscriptionValue(of: "offer") == nil)
    }

    @Test func `are all of a period's`() {
        let values = values()
        for field in TransactionField.ofPeriods {
            #expect(values.periodValue(of: field.rawValue) != nil, "\(field.rawValue)")
        }
    }
}
