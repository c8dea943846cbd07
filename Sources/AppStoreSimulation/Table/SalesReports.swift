import Subscriptions

/// Sales reports as App Store Connect's pages describe them (version 1_3), of the last full days of a
/// world in Pacific time, with planted differences.
///
/// They were written from Apple's public description and share nothing with the reader that they test.
struct SalesReports {
    private static let reportedDays: Int64 = 3
    private static let firstAppleID: Int64 = 6_400_000_001

    private struct Planted {
        var kind: String
        var productID: String
        var day: String
        var field: String
    }

    /// Files by their names.
    private(set) var files: [(name: String, text: String)] = []

    /// The three reports by the names that Apple's API gives them.
    enum Kind: String, CaseIterable {
        case subscription = "SUBSCRIPTION"
        case event = "SUBSCRIPTION_EVENT"
        case subscriber = "SUBSCRIBER"

        func fileName(_ date: String, vendor: String) -> String {
            let prefix =
                switch self {
                case .subscription: "Subscription"
                case .event: "Subscription_Event"
                case .subscriber: "Subscriber"
                }
            return "\(prefix)_\(vendor)_\(date.replacing("-", with: "")).txt"
        }
    }

    init(of world: borrowing World, vendor: String) {
        var planted: [Planted] = []
        let newest = Self.newestDay(at: world.now)
        for day in newest - Self.reportedDays + 1...newest {
            let (book, differences) = Self.book(ofDay: day, world)
            planted += differences
            for kind in Kind.allCases {
                files.append(
                    (kind.fileName(Self.date(day), vendor: vendor), book.text(kind, world)))
            }
        }
        files.append(("products.yaml", Self.mapping(world)))
        var json = JSONWriter()
        json.array { json in
            for one in planted {
                json.object { json in
                    json.field("kind", one.kind)
                    json.field("product_id", one.productID)
                    json.field("day", one.day)
                    json.field("field", one.field)
                }
            }
        }
        files.append(("planted.json", String(decoding: json.bytes, as: UTF8.self) + "\n"))
    }

    /// Writes all files into a folder.
    func write(into folder: String) throws(SimulatorError) {
        try SimulatorFolder.makeDirectory(folder)
        for file in files {
            try SimulatorFolder.write(
                file.text, to: folder + "/" + file.name, permissions: 0o644)
        }
    }

    /// One report of one day, with the planted differences of the newest; `nil` for a day without
    /// anything to report.
    static func report(_ kind: Kind, ofDay day: Int64, _ world: borrowing World) -> String? {
        let book = book(ofDay: day, world).book
        return book.hasLines(kind) ? book.text(kind, world) : nil
    }

    private static func book(
        ofDay day: Int64, _ world: borrowing World
    ) -> (book: DayBook, planted: [Planted]) {
        var book = DayBook(day: day, world)
        guard day == newestDay(at: world.now) else { return (book, []) }
        let planted = plant(in: &book, world)
        return (book, planted)
    }

    // MARK: Days

    /// The last day that is over.
    static func newestDay(at now: Timestamp) -> Int64 { pacificDay(of: now) - 1 }

    /// When App Store Connect has the reports of a day: 8 o'clock in the next morning.
    static func isPublished(_ day: Int64, at now: Timestamp) -> Bool {
        now >= midnight(day + 1).adding(milliseconds: 8 * 3_600_000)
    }

    /// The beginning of a Pacific day: daylight saving time begins on a Sunday from 8 to 14 March and
    /// ends on one from 1 to 7 November, both after midnight.
    fileprivate static func midnight(_ day: Int64) -> Timestamp {
        let date = CivilDate(daysSince1970: day)
        // 0 is Sunday.
        let weekday = (day + 4).floorDivided(by: 7).remainder
        let lastSunday = date.day - weekday
        let isSummer: Bool =
            switch date.month {
            case 4...10: true
            case 3: weekday == 0 ? date.day > 14 : lastSunday >= 8
            case 11: weekday == 0 ? date.day <= 7 : lastSunday < 1
            default: false
            }
        return Timestamp(unixMilliseconds: (day * 24 + (isSummer ? 7 : 8)) * 3_600_000)
    }

    private static func pacificDay(of moment: Timestamp) -> Int64 {
        let day = moment.unixMilliseconds.floorDivided(by: 86_400_000).quotient
        return moment < midnight(day) ? day - 1 : day
    }

    static func date(_ day: Int64) -> String {
        String(Timestamp(unixMilliseconds: day * 86_400_000).rfc3339.prefix(10))
    }

    // MARK: Products

    fileprivate static func appleID(_ product: Int) -> String {
        String(firstAppleID + Int64(product))
    }

