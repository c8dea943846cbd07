import Subscriptions

/// An export of transactions as RevenueCat's scheduled data export describes it (version 5), of all
/// subscriptions of a world, with planted differences.
///
/// It was written from RevenueCat's public description and shares nothing with the reader that it tests.
struct RevenueCatExport {
    /// Every so many subscriptions have a difference.
    private static let subscriptionsPerDifference = 20

    private static let header = [
        "rc_original_app_user_id", "rc_last_seen_app_user_id_alias", "country", "country_source",
        "product_identifier", "product_display_name", "product_duration", "start_time", "end_time",
        "grace_period_end_time", "effective_end_time", "store", "is_auto_renewable",
        "is_trial_period", "is_in_intro_offer_period", "is_sandbox", "price_in_usd",
        "purchase_price_in_usd", "takehome_percentage", "tax_percentage", "commission_percentage",
        "store_transaction_id", "original_store_transaction_id", "refunded_at",
        "unsubscribe_detected_at", "billing_issues_detected_at", "purchased_currency",
        "price_in_purchased_currency", "purchase_price_in_purchased_currency",
        "entitlement_identifiers", "renewal_number", "is_trial_conversion", "presented_offering",
        "ownership_type", "reserved_subscriber_attributes", "custom_subscriber_attributes",
        "platform", "experiment_id", "experiment_variant", "updated_at", "offer", "offer_type",
        "first_seen_time", "auto_resume_time",
    ]

    private enum Plan: String, CaseIterable {
        case missing, unknown, product, period, grace
        case billingIssue = "billing_issue"
        case accessEnd = "access_end"
        case refund, renewal, ownership, environment, price, entitlement

        var kind: String { "revenuecat_" + rawValue }
    }

    /// A line by the names of its columns; what is absent is empty.
    private typealias Line = [String: String]

    private struct Planted {
        var originalTransactionID: String
        var transactionID: String
        var kind: String
    }

    /// The file's text, and what was planted as JSON.
    let text: String
    let planted: String

    init(of world: borrowing World) {
        var lines: [String] = [Self.header.joined(separator: ";")]
        var planted: [Planted] = []
        var next = 0
        var met = 0
        for index in world.chains.indices
        where world.chains[index].isSubscription && !world.chains[index].isReplaced
            && !world.chains[index].transactions.isEmpty
        {
            var own = world.chains[index].transactions.indices.map {
                Self.line(of: index, period: $0, in: world)
            }
            met += 1
            if met % Self.subscriptionsPerDifference == 0 {
                for step in 0..<Plan.allCases.count {
                    let plan = Plan.allCases[(next + step) % Plan.allCases.count]
                    guard let id = Self.plant(plan, in: &own, of: index, world) else { continue }
                    planted.append(
                        Planted(
                            originalTransactionID: world.originalTransactionID(chain: index),
                            transactionID: id, kind: plan.kind))
                    next += step + 1
                    break
                }
            }
            lines += own.map { line in
                Self.header.map { Self.field(line[$0] ?? "") }.joined(separator: ";")
            }
        }
        // A line of another store is not a difference.
        lines.append(
            Self.header.map {
                ["store": "play_store", "store_transaction_id": "GPA.1234-5678"][$0] ?? ""
            }.joined(separator: ";"))
        text = lines.joined(separator: "\n") + "\n"
        var json = JSONWriter()
        json.array { json in
            for one in planted {
                json.object { json in
                    json.field("original_transaction_id", one.originalTransactionID)
                    json.field("transaction_id", one.transactionID)
                    json.field("kind", one.kind)
                }
            }
        }
        self.planted = String(decoding: json.bytes, as: UTF8.self) + "\n"
    }

    /// Writes both files into a folder.
    func write(into folder: String) throws(SimulatorError) {
        try SimulatorFolder.makeDirectory(folder)
        try SimulatorFolder.write(
            text, to: folder + "/transactions.csv", permissions: 0o644)
        try SimulatorFolder.write(planted, to: folder + "/planted.json", permissions: 0o644)
    }

    private static func field(_ value: String) -> String {
        guard value.contains(where: { ";\"\r\n".contains($0) }) else { return value }
        return "\"" + value.replacing("\"", with: "\"\"") + "\""
    }

    /// For example `2026-11-20 03:17:04`.
    private static func time(_ time: Timestamp?) -> String {
        guard let time else { return "" }
        return String(time.rfc3339.prefix(19)).replacing("T", with: " ")
    }

