import JSONWebSignature
import Subscriptions

/// What a member of a payload means to a person, beside the raw value.
///
/// Source: App Store Server API, data models.
enum FieldMeaning {
    private static let numbers: [String: [Int64: String]] = [
        "status": [
            1: "active", 2: "expired", 3: "billing retry", 4: "billing grace period", 5: "revoked",
        ],
        "autoRenewStatus": [0: "off", 1: "on"],
        "commitmentAutoRenewStatus": [0: "off", 1: "on"],
        "expirationIntent": [
            1: "the customer cancelled", 2: "billing error", 3: "no consent to a price increase",
            4: "the product was not available", 5: "another reason",
        ],
        "priceIncreaseStatus": [
            0: "not answered", 1: "consented, or told where no consent is needed",
        ],
        "offerType": [
            1: "introductory offer", 2: "promotional offer", 3: "offer code", 4: "win-back offer",
        ],
        "revocationReason": [0: "another reason", 1: "an issue in the app"],
    ]

    private static let money: Set<String> = [
        "price", "renewalPrice", "commitmentPrice", "commitmentRenewalPrice",
    ]

    /// - Parameters:
    ///   - name: The member's name.
    ///   - value: Its value.
    ///   - currency: The ISO 4217 code that the payload names.
    /// - Returns: A few words; `nil` when the value says all there is.
    static func of(_ name: String, _ value: JSONValue, currency: String?) -> String? {
        if name.hasSuffix("Date"), let milliseconds = value.integerRoundedDown {
            return Timestamp(unixMilliseconds: milliseconds).rfc3339
        }
        guard let number = value.integer else { return nil }
        if let meaning = numbers[name]?[number] { return meaning }
        if money.contains(name) {
            return DecimalAmount(milliunits: number, currency: currency).plainText
                + (currency.map { " " + PlainText.of($0) } ?? "")
        }
        if name == "revocationPercentage" {
            return DecimalAmount(milliunits: number, currency: nil).plainText + " %"
        }
        return nil
    }

    /// Whether it is a code of an enumeration that this version does not know.
    static func isUnknownCode(_ name: String, _ value: JSONValue) -> Bool {
        guard let meanings = numbers[name], let number = value.integer else { return false }
        return meanings[number] == nil
    }
}