    /// A product that is mapped and of which nothing was ever sold.
    private static func ghost(_ world: borrowing World) -> (appleID: String, productID: String) {
        (appleID(800), world.catalogue.bundleID + ".never.sold")
    }

    /// The settings of trueup that say which product is which.
    private static func mapping(_ world: borrowing World) -> String {
        var lines = ["app_store_connect:", "  products:"]
        for (index, product) in world.catalogue.products.enumerated()
        where product.kind == .autoRenewable {
            lines.append("    \(appleID(index)): \(product.id)")
        }
        let ghost = ghost(world)
        lines.append("    \(ghost.appleID): \(ghost.productID)")
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Planted differences

    private static func plant(
        in book: inout DayBook, _ world: borrowing World
    ) -> [Planted] {
        let day = date(book.day)
        let sold = book.states.sorted { left, right in
            let counts = (
                left.value.values.reduce(0, +), right.value.values.reduce(0, +)
            )
            return counts.0 != counts.1
                ? counts.0 > counts.1
                : (left.key.product, left.key.country) < (right.key.product, right.key.country)
        }.map(\.key)
        var planted: [Planted] = []
        func note(_ kind: String, _ product: Int, _ field: String) {
            planted.append(
                Planted(
                    kind: kind, productID: world.catalogue.products[product].id, day: day,
                    field: field))
        }
        let standard = "Active Standard Price Subscriptions"
        // Apple's report lacks an active subscription.
        if let place = sold.first(where: { book.states[$0]?[standard] ?? 0 > 0 }) {
            book.states[place]?[standard]? -= 1
            note("sales_active", place.product, "active_standard_price")
            // Another product has more than were ever sold.
            if let other = sold.first(where: { $0.product != place.product }) {
                book.states[other, default: [:]][standard, default: 0] += 40
                note("sales_active", other.product, "active_standard_price")
                note("sales_population", other.product, "subscriptions")
                book.events[.init(place: other, event: "Renew"), default: 0] += 3
                note("sales_event", other.product, "renewed")
            }
            book.events[.init(place: place, event: "Refund"), default: 0] += 2
            note("sales_refund", place.product, "refunded")
            book.payments.append(.init(place: place, isRefund: true))
            note("sales_refund", place.product, "refund_units")
        }
        let ghost = ghost(world)
        book.strange = [(ghost.appleID, 4), (appleID(900), 7)]
        planted.append(
            Planted(
                kind: "sales_population", productID: ghost.productID, day: day,
                field: "subscriptions"))
        return planted
    }
}

/// The numbers of one day.
private struct DayBook {
    struct Place: Hashable {
        var product: Int
        var country: String
    }

    struct Event: Hashable {
        var place: Place
        var event: String
    }

    struct Payment {
        var place: Place
        var isRefund: Bool
    }

    static let stateColumns = [
        "Active Standard Price Subscriptions",
        "Active Free Trial Introductory Offer Subscriptions",
        "Active Pay Up Front Introductory Offer Subscriptions",
        "Active Pay as You Go Introductory Offer Subscriptions",
        "Free Trial Promotional Offer Subscriptions",
        "Pay Up Front Promotional Offer Subscriptions",
        "Pay as You Go Promotional Offer Subscriptions", "Free Trial Offer Code Subscriptions",
        "Pay Up Front Offer Code Subscriptions", "Pay as You Go Offer Code Subscriptions",
        "Marketing Opt-Ins", "Billing Retry", "Grace Period", "Subscribers",
        "Free Trial Win-back Offers", "Pay Up Front Win-back Offers",
        "Pay as You Go Win-back Offers",
    ]

    let day: Int64
    private let start: Timestamp
    private let end: Timestamp
    var states: [Place: [String: Int]] = [:]
    var events: [Event: Int] = [:]
    var payments: [Payment] = []
    /// Active subscriptions of products that the world does not have, by Apple's number.
    var strange: [(appleID: String, active: Int)] = []

    init(day: Int64, _ world: borrowing World) {
        self.day = day
        start = SalesReports.midnight(day)
        end = SalesReports.midnight(day + 1)
        for index in world.chains.indices
        where world.chains[index].isSubscription && !world.chains[index].isReplaced
            && !world.chains[index].isFamilyShared
        {
            addState(of: world.chains[index], world)
            addEvents(of: world.chains[index], world)
        }
    }

    private func isToday(_ moment: Timestamp) -> Bool { moment >= start && moment < end }

    private func place(
        _ transaction: StoredTransaction, _ chain: PurchaseChain, _ world: borrowing World
    ) -> Place {
        let storefront = Int(world.accounts[Int(chain.account)].storefront)
        let country = world.catalogue.storefronts[storefront].country
        let short = ["USA": "US", "DEU": "DE", "GBR": "GB", "JPN": "JP", "BRA": "BR"]
        return Place(product: Int(transaction.product), country: short[country] ?? country)
    }

