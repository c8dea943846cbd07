import ArgumentParser
import SubscriptionStore
import Subscriptions

/// `trueup entitlements`: what customers may use, and until when.
struct Entitlements: Verb {
    static let configuration = CommandConfiguration(
        abstract: "List what customers may use, until when, and because of which purchase.",
        discussion: """
            It prints the table trueup_entitlements, or the table of yours that store.entitlements names: \
            your services read it too. It reads the database and makes no call to Apple. An entitlement that has ended stays listed; --active leaves it \
            out. docs/entitlements.md explains the columns and the catalogue.
            """)

    @Option(help: ArgumentHelp("Only of this customer_id.", valueName: "id"))
    var customer: String?

    @Option(help: ArgumentHelp("Only of this app.", valueName: "id"))
    var bundleID: String?

    @Option(
        help: ArgumentHelp(
            "What is active at this time, in RFC 3339 or UNIX milliseconds (default: now), by what is "
                + "known now.", valueName: "time"))
    var at: MomentOption?

    @Flag(help: "Only what is active.")
    var active = false

    @Option(
        help: ArgumentHelp(
            "Only what changed in this run or after it: an id, part of one, or latest.",
            valueName: "run"))
    var changedSince: String?

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [.ok: "listed; the list may be empty", .empty: "no row has that customer_id"])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let store = try Books(settings).openToRead(at: invocation.now())
        let moment = at?.timestamp ?? invocation.now()
        var filter = EntitlementFilter()
        filter.customerID = customer
        filter.bundleID = bundleID
        filter.activeAt = active ? moment : nil
        if let changedSince {
            filter.changedIn = try RunName(changedSince).number(settings, in: store, invocation)
        }
        warn(of: try store.entitlementState(), in: invocation)
        if let customer, try !store.knows(customer: customer) {
            invocation.say("No row has the customer_id \(customer).")
            return .empty
        }
        try store.forEachEntitlement(
            matching: filter, in: settings.company.databaseOfEntitlements()
        ) { entitlement in
            try common.show(
                entitlement.json(at: moment), [entitlement.line(at: moment)], in: invocation)
        }
        return .ok
    }

    private func warn(
        of state: (isOfCatalogue: Bool, waiting: Int), in invocation: Invocation
    ) {
        if !state.isOfCatalogue {
            invocation.say(
                "These entitlements were not worked out with the catalogue as it is now. The next run "
                    + "or import brings them up to date.")
        }
        if state.waiting > 0 {
            invocation.say(
                "Other programs changed rows of \(state.waiting.counted("customer")) since trueup's "
                    + "last run or import. The next one brings their entitlements up to date.")
        }
    }
}

extension StoredEntitlement {
    fileprivate func json(at now: Timestamp) -> CanonicalJSON {
        .object([
            "bundle_id": .string(key.bundleID), "environment": .string(key.environment),
            "customer_id": .string(key.customerID), "entitlement": .string(key.entitlement),
            "is_active": .boolean(isActive(at: now)), "expires_date": .time(expiresDate),
            "grace_period_expires_date": .time(gracePeriodExpiresDate),
            "will_renew": willRenew.map(CanonicalJSON.boolean) ?? .null,
            "product_id": .string(productID),
            "original_transaction_id": .string(originalTransactionID),
            "ownership": .text(ownership), "as_of": .time(signedDate),
        ])
    }

    fileprivate func line(at now: Timestamp) -> String {
        let isActive = isActive(at: now)
        var parts = [isActive ? "active" : "ended"]
        if let expiresDate {
            parts[0] += (isActive ? " until " : " ") + expiresDate.rfc3339
        } else {
            parts[0] += " for life"
        }
        if isActive, gracePeriodExpiresDate != nil { parts.append("billing grace period") }
        if isActive, let willRenew { parts.append(willRenew ? "renews" : "does not renew") }
        parts.append("\(productID), \(originalTransactionID)")
        return "\(key.customerID): \(key.entitlement) in \(key.bundleID) (\(key.environment)): "
            + parts.joined(separator: "; ")
    }
}
