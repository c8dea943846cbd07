import Reconciliation
import Subscriptions
import Testing

/// What one customer holds, and what they may use because of it.
struct AccessCase: Sendable, CustomTestStringConvertible {
    let name: String
    var rows: [LocalSubscription] = []
    var purchases: [OneTimePurchase] = []
    var catalogue: ProductCatalogue? = AccessCase.catalogue
    /// `pro until +20 of A`, by bundle and name; days from now, `life`, and remarks.
    let expected: [String]

    init(
        _ name: String, _ rows: [LocalSubscription] = [], _ purchases: [OneTimePurchase] = [],
        by catalogue: ProductCatalogue? = AccessCase.catalogue, gives expected: String...
    ) {
        self.name = name
        self.rows = rows
        self.purchases = purchases
        self.catalogue = catalogue
        self.expected = expected
    }

    var testDescription: String { name }

    static let catalogue = ProductCatalogue(products: [
        "pro.month": CatalogueProduct(grants: ["pro"]),
        "pro.year": CatalogueProduct(grants: ["pro", "archive"]),
        "basic.month": CatalogueProduct(grants: []),
        "coins": CatalogueProduct(kind: .consumable),
        "lifetime": CatalogueProduct(kind: .nonConsumable, grants: ["pro"]),
        "season": CatalogueProduct(
            kind: .nonRenewing, grants: ["pro"], duration: CalendarDuration("P90D")),
        "half": CatalogueProduct(
            kind: .nonRenewing, grants: ["pro"], duration: CalendarDuration("P6M")),
    ])

    static func day(_ days: Int64) -> Timestamp { Sample.now(days: days) }

    /// A row that Apple signed yesterday.
    static func row(
        _ id: String, _ product: String?, _ status: Int?, until days: Int64?,
        in app: AppIdentity = Sample.app, _ change: (inout LocalSubscription) -> Void = { _ in }
    ) -> LocalSubscription {
        var row = LocalSubscription(
            key: SubscriptionKey(app: app, originalTransactionID: id))
        row.customerID = "customer"
        row.productID = product
        row.status = status
        row.expiresDate = days.map(day)
        row.autoRenewStatus = 1
        row.inAppOwnershipType = "PURCHASED"
        row.signedDate = day(-1)
        change(&row)
        return row
    }

    static func bought(
        _ id: String, _ product: String, _ kind: ProductKind?, at days: Int64? = -10,
        _ change: (inout OneTimePurchase) -> Void = { _ in }
    ) -> OneTimePurchase {
        var purchase = OneTimePurchase(
            bundleID: Sample.app.bundleID, environment: Sample.app.environment.rawValue,
            transactionID: id, productID: product, kind: kind)
        purchase.purchaseDate = days.map(day)
        purchase.signedDate = day(-1)
        change(&purchase)
        return purchase
    }

    static func text(_ access: EntitlementAccess) -> String {
        let perDay = Milliseconds.perDay
        var text = access.bundleID == Sample.app.bundleID ? "" : access.bundleID + " "
        if access.environment != "Production" { text += access.environment + " " }
        text += access.entitlement
        if let until = access.until {
            let days = until.milliseconds(since: Sample.now) / perDay
            text += " until \(days > 0 ? "+" : "")\(days)"
        } else {
            text += " for life"
        }
        text += " of \(access.originalTransactionID)"
        if access.graceUntil != nil { text += ", grace" }
        switch access.willRenew {
        case true?: text += ", renews"
        case nil: text += ", may renew"
        case false?: break
        }
        return text
    }
}