    private static func amount(_ milliunits: Int64) -> String {
        let rest = String(milliunits % 1000)
        return "\(milliunits / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }

    private static func line(
        of index: Int, period: Int, in world: borrowing World
    ) -> Line {
        let chain = world.chains[index]
        let transaction = chain.transactions[period]
        let account = Int(chain.account)
        let storefront = world.accounts[account].storefront
        let isLatest = period == chain.transactions.count - 1
        let customer = CompanyTable.customer(account, in: world)
        let grace = isLatest ? chain.renewal.gracePeriodExpiresDate : nil
        let revoked = transaction.revocationDate
        var line: Line = [
            "rc_original_app_user_id": customer, "rc_last_seen_app_user_id_alias": customer,
            "country": "US", "country_source": "from_sdk",
            "product_identifier": world.catalogue.products[Int(transaction.product)].id,
            "start_time": time(transaction.purchaseDate), "end_time": time(transaction.expiresDate),
            "grace_period_end_time": time(grace),
            "effective_end_time": time(
                revoked ?? max(transaction.expiresDate, grace ?? transaction.expiresDate)),
            "store": "app_store", "is_auto_renewable": "true", "is_trial_period": "false",
            "is_in_intro_offer_period": "false", "is_sandbox": "false",
            "store_transaction_id": String(
                world.identifiers.transactionID(chain: index, period: period)),
            "original_store_transaction_id": world.originalTransactionID(chain: index),
            // A refund is dated when it is detected.
            "refunded_at": time(revoked?.adding(milliseconds: 60_000)),
            "entitlement_identifiers": "[\"premium\"]", "renewal_number": String(period + 1),
            "is_trial_conversion": "false",
            "ownership_type": chain.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED",
            "custom_subscriber_attributes": "{\"$note\": {\"value\": \"a; b\"}}",
            "platform": "iOS", "updated_at": time(transaction.modifiedDate),
            "first_seen_time": time(chain.transactions[0].purchaseDate),
        ]
        if isLatest {
            if !chain.renewsNextPeriod {
                line["unsubscribe_detected_at"] = time(transaction.modifiedDate)
            }
            if [.billingRetry, .grace].contains(chain.phase) {
                line["billing_issues_detected_at"] = time(transaction.expiresDate)
            }
        }
        if !chain.isFamilyShared, world.groups[index] == nil {
            let price = world.catalogue.price(
                of: transaction.product, storefront: storefront, offer: transaction.offer,
                increasePercent: transaction.priceIncreasePercent)
            line["purchase_price_in_purchased_currency"] = amount(price)
            line["price_in_purchased_currency"] = revoked == nil ? amount(price) : "0.000"
            line["purchased_currency"] = world.catalogue.storefronts[Int(storefront)].currency
        }
        return line
    }

    /// Makes one difference in the lines of a subscription.
    ///
    /// - Returns: The transaction that it is about; `nil` where it does not fit the subscription.
    private static func plant(
        _ plan: Plan, in lines: inout [Line], of index: Int, _ world: borrowing World
    ) -> String? {
        let chain = world.chains[index]
        let last = lines.count - 1
        guard let transaction = chain.current, world.groups[index] == nil else { return nil }
        let id = lines[last]["store_transaction_id"]
        let renews = [.active, .billingRetry, .grace].contains(chain.phase)
        func toggle(_ column: String) {
            let value = lines[last][column] ?? ""
            lines[last][column] = value.isEmpty ? time(transaction.purchaseDate) : ""
        }
        switch plan {
        case .missing: lines.removeLast()
        case .unknown:
            var line = lines[0]
            let unknown = String(8_800_000_000_000_000 + index)
            line["store_transaction_id"] = unknown
            lines.append(line)
            return unknown
        case .product: lines[last]["product_identifier", default: ""] += ".old"
        case .period:
            lines[last]["end_time"] = time(
                transaction.expiresDate.adding(milliseconds: 3 * Milliseconds.perDay))
        case .grace:
            let value = lines[last]["grace_period_end_time"] ?? ""
            lines[last]["grace_period_end_time"] =
                value.isEmpty
                ? time(transaction.expiresDate.adding(milliseconds: 6 * Milliseconds.perDay)) : ""
        case .billingIssue:
            guard renews else { return nil }
            toggle("billing_issues_detected_at")
        case .accessEnd:
            lines[last]["effective_end_time"] = time(
                transaction.purchaseDate.adding(milliseconds: -40 * Milliseconds.perDay))
        case .refund: toggle("refunded_at")
        case .renewal:
            guard renews else { return nil }
            toggle("unsubscribe_detected_at")
        case .ownership:
            lines[last]["ownership_type"] = chain.isFamilyShared ? "PURCHASED" : "FAMILY_SHARED"
        case .environment: lines[last]["is_sandbox"] = "true"
        case .price:
            guard !chain.isFamilyShared else { return nil }
            lines[last]["purchase_price_in_purchased_currency"] = "1234.560"
        case .entitlement: lines[last]["entitlement_identifiers"] = "[\"extra\",\"premium\"]"
        }
        return id
    }
}
