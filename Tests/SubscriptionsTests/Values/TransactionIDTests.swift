import Subscriptions
import Testing

@Suite struct `A transaction id` {
    @Test(arguments: ["0", "7", "2000000123456789", "18446744073709551615", "00123"])
    func `takes plain decimal numbers as they are`(text: String) {
        #expect(TransactionID(text)?.text == text)
        #expect(TransactionID(text)?.description == text)
    }

    @Test(arguments: [
        "", " ", "-1", "+1", "1.0", "2.00000012E+15", "2E15", "12 34", "12\n", "12\u{0}", "１２",
        "٣", "12/34", "12?x", "%31", "🙂", "123456789012345678901",
        String(repeating: "9", count: 100_000),
    ])
    func `refuses everything else`(text: String) {
        #expect(TransactionID(text) == nil)
    }
}
