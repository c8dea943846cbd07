/// The sales reports of App Store Connect that are compared.
package enum SalesReport: String, Hashable, Sendable, CaseIterable {
    /// How many subscriptions were active, and at which kind of price; the day is in the file's name.
    case subscription = "SUBSCRIPTION"
    /// How often what happened.
    case event = "SUBSCRIPTION_EVENT"
    /// One line for each payment and refund.
    case subscriber = "SUBSCRIBER"
}

/// A number that App Store Connect states for a product and a day, and that Apple's signed statements
/// give as well.
package enum SalesMeasure: String, Hashable, Sendable, CaseIterable {
    // At the end of the day.
    case standard = "active_standard_price"
    case introductoryFree = "active_introductory_free"
    case introductoryPaid = "active_introductory_paid"
    case promotionalFree = "active_promotional_free"
    case promotionalPaid = "active_promotional_paid"
    case offerCodeFree = "active_offer_code_free"
    case offerCodePaid = "active_offer_code_paid"
    case winBackFree = "active_win_back_free"
    case winBackPaid = "active_win_back_paid"
    case billingRetry = "billing_retry"
    case gracePeriod = "grace_period"
    // On the day, as events.
    case new, renewed, recovered, changed, cancelled, refunded
    // On the day, as payments.
    case purchased = "purchase_units"
    case refundedUnits = "refund_units"
    /// The sum of all states.
    case subscriptions

    package static let active: [SalesMeasure] = [
        .standard, .introductoryFree, .introductoryPaid, .promotionalFree, .promotionalPaid,
        .offerCodeFree, .offerCodePaid, .winBackFree, .winBackPaid,
    ]
    package static let states = active + [.billingRetry, .gracePeriod]

    package var kind: CompareKind {
        switch self {
        case .subscriptions: .salesPopulation
        case .refunded, .refundedUnits: .salesRefund
        case .new, .renewed, .recovered, .changed, .cancelled, .purchased: .salesEvent
        default: .salesActive
        }
    }
}

extension SalesReport {
    /// The report that has a number of `SalesDay`; `nil` for a name of a later version.
    package init?(havingMeasure name: String) {
        guard name != SalesSummary.activeMeasure else {
            self = .subscription
            return
        }
        switch SalesMeasure(rawValue: name) {
        case nil: return nil
        case .purchased?, .refundedUnits?: self = .subscriber
        case .new?, .renewed?, .recovered?, .changed?, .cancelled?, .refunded?: self = .event
        default: self = .subscription
        }
    }
}

/// The columns of the three reports that are read; other spellings of the same letters are too.
package enum SalesColumn: String, NamedColumn {
    case appleID = "Subscription Apple ID"
    case eventDate = "Event Date"
    case event = "Event"
    case quantity = "Quantity"
    case subscriberID = "Subscriber ID"
    case refund = "Refund"
    case units = "Units"
    case standard = "Active Standard Price Subscriptions"
    case introductoryFree = "Active Free Trial Introductory Offer Subscriptions"
    case introductoryUpFront = "Active Pay Up Front Introductory Offer Subscriptions"
    case introductoryAsYouGo = "Active Pay As You Go Introductory Offer Subscriptions"
    case promotionalFree = "Free Trial Promotional Offer Subscriptions"
    case promotionalUpFront = "Pay Up Front Promotional Offer Subscriptions"
    case promotionalAsYouGo = "Pay As You Go Promotional Offer Subscriptions"
    case offerCodeFree = "Free Trial Offer Code Subscriptions"
    case offerCodeUpFront = "Pay Up Front Offer Code Subscriptions"
    case offerCodeAsYouGo = "Pay As You Go Offer Code Subscriptions"
    case winBackFree = "Free Trial Win-back Offers"
    case winBackUpFront = "Pay Up Front Win-back Offers"
    case winBackAsYouGo = "Pay As You Go Win-back Offers"
    case billingRetry = "Billing Retry"
    case gracePeriod = "Grace Period"

    /// The columns of SUBSCRIPTION with what each adds to.
    package static let states: [(column: SalesColumn, measure: SalesMeasure)] = [
        (.standard, .standard), (.introductoryFree, .introductoryFree),
        (.introductoryUpFront, .introductoryPaid), (.introductoryAsYouGo, .introductoryPaid),
        (.promotionalFree, .promotionalFree), (.promotionalUpFront, .promotionalPaid),
        (.promotionalAsYouGo, .promotionalPaid), (.offerCodeFree, .offerCodeFree),
        (.offerCodeUpFront, .offerCodePaid), (.offerCodeAsYouGo, .offerCodePaid),
        (.winBackFree, .winBackFree), (.winBackUpFront, .winBackPaid),
        (.winBackAsYouGo, .winBackPaid), (.billingRetry, .billingRetry),
        (.gracePeriod, .gracePeriod),
    ]

    /// The columns without which a report cannot be compared.
    package static func required(for report: SalesReport) -> [SalesColumn] {
        switch report {
        case .subscription:
            [
                .appleID, .standard, .introductoryFree, .introductoryUpFront,
                .introductoryAsYouGo, .billingRetry, .gracePeriod,
            ]
        case .event: [.appleID, .eventDate, .event, .quantity]
        case .subscriber: [.appleID, .eventDate, .subscriberID, .refund, .units]
        }
    }

    /// Columns of the published reports, version 1_3, that are not compared.
    package static let notCompared: Set<String> = [
        "App Name", "App Apple ID", "Subscription Name", "Subscription Group ID",
        "Standard Subscription Duration", "Subscription Offer Name", "Promotional Offer ID",
        "Subscription Offer Type", "Subscription Offer Duration", "Promotional Offer Name",
        "Customer Price", "Customer Currency", "Developer Proceeds", "Proceeds Currency",
        "Preserved Pricing", "Proceeds Reason", "Client", "Device", "State", "Country",
        "Marketing Opt-Ins", "Marketing Opt-In", "Marketing Opt-In Duration", "Subscribers",
        "Consecutive Paid Periods", "Original Start Date", "Previous Subscription Name",
        "Previous Subscription Apple ID", "Days Before Canceling", "Cancellation Reason",
        "Days Canceled", "Paid Service Days Recovered", "Subscriber ID Reset", "Purchase Date",
    ]
}

