import Subscriptions
import Testing

@Suite struct `A subscription key` {
    private func key(_ bundle: String, _ environment: String, _ id: String) -> SubscriptionKey {
        SubscriptionKey(bundleID: bundle, environment: environment, originalTransactionID: id)
    }

    @Test func `orders by bundle, then environment, then id`() {
        let sorted = [
            key("a", "Production", "9"), key("a", "Sandbox", "1"), key("b", "Production", "1"),
            key("b", "Production", "10"), key("b", "Production", "9"),
        ]
        #expect(sorted.shuffled().sorted() == sorted)
        #expect(!(sorted[0] < sorted[0]))
    }

    @Test func `orders by bytes, as the database does`() {
        let sorted = ["", "1", "Z", "a", "e\u{301}", "z", "é", "\u{FF21}", "🙂"].map {
            key("a", "Production", $0)
        }
        #expect(sorted.shuffled().sorted() == sorted)
    }

    @Test func `tells apart what only looks the same`() {
        let (composed, decomposed) = (key("a", "b", "\u{E9}"), key("a", "b", "e\u{301}"))
        #expect(composed != decomposed)
        #expect(decomposed < composed)
        #expect(Set([composed, decomposed]).count == 2)
        // The sign of the kelvin is equivalent to a letter in ASCII.
        #expect("\u{212A}" == "K")
        #expect(key("a", "b", "\u{212A}") != key("a", "b", "K"))
    }

    @Test func `takes app and environment from an app`() {
        let app = AppIdentity(bundleID: "com.example", environment: .sandbox)
        #expect(
            SubscriptionKey(app: app, originalTransactionID: "1")
                == key("com.example", "Sandbox", "1"))
    }
}
