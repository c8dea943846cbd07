package import Subscriptions

/// The signed facts of Apple's about the transaction of one line, as far as it is stored.
package struct AppleTransaction: Hashable, Sendable {
    package var environment: String
    package var productID: String?
    package var purchaseDate: Timestamp?
    package var expiresDate: Timestamp?
    package var revocationDate: Timestamp?
    package var ownership: String?
    /// Milliunits of `currency`.
    package var price: Int64?
    package var currency: String?
    /// The state of the subscription, where this is its latest transaction.
    package var current: Current?
    /// The entitlements that the catalogue gives the product, sorted and separated by commas; `nil`
    /// without a catalogue, or where it does not have the product.
    package var entitlements: String?

    /// The state of a subscription.
    package struct Current: Hashable, Sendable {
        package var status: SubscriptionStatus
        package var gracePeriodExpiresDate: Timestamp?
        package var renews: Bool?

        package init(
            status: SubscriptionStatus, gracePeriodExpiresDate: Timestamp? = nil,
            renews: Bool? = nil
        ) {
            self.status = status
            self.gracePeriodExpiresDate = gracePeriodExpiresDate
            self.renews = renews
        }
    }

    package init(environment: String) { self.environment = environment }

    /// The facts of a stored period.
    package init(_ period: LocalTransaction) {
        self.init(environment: period.key.environment)
        productID = period.productID
        purchaseDate = period.purchaseDate
        expiresDate = period.expiresDate
        revocationDate = period.revocationDate
        ownership = period.inAppOwnershipType
        price = period.price
        currency = period.currency
    }

    /// The facts of a stored row about its latest transaction, with the state.
    package init(_ row: LocalSubscription) {
        self.init(environment: row.key.environment)
        productID = row.productID
        expiresDate = row.expiresDate
        revocationDate = row.revocationDate
        ownership = row.inAppOwnershipType
        current = row.status.map { status in
            Current(
                status: SubscriptionStatus(rawValue: status),
                gracePeriodExpiresDate: row.gracePeriodExpiresDate,
                renews: row.autoRenewStatus.map { $0 == 1 })
        }
    }

    /// The facts of a transaction in an answer of Apple's.
    package init(_ transaction: SignedTransaction, environment: String) {
        self.init(environment: environment)
        productID = transaction.productID
        purchaseDate = transaction.purchaseDate
        expiresDate = transaction.expiresDate
        revocationDate = transaction.revocationDate
        ownership = transaction.inAppOwnershipType
        price = transaction.price
        currency = transaction.currency
    }

    /// The facts of an answer about the latest transaction, with the state.
    package init(_ stated: StatedSubscription, environment: String) {
        self.init(stated.transaction, environment: environment)
        current = Current(
            status: stated.status,
            gracePeriodExpiresDate: stated.renewal.gracePeriodExpiresDate,
            renews: stated.renewal.autoRenewStatus.map { $0 == 1 })
    }

    /// When access ends, as it follows from the signed dates.
    var endOfAccess: Timestamp? {
        if let revocationDate { return revocationDate }
        if current?.status == .billingGracePeriod { return current?.gracePeriodExpiresDate }
        return expiresDate
    }
}