    private mutating func addState(of chain: PurchaseChain, _ world: borrowing World) {
        guard let index = chain.transactions.lastIndex(where: { $0.purchaseDate < end }) else {
            return
        }
        let transaction = chain.transactions[index]
        if let revoked = transaction.revocationDate, revoked <= end { return }
        let column: String?
        if transaction.expiresDate > end {
            column = Self.column(world.catalogue.offers[Int(transaction.offer)])
        } else {
            column = failing(chain, index, world)
        }
        guard let column else { return }
        let place = place(transaction, chain, world)
        states[place, default: [:]][column, default: 0] += 1
        states[place, default: [:]]["Subscribers", default: 0] += 1
    }

    private static func column(_ offer: Offer) -> String {
        let price: String =
            switch offer.discountType {
            case "FREE_TRIAL": "Free Trial"
            case "PAY_UP_FRONT": "Pay Up Front"
            default: "Pay as You Go"
            }
        return switch offer.kind {
        case .none: "Active Standard Price Subscriptions"
        case .introductory: "Active \(price) Introductory Offer Subscriptions"
        case .promotional: "\(price) Promotional Offer Subscriptions"
        case .offerCode: "\(price) Offer Code Subscriptions"
        case .winBack: "\(price) Win-back Offers"
        }
    }

    /// The column of a subscription whose period has ended and that Apple tries to charge.
    private func failing(
        _ chain: PurchaseChain, _ index: Int, _ world: borrowing World
    ) -> String? {
        let ended = chain.transactions[index].expiresDate
        let isRetrying: Bool
        if index + 1 < chain.transactions.count {
            isRetrying = chain.transactions[index + 1].isRenewal
        } else {
            isRetrying =
                [.billingRetry, .grace].contains(chain.phase)
                || (chain.renewal.expirationIntent == 2
                    && end < ended.adding(milliseconds: 60 * 86_400_000))
        }
        guard isRetrying else { return nil }
        if chain.phase == .grace, index + 1 == chain.transactions.count { return "Grace Period" }
        let product = world.catalogue.products[Int(chain.transactions[index].product)]
        let days = Int64(product.period.graceDays(chosen: world.graceDays))
        return end < ended.adding(milliseconds: days * 86_400_000)
            ? "Grace Period" : "Billing Retry"
    }

    private mutating func addEvents(of chain: PurchaseChain, _ world: borrowing World) {
        for (index, transaction) in chain.transactions.enumerated() {
            let place = place(transaction, chain, world)
            if isToday(transaction.purchaseDate) {
                let earlier = index > 0 ? chain.transactions[index - 1] : nil
                let event = Self.event(transaction, earlier, world)
                events[Event(place: place, event: event), default: 0] += 1
                payments.append(Payment(place: place, isRefund: false))
            }
            if let revoked = transaction.revocationDate, isToday(revoked) {
                events[Event(place: place, event: "Refund"), default: 0] += 1
                payments.append(Payment(place: place, isRefund: true))
            }
            if isToday(transaction.expiresDate), isCancelled(chain, index) {
                events[Event(place: place, event: "Cancel"), default: 0] += 1
            }
        }
    }

    private func isCancelled(_ chain: PurchaseChain, _ index: Int) -> Bool {
        let transaction = chain.transactions[index]
        guard transaction.revocationDate == nil, !transaction.isUpgraded else { return false }
        guard index + 1 == chain.transactions.count else {
            let next = chain.transactions[index + 1]
            return !next.isRenewal && next.purchaseDate > transaction.expiresDate
        }
        return chain.phase == .expired && chain.renewal.expirationIntent != 2
    }

    private static func event(
        _ transaction: StoredTransaction, _ earlier: StoredTransaction?, _ world: borrowing World
    ) -> String {
        let offer = world.catalogue.offers[Int(transaction.offer)]
        guard let earlier else {
            return switch offer.kind {
            case .introductory: "Start Introductory Offer"
            case .offerCode: "Start Offer Code"
            default: "Subscribe"
            }
        }
        let isOther = earlier.product != transaction.product
        if earlier.isUpgraded { return "Upgrade" }
        guard transaction.isRenewal else {
            return isOther ? "Reactivate with Crossgrade" : "Reactivate"
        }
        let isLate = transaction.purchaseDate > earlier.expiresDate.adding(milliseconds: 60_000)
        switch (isLate, isOther) {
        case (true, true): return "Crossgrade from Billing Retry"
        case (true, false): return "Renewal from Billing Retry"
        case (false, true): return "Downgrade"
        case (false, false):
            let before = world.catalogue.offers[Int(earlier.offer)]
            return before.kind == .introductory && offer.kind == .none
                ? "Paid Subscription from Introductory Offer" : "Renew"
        }
    }