/// One line of a sales report.
package struct SalesLine: Hashable, Sendable {
    package var report: SalesReport
    /// Apple's number of the subscription product.
    package var appleID: String
    /// Days since 1970-01-01 in the zone of the report; `nil` where only the file's name has it.
    package var day: Int64?
    /// Empty for an event that signed statements do not show.
    package var counts: [SalesMeasure: Int64]

    package init(
        report: SalesReport, appleID: String, day: Int64?, counts: [SalesMeasure: Int64]
    ) {
        self.report = report
        self.appleID = appleID
        self.day = day
        self.counts = counts
    }
}

/// The zone in which a sales report counts its days.
package enum SalesZone: String, Hashable, Sendable, CaseIterable {
    case utc = "UTC"
    case pacific = "America/Los_Angeles"

    package var other: SalesZone { self == .utc ? .pacific : .utc }

    /// Pacific time is 7 hours behind UTC from the second Sunday of March to the first of November,
    /// otherwise 8: the law of the United States since 2007.
    ///
    /// The clocks change at 2 o'clock, so no midnight is skipped or comes twice.
    private static let pacificClock = LocalClock(
        pacific.rawValue, first: -8 * 3600, changes: [],
        yearly: YearlyRule(posix: "PST8PDT,M3.2.0,M11.1.0"))

    /// When a day begins.
    package func start(ofDay day: Int64) -> Timestamp {
        let midnight = Timestamp(unixMilliseconds: day * Milliseconds.perDay)
        switch self {
        case .utc: return midnight
        case .pacific:
            return Self.pacificClock.instant(ofLocal: midnight)
                ?? midnight.adding(milliseconds: 8 * Milliseconds.perHour)
        }
    }
}

extension CivilDate {
    /// For example `2026-11-20`.
    package static func text(ofDay day: Int64) -> String {
        Timestamp(unixMilliseconds: day * Milliseconds.perDay).utcDay
    }
}

/// The part of a difference that only sums have.
package struct SalesDetail: Hashable, Sendable {
    package var productID: String
    /// As `2026-11-20`, in the zone of the report.
    package var day: String
    /// Lines of the report that are counted here; each line is counted at one difference.
    package var lines: Int
    /// The parts of the difference that are explained, by what explains them.
    package var explained: [SalesExplanation: Int64]
    /// The differences of earlier compared days that are not explained, the newest last.
    package var history: [SalesDay] = []
    /// The rest: the difference without its explained parts.
    package var unexplained: Int64

    package init(
        productID: String, day: String, lines: Int, explained: [SalesExplanation: Int64],
        unexplained: Int64
    ) {
        self.productID = productID
        self.day = day
        self.lines = lines
        self.explained = explained
        self.unexplained = unexplained
    }
}

/// The reasons for a part of a difference between sums, in the order in which they are taken.
package enum SalesExplanation: String, Hashable, Sendable, CaseIterable {
    /// The other zone's days come nearer.
    case timeZone = "time_zone"
    /// Rows whose stored statement does not cover the day.
    case unchecked
    /// Members of a family: trueup leaves them out.
    case familyShared = "family_shared"
    /// Rows of the sandbox, which trueup leaves out.
    case sandbox
    /// Late entries of the report.
    case settlement
}

/// One compared number of a product and a day, as later comparisons read it.
package struct SalesDay: Hashable, Sendable {
    package var day: String
    package var measure: String
    package var theirs: Int64
    package var apple: Int64
    package var unexplained: Int64
    package var productID: String

    package init(
        day: String, measure: String, theirs: Int64, apple: Int64, unexplained: Int64,
        productID: String
    ) {
        self.day = day
        self.measure = measure
        self.theirs = theirs
        self.apple = apple
        self.unexplained = unexplained
        self.productID = productID
    }
}

/// The part of a finished comparison that only sums have.
package struct SalesSummary: Hashable, Sendable {
    /// The zone in which the days are counted.
    package var zone: SalesZone
    /// Every compared number.
    package var days: [SalesDay]
    /// The numbers of earlier comparisons, of other days.
    package var earlier: [SalesDay]
    /// The most subscriptions that Apple counts and trueup has no row of, on one day.
    package var unseen: Int64

    package init(zone: SalesZone, days: [SalesDay], earlier: [SalesDay], unseen: Int64) {
        self.zone = zone
        self.days = days
        self.earlier = earlier
        self.unseen = unseen
    }

    /// The measure of charts: everything that is active.
    package static let activeMeasure = "active"
}