/// One kind of difference between a line of RevenueCat's export and what Apple signed.
package struct RevenueCatRule: Sendable {
    package let kind: CompareKind
    /// The columns that a file needs for it.
    package let columns: Set<RevenueCatColumn>
    /// The columns that differ, with RevenueCat's value and Apple's.
    let find: @Sendable (RevenueCatLine, AppleTransaction) -> [Found]

    typealias Found = (
        column: RevenueCatColumn, theirs: FieldValue, apple: FieldValue, direction: Direction
    )

    /// All rules, in the order in which differences are listed.
    package static let all: [RevenueCatRule] = [
        product, period, grace, billingIssue, accessEnd, refund, renewal, ownership, environment,
        price, entitlement,
    ]

    /// The differences of a line.
    ///
    /// The end of access follows from period, grace and refund: it is not listed next to one of them.
    package static func differences(
        of line: RevenueCatLine, from apple: AppleTransaction, by rules: [RevenueCatRule] = all
    ) -> [CompareDifference] {
        let found = rules.flatMap { rule in
            rule.find(line, apple).map { column, theirs, apple, direction in
                var difference = CompareDifference(
                    kind: rule.kind, theirs: theirs, apple: apple, direction: direction)
                difference.field = column.rawValue
                return difference
            }
        }
        let causes: Set<CompareKind> = [
            .revenueCatPeriod, .revenueCatGrace, .revenueCatRefund,
        ]
        guard found.count > 1, found.contains(where: { causes.contains($0.kind) }) else {
            return found
        }
        return found.filter { $0.kind != .revenueCatAccessEnd }
    }

    private static func seconds(_ time: Timestamp) -> Int64 {
        time.unixMilliseconds.floorDivided(by: Milliseconds.perSecond).quotient
    }

    /// Whether two times differ by more than parts of a second.
    private static func differ(_ left: Timestamp, _ right: Timestamp) -> Bool {
        seconds(left) != seconds(right)
    }

    /// Who loses by an end of access that RevenueCat states: the customer where it is too early.
    private static func loser(_ theirs: Timestamp, _ apple: Timestamp) -> Direction {
        theirs < apple ? .customerLoses : .companyLoses
    }

    // MARK: The rules

    static let product = RevenueCatRule(kind: .revenueCatProduct, columns: [.productID]) {
        line, apple in
        guard let known = apple.productID, line.productID != known else { return [] }
        return [(.productID, FieldValue(line.productID), .text(known), .neutral)]
    }

    static let period = RevenueCatRule(
        kind: .revenueCatPeriod, columns: [.startTime, .endTime]
    ) { line, apple in
        var found: [Found] = []
        if let theirs = line.startTime, let known = apple.purchaseDate, differ(theirs, known) {
            found.append((.startTime, .time(theirs), .time(known), .neutral))
        }
        if let theirs = line.endTime, let known = apple.expiresDate, differ(theirs, known) {
            let direction = apple.current == nil ? .neutral : loser(theirs, known)
            found.append((.endTime, .time(theirs), .time(known), direction))
        }
        return found
    }

    static let grace = RevenueCatRule(
        kind: .revenueCatGrace, columns: [.gracePeriodEndTime]
    ) { line, apple in
        guard let current = apple.current else { return [] }
        let theirs = line.gracePeriodEndTime
        let known = current.gracePeriodExpiresDate
        let direction: Direction
        switch (theirs, known) {
        case (nil, nil): return []
        case (let theirs?, let known?):
            guard differ(theirs, known) else { return [] }
            direction = loser(theirs, known)
        case (nil, _): direction = .customerLoses
        case (_, nil): direction = .companyLoses
        }
        return [(.gracePeriodEndTime, FieldValue(theirs), FieldValue(known), direction)]
    }

    /// Apple's side is whether the subscription is in billing retry, as its status says.
    ///
    /// A mark on a subscription that has ended since is history and no difference.
    static let billingIssue = RevenueCatRule(
        kind: .revenueCatBillingIssue, columns: [.billingIssuesDetectedAt]
    ) { line, apple in
        guard let status = apple.current?.status,
            [.active, .billingRetry, .billingGracePeriod].contains(status)
        else { return [] }
        let isInRetry = status != .active
        let detected = line.billingIssuesDetectedAt
        guard isInRetry != (detected != nil) else { return [] }
        let known = FieldValue.integer(Int64(status.rawValue))
        return [(.billingIssuesDetectedAt, FieldValue(detected), known, .neutral)]
    }

    static let accessEnd = RevenueCatRule(
        kind: .revenueCatAccessEnd, columns: [.effectiveEndTime]
    ) { line, apple in
        guard let current = apple.current, let theirs = line.effectiveEndTime,
            let known = apple.endOfAccess
        else { return [] }
        // After a grace period that ended without a payment, RevenueCat keeps its end.
        let accepted =
            [known]
            + (apple.revocationDate == nil ? [current.gracePeriodExpiresDate] : [])
            .compactMap(\.self)
        let isNear = accepted.contains { end in
            let (apart, overflow) = theirs.unixMilliseconds.subtractingReportingOverflow(
                end.unixMilliseconds)
            return !overflow && apart.magnitude <= Milliseconds.perDay.magnitude
        }
        guard !isNear else { return [] }
        return [(.effectiveEndTime, .time(theirs), .time(known), loser(theirs, known))]
    }

    /// RevenueCat's time is that of detection, so only presence is compared.
    static let refund = RevenueCatRule(kind: .revenueCatRefund, columns: [.refundedAt]) {
        line, apple in
        guard (line.refundedAt != nil) != (apple.revocationDate != nil) else { return [] }
        let direction: Direction = line.refundedAt == nil ? .companyLoses : .customerLoses
        let (theirs, known) = (FieldValue(line.refundedAt), FieldValue(apple.revocationDate))
        return [(.refundedAt, theirs, known, direction)]
    }

    static let renewal = RevenueCatRule(
        kind: .revenueCatRenewal, columns: [.unsubscribeDetectedAt]
    ) { line, apple in
        let detected = line.unsubscribeDetectedAt
        guard let current = apple.current, let renews = current.renews,
            [.active, .billingRetry, .billingGracePeriod].contains(current.status),
            renews == (detected != nil)
        else { return [] }
        return [(.unsubscribeDetectedAt, FieldValue(detected), .integer(renews ? 1 : 0), .neutral)]
    }

    static let ownership = RevenueCatRule(kind: .revenueCatOwnership, columns: [.ownership]) {
        line, apple in
        guard let theirs = line.ownership, let known = apple.ownership, theirs != known else {
            return []
        }
        return [(.ownership, .text(theirs), .text(known), .neutral)]
    }

    static let environment = RevenueCatRule(kind: .revenueCatEnvironment, columns: [.isSandbox]) {
        line, apple in
        guard let isSandbox = line.isSandbox,
            isSandbox != (apple.environment == AppStoreEnvironment.sandbox.rawValue)
        else { return [] }
        let direction: Direction = isSandbox ? .customerLoses : .companyLoses
        let theirs = isSandbox ? "true" : "false"
        return [(.isSandbox, .text(theirs), .text(apple.environment), direction)]
    }

    /// Members of a family pay nothing, and the two sides state that differently.
    static let price = RevenueCatRule(kind: .revenueCatPrice, columns: [.price, .currency]) {
        line, apple in
        guard apple.ownership != "FAMILY_SHARED" else { return [] }
        if let theirs = line.currency, let known = apple.currency, theirs != known {
            return [(.currency, .text(theirs), .text(known), .neutral)]
        }
        guard let theirs = line.price, let known = apple.price, theirs != known else { return [] }
        return [(.price, .integer(theirs), .integer(known), .neutral)]
    }

    static let entitlement = RevenueCatRule(
        kind: .revenueCatEntitlement, columns: [.entitlements]
    ) { line, apple in
        guard let known = apple.entitlements else { return [] }
        let theirs = line.entitlements ?? ""
        guard theirs != known else { return [] }
        let isEntitling = apple.current?.status.isEntitling ?? false
        let lacksOne = !Set(known.split(separator: ",")).isSubset(of: theirs.split(separator: ","))
        let direction: Direction =
            !isEntitling ? .neutral : lacksOne ? .customerLoses : .companyLoses
        return [(.entitlements, FieldValue(line.entitlements), .text(known), direction)]
    }
}