    // MARK: Files

    private static func table(_ header: [String], _ lines: [[String: String]]) -> String {
        let rows = [header] + lines.map { line in header.map { line[$0] ?? "" } }
        return rows.map { $0.joined(separator: "\t") + "\n" }.joined()
    }

    private func common(_ place: Place, _ world: borrowing World) -> [String: String] {
        let product = world.catalogue.products[place.product]
        return [
            "App Name": "Example", "App Apple ID": String(world.catalogue.appAppleID),
            "Subscription Name": product.id,
            "Subscription Apple ID": SalesReports.appleID(place.product),
            "Subscription Group ID": product.group >= 0
                ? world.catalogue.groups[product.group] : "",
            "Standard Subscription Duration": "1 Month", "Device": "iPhone",
            "Country": place.country,
        ]
    }

    private static func precedes(_ left: Place, _ right: Place) -> Bool {
        (left.product, left.country) < (right.product, right.country)
    }

    func text(_ kind: SalesReports.Kind, _ world: borrowing World) -> String {
        switch kind {
        case .subscription: subscriptionText(world)
        case .event: eventText(SalesReports.date(day), world)
        case .subscriber: subscriberText(SalesReports.date(day), world)
        }
    }

    func hasLines(_ kind: SalesReports.Kind) -> Bool {
        switch kind {
        case .subscription: !states.isEmpty
        case .event: !events.isEmpty
        case .subscriber: !payments.isEmpty
        }
    }

    private func subscriptionText(_ world: borrowing World) -> String {
        let header =
            [
                "App Name", "App Apple ID", "Subscription Name", "Subscription Apple ID",
                "Subscription Group ID", "Standard Subscription Duration",
                "Subscription Offer Name", "Promotional Offer ID", "Customer Price",
                "Customer Currency", "Developer Proceeds", "Proceeds Currency",
                "Preserved Pricing", "Proceeds Reason", "Client", "Device", "State", "Country",
            ] + Self.stateColumns
        var lines: [[String: String]] = []
        for place in states.keys.sorted(by: Self.precedes) {
            var line = common(place, world)
            for column in Self.stateColumns { line[column] = String(states[place]?[column] ?? 0) }
            lines.append(line)
        }
        for (appleID, active) in strange {
            lines.append([
                "Subscription Apple ID": appleID, "Subscription Name": "Never sold",
                Self.stateColumns[0]: String(active),
            ])
        }
        return Self.table(header, lines)
    }

    private func eventText(_ date: String, _ world: borrowing World) -> String {
        let header = [
            "Event Date", "Event", "App Name", "App Apple ID", "Subscription Name",
            "Subscription Apple ID", "Subscription Group ID", "Standard Subscription Duration",
            "Subscription Offer Type", "Subscription Offer Duration", "Marketing Opt-In",
            "Marketing Opt-In Duration", "Preserved Pricing", "Proceeds Reason",
            "Subscription Offer Name", "Promotional Offer ID", "Consecutive Paid Periods",
            "Original Start Date", "Device", "Client", "State", "Country",
            "Previous Subscription Name", "Previous Subscription Apple ID",
            "Days Before Canceling", "Cancellation Reason", "Days Canceled", "Quantity",
        ]
        let sorted = events.sorted { left, right in
            left.key.place == right.key.place
                ? left.key.event < right.key.event : Self.precedes(left.key.place, right.key.place)
        }
        let lines = sorted.map { key, count in
            var line = common(key.place, world)
            line["Event Date"] = date
            line["Event"] = key.event
            line["Quantity"] = String(count)
            return line
        }
        return Self.table(header, lines)
    }

    private func subscriberText(_ date: String, _ world: borrowing World) -> String {
        let header = [
            "Event Date", "App Name", "App Apple ID", "Subscription Name",
            "Subscription Apple ID", "Subscription Group ID", "Standard Subscription Duration",
            "Customer Price", "Customer Currency", "Country", "Device", "Subscriber ID",
            "Subscriber ID Reset", "Refund", "Purchase Date", "Units",
        ]
        let lines = payments.enumerated().map { number, payment in
            var line = common(payment.place, world)
            line["Event Date"] = date
            line["Subscriber ID"] = String(9_000_000_000_000 + number)
            line["Refund"] = payment.isRefund ? "Yes" : ""
            line["Purchase Date"] = payment.isRefund ? date : ""
            line["Units"] = payment.isRefund ? "-1" : "1"
            return line
        }
        return Self.table(header, lines)
    }
}