@Suite struct `What a customer may use` {
    static let statuses = [
        AccessCase(
            "active", [AccessCase.row("A", "pro.month", 1, until: 20)],
            gives: "pro until +20 of A, renews"),
        AccessCase(
            "active, renewal off",
            [AccessCase.row("A", "pro.month", 1, until: 20) { $0.autoRenewStatus = 0 }],
            gives: "pro until +20 of A"),
        AccessCase(
            "active, renewal not known",
            [AccessCase.row("A", "pro.month", 1, until: 20) { $0.autoRenewStatus = nil }],
            gives: "pro until +20 of A, may renew"),
        AccessCase(
            "active past its end", [AccessCase.row("A", "pro.month", 1, until: -2)],
            gives: "pro until -2 of A, renews"),
        AccessCase("active without an end", [AccessCase.row("A", "pro.month", 1, until: nil)]),
        AccessCase(
            "active although a transaction of the period was revoked",
            [
                AccessCase.row("A", "pro.month", 1, until: 20) {
                    $0.revocationDate = AccessCase.day(-3)
                }
            ],
            gives: "pro until +20 of A, renews"),
        AccessCase(
            "expired", [AccessCase.row("A", "pro.month", 2, until: -5)],
            gives: "pro until -5 of A"),
        AccessCase(
            "expired before the end of the period",
            [AccessCase.row("A", "pro.month", 2, until: 20)], gives: "pro until -1 of A"),
        AccessCase(
            "expired, and no signed date says since when",
            [AccessCase.row("A", "pro.month", 2, until: 20) { $0.signedDate = nil }]),
        AccessCase(
            "revoked, and no date says since when",
            [AccessCase.row("A", "pro.month", 5, until: 20) { $0.signedDate = nil }]),
        AccessCase(
            "revoked without the end of the period",
            [
                AccessCase.row("A", "pro.month", 5, until: nil) {
                    $0.revocationDate = AccessCase.day(-3)
                }
            ],
            gives: "pro until -3 of A"),
        AccessCase(
            "billing retry", [AccessCase.row("A", "pro.month", 3, until: -5)],
            gives: "pro until -5 of A, renews"),
        AccessCase(
            "billing retry with the end of a grace period that is over",
            [
                AccessCase.row("A", "pro.month", 3, until: -9) {
                    $0.gracePeriodExpiresDate = AccessCase.day(6)
                }
            ], gives: "pro until -9 of A, renews"),
        AccessCase(
            "grace",
            [
                AccessCase.row("A", "pro.month", 4, until: -2) {
                    $0.gracePeriodExpiresDate = AccessCase.day(14)
                }
            ], gives: "pro until +14 of A, grace, renews"),
        AccessCase(
            "grace without a date: Apple's shortest one",
            [AccessCase.row("A", "pro.month", 4, until: -1)], gives: "pro until +2 of A, renews"),
        AccessCase(
            "grace without a date that is longer: Apple said so a moment ago",
            [AccessCase.row("A", "pro.month", 4, until: -8) { $0.signedDate = AccessCase.day(0) }],
            gives: "pro until +1 of A, renews"),
        AccessCase(
            "grace that ends before the period",
            [
                AccessCase.row("A", "pro.month", 4, until: 3) {
                    $0.gracePeriodExpiresDate = AccessCase.day(2)
                }
            ], gives: "pro until +3 of A, renews"),
        AccessCase(
            "revoked",
            [
                AccessCase.row("A", "pro.month", 5, until: 20) {
                    $0.revocationDate = AccessCase.day(-3)
                }
            ],
            gives: "pro until -3 of A"),
        AccessCase(
            "revoked at an unknown time", [AccessCase.row("A", "pro.month", 5, until: 20)],
            gives: "pro until -1 of A"),
        AccessCase(
            "revoked after its end",
            [
                AccessCase.row("A", "pro.month", 5, until: -20) {
                    $0.revocationDate = AccessCase.day(-3)
                }
            ], gives: "pro until -20 of A"),
        AccessCase("not known yet", [AccessCase.row("A", "pro.month", nil, until: 20)]),
        AccessCase("a status of a later version", [AccessCase.row("A", "pro.month", 6, until: 20)]),
        AccessCase("no product", [AccessCase.row("A", nil, 1, until: 20)]),
        AccessCase(
            "a value that cannot be read",
            [AccessCase.row("A", "pro.month", 1, until: 20) { $0.unreadable[.status] = "x" }]),
        AccessCase(
            "another unreadable value",
            [
                AccessCase.row("A", "pro.month", 1, until: 20) {
                    $0.unreadable[.webOrderLineItemID] = "x"
                }
            ], gives: "pro until +20 of A, renews"),
        AccessCase("nothing at all"),
    ]