/// The counts of a comparison in words.
package enum RevenueCatSentence {
    /// Says what a kind of difference in one direction means for the customers that it concerns.
    package static func of(_ count: CompareCount) -> String {
        let customers =
            count.customers == 1
            ? "1 customer" : "\(grouped(count.customers)) customers"
        let lines = "\(grouped(count.lines)) \(count.lines == 1 ? "line" : "lines")"
        let meaning: String
        switch (count.kind, count.direction) {
        case (.revenueCatRefund, .companyLoses):
            meaning = "RevenueCat shows a purchase as paid that Apple refunded or revoked"
        case (.revenueCatRefund, _):
            meaning = "RevenueCat shows a refund, and Apple has taken nothing back"
        case (.revenueCatMissing, .customerLoses):
            meaning =
                "Apple signed a subscription that gives access, and RevenueCat does not have it"
        case (.revenueCatMissing, _):
            meaning = "Apple signed a transaction that RevenueCat does not have"
        case (.revenueCatUnknown, .companyLoses):
            meaning = "RevenueCat gives access for a transaction that Apple does not know"
        case (.revenueCatUnknown, _):
            meaning = "RevenueCat has a transaction that Apple does not know"
        case (.revenueCatPeriod, .companyLoses):
            meaning = "RevenueCat's period ends later than the one that Apple signed"
        case (.revenueCatPeriod, .customerLoses):
            meaning = "RevenueCat's period ends earlier than the one that Apple signed"
        case (.revenueCatPeriod, .neutral):
            meaning = "RevenueCat states another beginning, or another end of an earlier period"
        case (.revenueCatGrace, .customerLoses):
            meaning = "Apple grants a grace period that RevenueCat lacks or ends earlier"
        case (.revenueCatGrace, _):
            meaning = "RevenueCat grants a grace period that Apple does not, or ends it later"
        case (.revenueCatAccessEnd, .companyLoses):
            meaning = "RevenueCat ends access more than a day later than Apple"
        case (.revenueCatAccessEnd, _):
            meaning = "RevenueCat ends access more than a day earlier than Apple"
        case (.revenueCatBillingIssue, _):
            meaning = "the two disagree whether Apple is retrying a failed payment"
        case (.revenueCatRenewal, _):
            meaning = "the two disagree whether the subscription renews"
        case (.revenueCatProduct, _): meaning = "RevenueCat names another product than Apple"
        case (.revenueCatOwnership, _):
            meaning = "the two disagree whether the purchase came by Family Sharing"
        case (.revenueCatEnvironment, .companyLoses):
            meaning = "RevenueCat shows a sandbox purchase as real"
        case (.revenueCatEnvironment, _):
            meaning = "RevenueCat shows a real purchase as one of the sandbox"
        case (.revenueCatPrice, _): meaning = "RevenueCat states another price or currency"
        case (.revenueCatEntitlement, .customerLoses):
            meaning = "RevenueCat gives less than the catalogue does for the product"
        case (.revenueCatEntitlement, _):
            meaning = "RevenueCat gives other entitlements than the catalogue"
        case (.salesActive, _), (.salesEvent, _), (.salesRefund, _), (.salesPopulation, _):
            return ""
        }
        return "\(customers) (\(lines)): \(meaning)."
    }

    /// A number with separators between thousands.
    package static func grouped(_ number: Int) -> String {
        var digits = String(number)
        var end = digits.endIndex
        while digits.distance(from: digits.startIndex, to: end) > 3 {
            end = digits.index(end, offsetBy: -3)
            digits.insert(",", at: end)
        }
        return digits
    }
}
