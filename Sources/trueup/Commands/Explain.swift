package import ArgumentParser
import SubscriptionStore
package import Subscriptions

/// `trueup explain ID`: everything that is known about one subscription.
package struct Explain: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Show one subscription: both sides, what happened in order, what would be asked.",
        discussion: """
            Reads the database and changes nothing. The id is the original transaction id, or the \
            customer_id of rows; every subscription, app and environment that has it is shown. An id \
            of which nothing is known ends with 65.
            """)

    /// The newest runs that are told of.
    private static let nights = 14

    @Argument(
        help: ArgumentHelp(
            "The original transaction id, or a customer_id.", valueName: "id"))
    package var id: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "As if it were this time (RFC 3339; only with a loopback endpoint).",
            valueName: "time"))
    package var now: TimeOption?

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let now = try invocation.clock(startingAt: now, settings: settings)()
        let store = try Books(settings).openToRead(at: invocation.now())
        let explanations = try store.explanations(
            of: id, apps: settings.identities, nights: Self.nights)
        guard !explanations.isEmpty else {
            throw CommandFailure(
                .data,
                "nothing is known of \(PlainText.of(id)): no row, check, finding, correction or "
                    + "notification has this original transaction id, and no row or finding this "
                    + "customer_id. The id of a renewal is another one.")
        }
        let isCustomer = !explanations.contains { $0.key.originalTransactionID == id }
        guard common.json else {
            let texts = explanations.map { ExplainReport($0, at: now).text }
            try invocation.show(text: texts.joined(separator: "\n\n"))
            return .ok
        }
        try invocation.show(
            json: CanonicalJSON.object([
                "customer_id": isCustomer ? .string(id) : .null,
                "original_transaction_id": isCustomer ? .null : .string(id),
                "subscriptions": .array(explanations.map { $0.json(at: now) }),
            ]))
        return .ok
    }
}