    static let several = [
        AccessCase(
            "two products of one entitlement: the longer one",
            [
                AccessCase.row("A", "pro.month", 1, until: 20),
                AccessCase.row("B", "pro.year", 1, until: 200),
            ],
            gives: "archive until +200 of B, renews", "pro until +200 of B, renews"),
        AccessCase(
            "an ended subscription beside one of another group",
            [
                AccessCase.row("A", "pro.year", 2, until: -3),
                AccessCase.row("B", "pro.month", 1, until: 9),
            ],
            gives: "archive until -3 of A", "pro until +9 of B, renews"),
        AccessCase(
            "as long: the one that renews",
            [
                AccessCase.row("A", "pro.month", 1, until: 20) { $0.autoRenewStatus = 0 },
                AccessCase.row("B", "pro.month", 1, until: 20),
            ], gives: "pro until +20 of B, renews"),
        AccessCase(
            "as long: the customer's own before the family's",
            [
                AccessCase.row("A", "pro.month", 1, until: 20) {
                    $0.inAppOwnershipType = "FAMILY_SHARED"
                },
                AccessCase.row("B", "pro.month", 1, until: 20),
            ], gives: "pro until +20 of B, renews"),
        AccessCase(
            "alike: the lower id, in whatever order",
            [
                AccessCase.row("B", "pro.month", 1, until: 20),
                AccessCase.row("A", "pro.month", 1, until: 20),
            ],
            gives: "pro until +20 of A, renews"),
        AccessCase(
            "a family member, by the member's own row",
            [
                AccessCase.row("A", "pro.month", 1, until: 20) {
                    $0.inAppOwnershipType = "FAMILY_SHARED"
                }
            ],
            gives: "pro until +20 of A, renews"),
        AccessCase(
            "a seat that was taken away",
            [
                AccessCase.row("A", "pro.month", 5, until: 20) {
                    $0.inAppOwnershipType = "ASSIGNED"
                    $0.revocationDate = AccessCase.day(-4)
                }
            ], gives: "pro until -4 of A"),
        AccessCase(
            "two apps, each for itself",
            [
                AccessCase.row("A", "pro.month", 1, until: 20),
                AccessCase.row("B", "pro.month", 2, until: -3, in: Sample.otherApp),
                AccessCase.row("C", "pro.month", 1, until: 5, in: Sample.sandbox),
            ],
            gives: "pro until +20 of A, renews", "Sandbox pro until +5 of C, renews",
            "com.example.other pro until -3 of B"),
        AccessCase(
            "a downgrade that takes one of two entitlements with it",
            [AccessCase.row("A", "pro.year", 1, until: 20) { $0.autoRenewProductID = "pro.month" }],
            gives: "archive until +20 of A", "pro until +20 of A, renews"),
        AccessCase(
            "a product that the catalogue lacks", [AccessCase.row("A", "new", 1, until: 20)]),
        AccessCase(
            "a product that grants nothing", [AccessCase.row("A", "basic.month", 1, until: 20)]),
        AccessCase(
            "no catalogue: each product is an entitlement",
            [
                AccessCase.row("A", "pro.month", 1, until: 20),
                AccessCase.row("B", "new", 2, until: -3),
            ],
            by: nil, gives: "new until -3 of B", "pro.month until +20 of A, renews"),
        AccessCase(
            "no catalogue: another product next",
            [AccessCase.row("A", "pro.month", 1, until: 20) { $0.autoRenewProductID = "new" }],
            by: nil, gives: "pro.month until +20 of A"),
        AccessCase(
            "paid elsewhere for longer",
            [
                AccessCase.row("A", "pro.month", 2, until: -3) {
                    $0.paidElsewhereUntil = AccessCase.day(40)
                }
            ],
            gives: "pro until +40 of A, may renew"),
        AccessCase(
            "paid elsewhere, and nothing known of Apple",
            [
                AccessCase.row("A", "pro.month", nil, until: nil) {
                    $0.paidElsewhereUntil = AccessCase.day(40)
                }
            ], gives: "pro until +40 of A, may renew"),
        AccessCase(
            "paid elsewhere for less",
            [
                AccessCase.row("A", "pro.month", 1, until: 20) {
                    $0.paidElsewhereUntil = AccessCase.day(4)
                }
            ],
            gives: "pro until +20 of A, renews"),
    ]

