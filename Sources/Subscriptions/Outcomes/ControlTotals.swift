/// Rows by status and prices by currency of one app, added up, so that two counts can be compared.
package struct ControlSums: Hashable, Sendable, Codable {
    /// Periods of a currency.
    package struct Price: Hashable, Sendable, Codable {
        package var periods: Int
        /// Milliunits.
        package var amount: Int64

        package init(periods: Int, amount: Int64) {
            self.periods = periods
            self.amount = amount
        }

        fileprivate var isNothing: Bool { periods == 0 && amount == 0 }
    }

    /// Rows by Apple's number of a status, 1 to 5; 0 where none of them is.
    package var statuses: [Int: Int]
    /// Periods by ISO 4217 currency; empty text where none is.
    package var prices: [String: Price]

    package init(statuses: [Int: Int] = [:], prices: [String: Price] = [:]) {
        self.statuses = statuses
        self.prices = prices
    }

    /// The five statuses, and none of them.
    package static let statusGroups = [1, 2, 3, 4, 5, 0]

    /// Under which group a stored status counts.
    package static func group(ofStatus status: Int64?) -> Int {
        guard let status, (1...5).contains(status) else { return 0 }
        return Int(status)
    }

    /// Under which currency a stored code counts: three capital letters, otherwise none.
    package static func group(ofCurrency code: String?) -> String {
        guard let code, code.utf8.count == 3,
            code.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { return "" }
        return code
    }

    package var rows: Int { statuses.values.reduce(0) { $0.addingClamped($1) } }
    /// Whether nothing is counted, or all of it cancels out.
    package var isNothing: Bool {
        statuses.values.allSatisfy { $0 == 0 } && prices.values.allSatisfy(\.isNothing)
    }

    package mutating func add(rows: Int, ofStatus group: Int) {
        statuses[group] = (statuses[group] ?? 0).addingClamped(rows)
    }

    package mutating func add(periods: Int, amount: Int64, in currency: String) {
        let known = prices[currency] ?? Price(periods: 0, amount: 0)
        prices[currency] = Price(
            periods: known.periods.addingClamped(periods),
            amount: known.amount.addingClamped(amount))
    }

    /// Both together.
    package static func + (left: ControlSums, right: ControlSums) -> ControlSums {
        var sums = left
        for (group, rows) in right.statuses { sums.add(rows: rows, ofStatus: group) }
        for (currency, price) in right.prices {
            sums.add(periods: price.periods, amount: price.amount, in: currency)
        }
        return sums
    }

    /// Subtracts the second sums from the first.
    package static func - (left: ControlSums, right: ControlSums) -> ControlSums {
        left
            + ControlSums(
                statuses: right.statuses.mapValues(negated),
                prices: right.prices.mapValues {
                    Price(periods: negated($0.periods), amount: negated($0.amount))
                })
    }

    private static func negated<Number: FixedWidthInteger>(_ number: Number) -> Number {
        number == .min ? .max : 0 - number
    }
}

/// The control totals of a run, by app: how what was before and what was written come to what
/// stands.
///
///     at the end of the run before + what runs wrote that counted nothing + what others wrote
///         = at the beginning
///     at the beginning + corrections + what others wrote meanwhile = at the end
///
/// The sums are counted in the tables, the corrections in the ledger: what others wrote is what is
/// left.
package struct ControlTotals: Hashable, Sendable, Codable {
    /// The newest entry of the ledger when the tables were counted last.
    package var ledgerEntry: Int64
    package var apps: [AppControlTotals]

    package init(ledgerEntry: Int64, apps: [AppControlTotals]) {
        self.ledgerEntry = ledgerEntry
        self.apps = apps
    }
}

/// The control totals of one app.
package struct AppControlTotals: Hashable, Sendable, Codable {
    /// The counts of an earlier run at its end.
    package struct Previous: Hashable, Sendable, Codable {
        package var runID: String
        package var sums: ControlSums

        package init(runID: String, sums: ControlSums) {
            self.runID = runID
            self.sums = sums
        }
    }

    package var bundleID: String
    package var environment: String
    /// `nil` where no earlier run of any job counted this app.
    package var previous: Previous?
    /// The corrections of runs since then that counted nothing: killed ones and partial ones.
    package var uncounted: ControlSums
    package var before: ControlSums
    /// The corrections of this run.
    package var corrections: ControlSums
    package var after: ControlSums
    package var judged: JudgedTotals

    package init(
        bundleID: String, environment: String, previous: Previous?, uncounted: ControlSums,
        before: ControlSums, corrections: ControlSums, after: ControlSums, judged: JudgedTotals
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.previous = previous
        self.uncounted = uncounted
        self.before = before
        self.corrections = corrections
        self.after = after
        self.judged = judged
    }

    /// The changes by other programs since the earlier run; `nil` without one.
    package var othersSince: ControlSums? {
        previous.map { before - ($0.sums + uncounted) }
    }

    /// The changes by other programs during the run.
    package var othersMeanwhile: ControlSums { after - (before + corrections) }
}

/// Both sides of the rows that agree with Apple or differ, each counted by itself.
///
/// Prices are those of one period a row: the one that Apple states, and the one that the row names
/// as its latest.
package struct JudgedTotals: Hashable, Sendable, Codable {
    /// Our rows as they were checked; without prices.
    package var before: ControlSums
    /// The values that Apple stated for them; under 0 the rows about which it states nothing.
    package var apple: ControlSums
    /// Our rows at the end of the run.
    package var after: ControlSums

    package init(before: ControlSums, apple: ControlSums, after: ControlSums) {
        self.before = before
        self.apple = apple
        self.after = after
    }
}
