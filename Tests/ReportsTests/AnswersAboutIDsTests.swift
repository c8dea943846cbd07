import Subscriptions
import Testing

@testable import Reports

@Suite struct `What the page says where no id is missing at Apple` {
    private func said(_ calls: [(endpoint: String, result: String)]) -> String {
        var summary = Samples.summary()
        summary.conclusion.calls = calls.map {
            CallCount(endpoint: $0.endpoint, result: $0.result, calls: 3)
        }
        return summary.answersAboutIDs
    }

    @Test func `of a night without an answer claims nothing`() {
        #expect(
            said([("subscription_statuses", "server_error"), ("notification_history", "ok")])
                == "Apple answered no question about an id, so nothing is known of them.")
    }

    @Test func `of a night without a question says that`() {
        #expect(said([("notification_history", "ok")]) == "Apple was asked for no id.")
        #expect(said([]) == "Apple was asked for no id.")
    }

    @Test func `speaks of the ids that were answered`() {
        #expect(
            said([("subscription_statuses", "server_error"), ("subscription_statuses", "ok")])
                == "Apple found every id that it answered about.")
    }
}
