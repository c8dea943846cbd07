/// One difference between the list of a third party and what Apple signed.
///
/// The third party is a service that claims to know the company's subscriptions as well. Nothing here
/// depends on which one it is.
package struct CompareDifference: Hashable, Sendable {
    package var kind: CompareKind
    package var bundleID: String?
    package var environment: String?
    package var originalTransactionID: String?
    package var transactionID: String?
    /// The id under which the third party, or else the company, knows the customer.
    package var customerID: String?
    /// The third party's name of the value.
    package var field: String?
    package var theirs: FieldValue
    package var apple: FieldValue
    package var direction: Direction
    /// The signed payload that states Apple's value; `nil` where none is known.
    package var evidence: EvidenceDigest?
    /// The rest of a difference between sums; `nil` for one between single values.
    package var sales: SalesDetail?

    package init(
        kind: CompareKind, theirs: FieldValue = .null, apple: FieldValue = .null,
        direction: Direction = .neutral
    ) {
        self.kind = kind
        self.theirs = theirs
        self.apple = apple
        self.direction = direction
    }
}

/// The kinds of differences; other programs read these names.
package enum CompareKind: String, Hashable, Sendable, CaseIterable {
    case revenueCatMissing = "revenuecat_missing"
    case revenueCatUnknown = "revenuecat_unknown"
    case revenueCatProduct = "revenuecat_product"
    case revenueCatPeriod = "revenuecat_period"
    case revenueCatGrace = "revenuecat_grace"
    case revenueCatBillingIssue = "revenuecat_billing_issue"
    case revenueCatAccessEnd = "revenuecat_access_end"
    case revenueCatRefund = "revenuecat_refund"
    case revenueCatRenewal = "revenuecat_renewal"
    case revenueCatOwnership = "revenuecat_ownership"
    case revenueCatEnvironment = "revenuecat_environment"
    case revenueCatPrice = "revenuecat_price"
    case revenueCatEntitlement = "revenuecat_entitlement"
    case salesActive = "sales_active"
    case salesEvent = "sales_event"
    case salesRefund = "sales_refund"
    case salesPopulation = "sales_population"
}

/// The reasons why a line was not compared.
package enum NotComparedReason: String, Hashable, Sendable, CaseIterable {
    /// The purchase was made in another store.
    case otherStore = "other_store"
    /// It is not a subscription.
    case oneTimePurchase = "one_time_purchase"
    /// A newer line is about the same transaction.
    case superseded
    /// Nothing that Apple signed about the subscription is stored.
    case neverChecked = "never_checked"
    /// Apple was asked and did not find the id; only runs on several days confirm that.
    case notFound = "not_found"
    /// Apple's statement is older than wanted.
    case statementOld = "statement_old"
    /// The stored row, or the price of the period, is not what Apple signed.
    case rowChanged = "row_changed"
    /// The third party changed the line after Apple signed the statement.
    case lineNewer = "line_newer"
    /// The line is about an earlier period, and Apple's history of the subscription is not stored.
    case periodNotStored = "period_not_stored"
    /// The settings do not say which product it is.
    case productNotMapped = "product_not_mapped"
    /// Signed statements do not show such an event.
    case eventNotSigned = "event_not_signed"
    /// The sums differ by no more than the rows whose stored statement does not cover the day.
    case rowsUnchecked = "rows_unchecked"

    /// Whether a fresh statement of Apple's would allow the comparison.
    package var isForWantOfStatement: Bool {
        switch self {
        case .otherStore, .oneTimePurchase, .superseded, .productNotMapped, .eventNotSigned: false
        case .neverChecked, .notFound, .statementOld, .rowChanged, .lineNewer, .periodNotStored,
            .rowsUnchecked:
            true
        }
    }
}

/// The totals of a comparison: `lines` is the sum of the next three and of `notCompared`.
package struct CompareTotals: Hashable, Sendable {
    package var matched = 0
    package var different = 0
    /// Lines about what Apple does not know.
    package var onlyTheirs = 0
    /// Transactions that Apple signed and no line is about.
    package var onlyApple = 0
    package var reasons: [NotComparedReason: Int] = [:]

    package init() {}

    package var notCompared: Int { reasons.values.reduce(0, +) }

    package var lines: Int { matched + different + onlyTheirs + notCompared }

    /// Lines that a fresh statement of Apple's would allow to compare.
    package var wantingStatement: Int {
        reasons.reduce(0) { $0 + ($1.key.isForWantOfStatement ? $1.value : 0) }
    }

    package mutating func leaveOut(_ reason: NotComparedReason, lines: Int = 1) {
        reasons[reason, default: 0] += lines
    }

    /// The exit status of the command, from what it found.
    package var exitStatus: ExitStatus {
        if lines == 0, onlyApple == 0 { return .empty }
        if wantingStatement > 0 { return .incomplete }
        return different + onlyTheirs + onlyApple > 0 ? .findings : .ok
    }
}

/// How many differences of a kind have a direction, and how many customers they concern.
package struct CompareCount: Hashable, Sendable {
    package var kind: CompareKind
    package var direction: Direction
    package var differences: Int
    /// How many lines they are in: a line may differ in several values of a kind.
    package var lines: Int
    package var customers: Int
    /// The count in a sentence for people.
    package var sentence = ""

    package init(kind: CompareKind, direction: Direction, differences: Int, customers: Int) {
        self.kind = kind
        self.direction = direction
        self.differences = differences
        lines = differences
        self.customers = customers
    }
}

/// The facts that identify a file of another service as it was read.
package struct InputSeal: Hashable, Sendable {
    /// Its path, as the user named it.
    package var path: String
    /// In lowercase hexadecimal.
    package var sha256: String
    package var bytes: Int
    /// Line feeds, of a packed file those of the packed bytes.
    package var lines: Int

    package init(path: String, sha256: String, bytes: Int, lines: Int) {
        self.path = path
        self.sha256 = sha256
        self.bytes = bytes
        self.lines = lines
    }
}

/// A finished comparison, for its report.
package struct CompareSummary: Hashable, Sendable {
    package var header: RunHeader
    /// The third party, as the command names it.
    package var side: String
    /// The third party's name for people.
    package var title: String
    package var ended: Timestamp
    package var totals: CompareTotals
    package var counts: [CompareCount]
    /// The reasons why something was not compared, and other remarks, a sentence each.
    package var notes: [String]
    /// The compared files.
    package var files: [InputSeal]
    package var ledgerHead: String
    /// The exit status where Apple was asked and answered nothing that is usable; `nil` otherwise.
    package var failure: ExitStatus?
    /// The compared sums; `nil` where single values were compared.
    package var sums: SalesSummary?

    package init(
        header: RunHeader, side: String, title: String, ended: Timestamp, totals: CompareTotals,
        counts: [CompareCount], notes: [String], files: [InputSeal],
        ledgerHead: String
    ) {
        self.header = header
        self.side = side
        self.title = title
        self.ended = ended
        self.totals = totals
        self.counts = counts
        self.notes = notes
        self.files = files
        self.ledgerHead = ledgerHead
    }

    /// The exit status of the command.
    package var exitStatus: ExitStatus { failure ?? totals.exitStatus }
}
