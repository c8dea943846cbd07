import AppStoreSimulation
import Foundation
import Testing

/// What each type and subtype says, in a world of many customers over half a year, against the signed
/// payloads inside.
///
/// Facts: App Store Server Notifications, `notificationType`, `subtype` and the state machine.
@Suite struct `A notification agrees with its payloads` {
    /// Types that concern a subscription's renewal, with what must hold of status, transaction and
    /// renewal info.
    private static func problem(of told: ReadNotification) -> String? {
        let renewal = told.renewal
        let transaction = told.transaction
        func number(_ name: String) -> Int64? {
            (renewal[name] as? NSNumber)?.int64Value
        }
        let renews = number("autoRenewStatus")
        let intent = number("expirationIntent")
        let retries = renewal["isInBillingRetryPeriod"] as? Bool ?? false
        let graceEnd = number("gracePeriodExpiresDate")
        let next = renewal["autoRenewProductId"] as? String
        let product = transaction["productId"] as? String
        let isRevoked = transaction["revocationDate"] != nil
        func when(_ holds: Bool, _ text: String) -> String? { holds ? nil : text }
        switch told.name {
        case "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED":
            return when(renews == 1, "autoRenewStatus is \(renews ?? -1)")
        case "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED":
            return when(renews == 0, "autoRenewStatus is \(renews ?? -1)")
        case "DID_CHANGE_RENEWAL_PREF/DOWNGRADE":
            return when(next != product, "the next product is the present one, \(next ?? "")")
        case "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF/UPGRADE",
            "OFFER_REDEEMED/UPGRADE":
            return when(next == product, "the next product is \(next ?? "")")
        case "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE":
            return when(
                told.status == 1 && renews == 1 && !retries && !isRevoked, "it does not go on")
        case "DID_RENEW", "DID_RENEW/BILLING_RECOVERY":
            return when(
                told.status == 1 && !retries && graceEnd == nil && !isRevoked, "it is not paid")
        case "DID_FAIL_TO_RENEW/GRACE_PERIOD":
            return when(
                told.status == 4 && retries && intent == 2
                    && graceEnd.map { $0 > told.signedDate } ?? false, "it has no grace period")
        case "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED":
            return when(
                told.status == 3 && retries && intent == 2 && graceEnd == nil, "it is not retried")
        case "EXPIRED/VOLUNTARY": return expiry(1)
        case "EXPIRED/BILLING_RETRY": return expiry(2)
        case "EXPIRED/PRICE_INCREASE": return expiry(3)
        case "EXPIRED/PRODUCT_NOT_FOR_SALE": return expiry(4)
        case "EXPIRED": return expiry(5)
        case "PRICE_INCREASE/PENDING":
            return when(number("priceIncreaseStatus") == 0, "consent is not pending")
        case "PRICE_INCREASE/ACCEPTED":
            return when(number("priceIncreaseStatus") == 1, "consent is not given")
        case "REFUND": return when(isRevoked, "the transaction is not revoked")
        case "REFUND_REVERSED": return when(!isRevoked, "the transaction is revoked")
        case "REVOKE":
            return when(
                isRevoked && transaction["inAppOwnershipType"] as? String == "FAMILY_SHARED",
                "no sharing was revoked")
        case "OFFER_REDEEMED":
            return when(renewal["offerType"] != nil, "the next period has no offer")
        case "RENEWAL_EXTENDED":
            return when(
                number("renewalDate") == (transaction["expiresDate"] as? NSNumber)?.int64Value,
                "the renewal date is not the extended end")
        default: return nil
        }

        func expiry(_ meant: Int64) -> String? {
            when(
                told.status == 2 && intent == meant && renews == 0 && !retries,
                "status \(told.status ?? -1), intent \(intent ?? -1), renews \(renews ?? -1)")
        }
    }

    @Test func `over a long world, for each type and subtype`() throws {
        let client = try SimulatorClient(customers: 1500, seed: 7)
        var counts: [String: Int] = [:]
        var wrong: [String: (count: Int, text: String)] = [:]
        for _ in 0..<2 {
            for told in try client.notifications() {
                counts[told.name, default: 0] += 1
                if let problem = Self.problem(of: told) {
                    wrong[told.name] = ((wrong[told.name]?.count ?? 0) + 1, problem)
                }
            }
            try client.advance(["days": 170])
        }
        #expect(wrong.isEmpty, "\(wrong)")
        for name in [
            "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
            "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
            "DID_CHANGE_RENEWAL_PREF/UPGRADE", "EXPIRED/VOLUNTARY", "EXPIRED/BILLING_RETRY",
            "DID_FAIL_TO_RENEW/GRACE_PERIOD", "REFUND", "REVOKE",
        ] { #expect(counts[name, default: 0] > 0, "\(name) in \(counts)") }
    }

    @Test func `of a commitment once its last payment has begun`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life: [{at: -340d, buy: storage.commitment}, {at: -300d, cancel: true}]
                  - name: bert
                    life:
                      - {at: -340d, buy: storage.commitment}
                      - {at: -300d, downgrade: storage.small.monthly}
                """)
        for (name, type) in [
            ("anna", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"),
            ("bert", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE"),
        ] {
            let told = try client.notifications(of: try client.id(name)).filter { $0.name == type }
            #expect(told.count == 1, "\(name)")
            #expect(told.allSatisfy { Self.problem(of: $0) == nil }, "\(name)")
            let payment =
                (told.first?.transaction["commitmentInfo"] as? [String: Any])?[
                    "billingPeriodNumber"] as? Int
            #expect(payment == 12, "\(name)")
        }
    }
}
