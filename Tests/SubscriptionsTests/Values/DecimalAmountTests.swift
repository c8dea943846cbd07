import Subscriptions
import Testing

@Suite struct `A decimal amount` {
    @Test(arguments: [
        (39_960, "BRL", "39.96"), (2_697_000, "JPY", "2697"), (10_990, "EUR", "10.99"),
        (1_250, "KWD", "1.250"), (1_000, "KWD", "1.000"), (500, "USD", "0.50"), (0, "JPY", "0"),
        (-4_990, "USD", "-4.99"), (9_000, "XYZ", "9.00"),
    ])
    func `has as many decimals as its currency`(milliunits: Int64, currency: String, text: String) {
        let amount = DecimalAmount(milliunits: milliunits, currency: currency)
        #expect(amount.plainText == text)
    }

    @Test(arguments: [
        (10_995, "EUR", "11.00"), (1_499, "JPY", "1"), (-1_500, "JPY", "-2"), (1, "EUR", "0.00"),
    ])
    func `is rounded to the currency's smallest unit`(
        milliunits: Int64, currency: String, text: String
    ) {
        let amount = DecimalAmount(milliunits: milliunits, currency: currency)
        #expect(amount.plainText == text)
        // What is shown, as a number, is shown alike.
        let shown = DecimalAmount(milliunits: amount.milliunits, currency: currency)
        #expect(shown.plainText == text && shown.milliunits == amount.milliunits)
    }

    @Test func `is shown at the ends of what a number can hold`() {
        #expect(
            DecimalAmount(milliunits: .min, currency: "EUR").plainText == "-9223372036854775.81")
        #expect(DecimalAmount(milliunits: .max, currency: nil).plainText == "9223372036854775.81")
    }
}