    static let once = [
        AccessCase(
            "for life", [], [AccessCase.bought("T", "lifetime", .nonConsumable)],
            gives: "pro for life of T"),
        AccessCase(
            "for life, beside a subscription that ended",
            [AccessCase.row("A", "pro.month", 2, until: -3)],
            [AccessCase.bought("T", "lifetime", .nonConsumable)], gives: "pro for life of T"),
        AccessCase(
            "refunded",
            [],
            [
                AccessCase.bought("T", "lifetime", .nonConsumable) {
                    $0.revocationDate = AccessCase.day(-2)
                }
            ], gives: "pro until -2 of T"),
        AccessCase(
            "refunded, beside a subscription",
            [AccessCase.row("A", "pro.month", 1, until: 20)],
            [
                AccessCase.bought("T", "lifetime", .nonConsumable) {
                    $0.revocationDate = AccessCase.day(-2)
                }
            ], gives: "pro until +20 of A, renews"),
        AccessCase("a consumable", [], [AccessCase.bought("T", "coins", .consumable)]),
        AccessCase(
            "a consumable that the catalogue takes for something else",
            [], [AccessCase.bought("T", "lifetime", .consumable)]),
        AccessCase(
            "a consumable without a catalogue",
            [], [AccessCase.bought("T", "coins", .consumable)], by: nil),
        AccessCase(
            "for life without a catalogue",
            [], [AccessCase.bought("T", "lifetime", .nonConsumable)], by: nil,
            gives: "lifetime for life of T"),
        AccessCase(
            "non-renewing", [], [AccessCase.bought("T", "season", .nonRenewing)],
            gives: "pro until +80 of T"),
        AccessCase(
            "non-renewing, two at once",
            [], [AccessCase.bought("T", "season", .nonRenewing) { $0.quantity = 2 }],
            gives: "pro until +170 of T"),
        AccessCase(
            "non-renewing, refunded",
            [],
            [
                AccessCase.bought("T", "season", .nonRenewing) {
                    $0.revocationDate = AccessCase.day(-2)
                }
            ], gives: "pro until -2 of T"),
        AccessCase(
            "non-renewing, of a kind that is not known: by the catalogue",
            [], [AccessCase.bought("T", "season", nil)], gives: "pro until +80 of T"),
        AccessCase(
            "non-renewing without a purchase date",
            [], [AccessCase.bought("T", "season", .nonRenewing, at: nil)]),
        AccessCase(
            "non-renewing without a catalogue",
            [], [AccessCase.bought("T", "season", .nonRenewing)], by: nil),
        AccessCase(
            "nothing of it", [],
            [
                AccessCase.bought("T", "lifetime", .nonConsumable) {
                    $0.quantity = 0
                }
            ]),
    ]

    @Test(arguments: statuses + several + once)
    func `follows from everything that the customer holds`(held: AccessCase) {
        let holdings = CustomerHoldings(subscriptions: held.rows, purchases: held.purchases)
        let found = access(holdings, by: held.catalogue)
        #expect(found.map(AccessCase.text) == held.expected)
        let reversed = CustomerHoldings(
            subscriptions: held.rows.reversed(), purchases: held.purchases.reversed())
        #expect(access(reversed, by: held.catalogue) == found)
    }

    @Test func `ends at its end, and not before`() {
        let holdings = CustomerHoldings(
            subscriptions: [AccessCase.row("A", "pro.month", 1, until: 20)])
        let end = AccessCase.day(20)
        let grants = access(holdings, by: nil)
        #expect(grants.filter { $0.isActive(at: end.adding(milliseconds: -1)) }.count == 1)
        #expect(grants.filter { $0.isActive(at: end) }.isEmpty)
    }

    @Test func `names the statement and the kind of ownership`() throws {
        let holdings = CustomerHoldings(
            subscriptions: [
                AccessCase.row("A", "pro.month", 1, until: 20) {
                    $0.inAppOwnershipType = "FAMILY_SHARED"
                }
            ])
        let pro = try #require(access(holdings, by: AccessCase.catalogue).first)
        #expect(pro.asOf == AccessCase.day(-1))
        #expect(pro.ownership == "FAMILY_SHARED")
        #expect(pro.productID == "pro.month")
    }
}

@Suite struct `A duration of the calendar` {
    @Test(arguments: [
        ("P90D", "2026-01-31T10:00:00Z", "2026-05-01T10:00:00Z"),
        ("P12W", "2026-01-01T00:00:00Z", "2026-03-26T00:00:00Z"),
        ("P1M", "2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z"),
        ("P1M", "2024-01-31T10:00:00Z", "2024-02-29T10:00:00Z"),
        ("P6M", "2026-09-15T10:00:00Z", "2027-03-15T10:00:00Z"),
        ("P1Y", "2024-02-29T10:00:00Z", "2025-02-28T10:00:00Z"),
        ("P1Y2M3D", "2026-12-30T23:59:59Z", "2028-03-03T23:59:59Z"),
    ])
    func `ends by the calendar`(text: String, start: String, end: String) throws {
        let duration = try #require(CalendarDuration(text))
        let from = try #require(Timestamp(rfc3339: start))
        #expect(duration.end(from: from) == Timestamp(rfc3339: end))
    }

    @Test(arguments: [
        "", "P", "90D", "P0D", "P-1D", "P1.5D", "PT1H", "P1D1M", "P1M1M", "P1H", "p1d", "P1",
        "P1D ",
        "P101Y", "P99999999999999999999D", "P36526D", "P100Y100Y",
    ])
    func `is refused in any other form`(text: String) {
        #expect(CalendarDuration(text) == nil)
    }

    @Test(arguments: [Int64.min, .max, 0])
    func `never traps, whatever date it starts from`(start: Int64) throws {
        let duration = try #require(CalendarDuration("P100Y"))
        let from = Timestamp(unixMilliseconds: start)
        #expect(duration.end(from: from, times: .max) >= from)
    }
}
