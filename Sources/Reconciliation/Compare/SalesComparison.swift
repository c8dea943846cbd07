package import Subscriptions

/// The sums of the lines of App Store Connect's reports.
package struct SalesSums: Sendable {
    /// The lines whose sums are compared together: all of a product and a day, or those of an event.
    struct Group: Hashable, Sendable {
        let appleID: String
        let day: Int64
        let report: SalesReport
        /// `nil` for a report of states, whose lines have all measures.
        let measure: SalesMeasure?
    }

    private(set) var lines: [Group: Int] = [:]
    private(set) var counts: [Group: [SalesMeasure: Int64]] = [:]
    private(set) var unsigned = 0
    /// The days that each report is about.
    package private(set) var days: [SalesReport: Set<Int64>] = [:]
    /// The file that has the lines of a product and a day.
    private var files: [Group: Int] = [:]

    package init() {}

    /// Adds a line.
    ///
    /// - Parameters:
    ///   - line: One with a day.
    ///   - file: The number of its file.
    /// - Returns: The number of an earlier file that has lines of the same report, product and day:
    ///   then the line is not added, because it would count twice.
    package mutating func add(_ line: SalesLine, ofFile file: Int) -> Int? {
        guard let day = line.day else { return nil }
        cover(day, by: line.report)
        let whole = Group(appleID: line.appleID, day: day, report: line.report, measure: nil)
        let owner = files[whole] ?? file
        guard owner == file else { return owner }
        files[whole] = file
        guard !line.counts.isEmpty else {
            unsigned += 1
            return nil
        }
        let group = Group(
            appleID: line.appleID, day: day, report: line.report,
            measure: line.report == .subscription ? nil : line.counts.keys.first)
        lines[group, default: 0] += 1
        for (measure, count) in line.counts {
            counts[group, default: [:]][measure, default: 0] &+= count
        }
        return nil
    }

    /// Notes that a report is about a day, also where it has no line.
    package mutating func cover(_ day: Int64, by report: SalesReport) {
        days[report, default: []].insert(day)
    }

    /// All days, in ascending order.
    package var allDays: [Int64] {
        days.values.reduce(into: Set<Int64>()) { $0.formUnion($1) }.sorted()
    }

    package var lineCount: Int { lines.values.reduce(unsigned, +) }
}

/// Holds App Store Connect's sums against the ones of Apple's signed statements.
package struct SalesComparison: Sendable {
    /// Reports of younger days still get late entries: the shares that a vendor measured as late after
    /// 0 and after 3 days, in thousandths; after 14 days none.
    private static let late: [(fromDays: Int64, thousandths: Int64)] = [(0, 280), (3, 2)]
    private static let settledDays: Int64 = 14

    let sums: SalesSums
    let own: SalesCounter
    /// Product ids by Apple's numbers.
    let products: [String: String]
    let today: Int64
    private let places: [Int64: Int]
    /// The days before, for what is not explained.
    private let history: [String: [SalesDay]]

    package private(set) var totals = CompareTotals()
    package private(set) var differences: [CompareDifference] = []
    package private(set) var days: [SalesDay] = []
    /// Apple's numbers in the files that are not mapped.
    package private(set) var unmapped: Set<String> = []
    /// The most subscriptions that Apple counts and trueup has no row of, on one day.
    package private(set) var unseen: Int64 = 0

    package init(
        _ sums: SalesSums, own: SalesCounter, products: [String: String], today: Int64,
        history: [SalesDay]
    ) {
        self.sums = sums
        self.own = own
        self.products = products
        self.today = today
        places = Dictionary(
            sums.allDays.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        self.history = Dictionary(grouping: history) { $0.measure + "\n" + $0.productID }
        run()
    }

    private mutating func run() {
        if sums.unsigned > 0 { totals.leaveOut(.eventNotSigned, lines: sums.unsigned) }
        for (group, lines) in sums.lines where products[group.appleID] == nil {
            unmapped.insert(group.appleID)
            totals.leaveOut(.productNotMapped, lines: lines)
        }
        let mapped = products.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        for (appleID, product) in mapped {
            for day in sums.allDays {
                compareStates(appleID, product, day)
                for report in [SalesReport.event, .subscriber] {
                    for measure in Self.measures(of: report) {
                        compareEvents(appleID, product, day, report, measure)
                    }
                }
            }
        }
        var bound: [String: Int64] = [:]
        for difference in differences
        where difference.field == SalesMeasure.subscriptions.rawValue {
            guard let detail = difference.sales, case .integer(let theirs) = difference.theirs,
                case .integer(let apple) = difference.apple
            else { continue }
            bound[detail.day, default: 0] += theirs - apple
        }
        for (day, place) in places {
            guard let gap = bound[CivilDate.text(ofDay: day)] else { continue }
            unseen = max(unseen, gap - own.withoutProduct(day: place))
        }
    }

    private static func measures(of report: SalesReport) -> [SalesMeasure] {
        switch report {
        case .subscription: []
        case .event: [.new, .renewed, .recovered, .changed, .cancelled, .refunded]
        case .subscriber: [.purchased, .refundedUnits]
        }
    }

    // MARK: One group of lines

    private mutating func compareStates(_ appleID: String, _ product: String, _ day: Int64) {
        guard sums.days[.subscription]?.contains(day) == true else { return }
        let group = SalesSums.Group(
            appleID: appleID, day: day, report: .subscription, measure: nil)
        let lines = sums.lines[group]
        let counts = sums.counts[group] ?? [:]
        var found: [CompareDifference] = []
        var isUndecided = false
        for measure in SalesMeasure.states {
            let verdict = verdict(measure, product, day, theirs: counts[measure] ?? 0)
            found += verdict.found
            if verdict.isUndecided { isUndecided = true }
        }
        let place = places[day] ?? 0
        var (active, ownActive) = (Int64(0), Int64(0))
        for measure in SalesMeasure.active {
            active &+= counts[measure] ?? 0
            ownActive += own.count(product, measure, day: place).own
        }
        note(
            SalesSummary.activeMeasure, product, day, active, ownActive,
            unexplained: (active - ownActive).size)
        let theirs = SalesMeasure.states.reduce(Int64(0)) { $0 &+ (counts[$1] ?? 0) }
        if let missing = population(product, day, theirs: theirs) { found.append(missing) }
        settle(found, isUndecided: isUndecided, lines: lines, product)
    }

    private mutating func compareEvents(
        _ appleID: String, _ product: String, _ day: Int64, _ report: SalesReport,
        _ measure: SalesMeasure
    ) {
        guard sums.days[report]?.contains(day) == true else { return }
        let group = SalesSums.Group(appleID: appleID, day: day, report: report, measure: measure)
        let theirs = sums.counts[group]?[measure] ?? 0
        let (found, isUndecided) = verdict(measure, product, day, theirs: theirs)
        settle(found, isUndecided: isUndecided, lines: sums.lines[group], product)
    }

    /// The difference of one number, if there is one, or whether it cannot be told yet.
    private mutating func verdict(
        _ measure: SalesMeasure, _ product: String, _ day: Int64, theirs: Int64
    ) -> (found: [CompareDifference], isUndecided: Bool) {
        let count = own.count(product, measure, day: places[day] ?? 0)
        let gap = theirs - count.own
        if gap == 0 {
            note(measure.rawValue, product, day, theirs, count.own, unexplained: 0)
            return ([], false)
        }
        if gap.size <= count.open(gap) { return ([], true) }
        let explained = explanations(gap, count, theirs: theirs, day, measure)
        let rest = gap.size - explained.values.reduce(0, +)
        var difference = CompareDifference(
            kind: measure.kind, theirs: .integer(theirs), apple: .integer(count.own),
            direction: direction(measure, gap))
        difference.field = measure.rawValue
        difference.sales = detail(product, day, measure, explained, rest)
        note(measure.rawValue, product, day, theirs, count.own, unexplained: rest)
        return ([difference], false)
    }

    /// The part of a difference that each reason explains; together no more than the difference.
    private func explanations(
        _ gap: Int64, _ count: SalesCounter.Count, theirs: Int64, _ day: Int64,
        _ measure: SalesMeasure
    ) -> [SalesExplanation: Int64] {
        var explained: [SalesExplanation: Int64] = [:]
        var rest = gap.size
        func take(_ reason: SalesExplanation, _ most: Int64) {
            let part = min(rest, most)
            guard part > 0 else { return }
            explained[reason] = part
            rest -= part
        }
        take(.timeZone, gap.size - (theirs - count.otherZone).size)
        take(.unchecked, count.open(gap))
        if gap > 0 {
            take(.familyShared, count.familyShared)
            take(.sandbox, count.sandbox)
        } else if measure.kind != .salesActive {
            take(.settlement, lateEntries(count.own, day))
        }
        return explained
    }

    /// How many entries of a day may still be missing in the report.
    private func lateEntries(_ own: Int64, _ day: Int64) -> Int64 {
        let age = today - day
        guard age < Self.settledDays, let share = Self.late.last(where: { age >= $0.fromDays })
        else { return 0 }
        return (own * share.thousandths + 999) / 1000
    }

    /// A difference where Apple counts more subscriptions than trueup has rows of.
    ///
    /// Rows without a product may be among them, and explain as many.
    private mutating func population(
        _ product: String, _ day: Int64, theirs: Int64
    ) -> CompareDifference? {
        let place = places[day] ?? 0
        let name = SalesMeasure.subscriptions.rawValue
        var rows: Int64 = 0
        for measure in SalesMeasure.states { rows += own.count(product, measure, day: place).own }
        rows += own.count(product, .subscriptions, day: place).unchecked
        let withoutProduct = own.withoutProduct(day: place)
        guard theirs - rows > withoutProduct else {
            note(name, product, day, theirs, rows, unexplained: 0)
            return nil
        }
        var difference = CompareDifference(
            kind: .salesPopulation, theirs: .integer(theirs), apple: .integer(rows),
            direction: .customerLoses)
        difference.field = name
        let rest = theirs - rows - withoutProduct
        difference.sales = detail(
            product, day, .subscriptions, withoutProduct > 0 ? [.unchecked: withoutProduct] : [:],
            rest)
        note(name, product, day, theirs, rows, unexplained: rest)
        return difference
    }

    private func detail(
        _ product: String, _ day: Int64, _ measure: SalesMeasure,
        _ explained: [SalesExplanation: Int64], _ rest: Int64
    ) -> SalesDetail {
        var detail = SalesDetail(
            productID: product, day: CivilDate.text(ofDay: day), lines: 0, explained: explained,
            unexplained: rest)
        let earlier = history[measure.rawValue + "\n" + product] ?? []
        detail.history = earlier.filter { $0.day < detail.day }.suffix(Self.shownHistory)
        return detail
    }

    private static let shownHistory = 14

    private mutating func note(
        _ measure: String, _ product: String, _ day: Int64, _ theirs: Int64, _ own: Int64,
        unexplained: Int64
    ) {
        guard theirs != 0 || own != 0 else { return }
        days.append(
            SalesDay(
                day: CivilDate.text(ofDay: day), measure: measure, theirs: theirs,
                apple: own, unexplained: unexplained, productID: product))
    }

    private func direction(_ measure: SalesMeasure, _ gap: Int64) -> Direction {
        switch measure {
        case .refunded, .refundedUnits: gap > 0 ? .companyLoses : .neutral
        case .billingRetry, .gracePeriod, .cancelled: .neutral
        case .new, .renewed, .recovered, .changed, .purchased: gap > 0 ? .customerLoses : .neutral
        default: gap > 0 ? .customerLoses : .companyLoses
        }
    }

    /// Counts the lines of a group once, and keeps its differences.
    ///
    /// Where trueup has no row of the product, Apple alone knows what the lines are about.
    private mutating func settle(
        _ found: [CompareDifference], isUndecided: Bool, lines: Int?, _ product: String
    ) {
        var found = found
        guard !found.isEmpty else {
            guard let lines else { return }
            if isUndecided {
                totals.leaveOut(.rowsUnchecked, lines: lines)
            } else {
                totals.matched += lines
            }
            return
        }
        guard let lines else {
            // Signed statements have it, and no line does.
            for place in found.indices { found[place].theirs = .null }
            totals.onlyApple += found.count
            differences += found
            return
        }
        if own.products.contains(product) {
            totals.different += lines
        } else {
            // Said once for the product and day, or by the event.
            totals.onlyTheirs += lines
            let population = found.filter { $0.kind == .salesPopulation }
            found = population.isEmpty ? Array(found.prefix(1)) : population
            for place in found.indices { found[place].kind = .salesPopulation }
        }
        if !found.isEmpty { found[0].sales?.lines = lines }
        differences += found
    }

    /// How many differences of each kind and direction there are, with their sentences.
    package var counts: [CompareCount] {
        CompareKind.allCases.flatMap { kind in
            Direction.allCases.compactMap { direction -> CompareCount? in
                let chosen = differences.filter { $0.kind == kind && $0.direction == direction }
                guard !chosen.isEmpty else { return nil }
                let amount = chosen.reduce(Int64(0)) { $0 + $1.amount }
                var count = CompareCount(
                    kind: kind, direction: direction, differences: chosen.count,
                    customers: Int(clamping: amount))
                let rest = chosen.reduce(Int64(0)) { $0 + ($1.sales?.unexplained ?? 0) }
                count.sentence = count.salesSentence(unexplained: Int(clamping: rest))
                return count
            }
        }
    }
}

extension CompareDifference {
    /// By how much the two sums differ.
    fileprivate var amount: Int64 {
        var numbers: [Int64] = []
        for value in [theirs, apple] {
            if case .integer(let number) = value {
                numbers.append(number)
            } else {
                numbers.append(0)
            }
        }
        return (numbers[0] - numbers[1]).size
    }
}

extension CompareCount {
    /// Says what a kind of difference in one direction means, for sums.
    fileprivate func salesSentence(unexplained: Int) -> String {
        let places =
            "\(RevenueCatSentence.grouped(differences)) "
            + (differences == 1 ? "number" : "numbers")
        let meaning =
            switch (kind, direction) {
            case (.salesActive, .customerLoses):
                "Apple counts subscriptions as active that trueup's signed statements do not show. "
                    + "Their customers may pay without access"
            case (.salesActive, .companyLoses):
                "signed statements show subscriptions as active that Apple does not count. "
                    + "They may have access without paying"
            case (.salesActive, _):
                "the two count failed payments (billing retry, grace period) differently"
            case (.salesEvent, .customerLoses):
                "Apple counts purchases that trueup's signed statements do not show"
            case (.salesEvent, _):
                "signed statements show events that Apple's report does not count, or the other way round"
            case (.salesRefund, .companyLoses):
                "Apple counts refunds that trueup's signed statements do not show. "
                    + "These customers may keep access"
            case (.salesRefund, _):
                "signed statements show refunds that Apple's report does not count"
            default:
                "Apple counts more subscriptions than trueup has rows of. "
                    + "No run can check the missing ones"
            }
        return "\(RevenueCatSentence.grouped(customers)) in \(places): \(meaning). "
            + "\(RevenueCatSentence.grouped(unexplained)) of it is not explained."
    }
}

extension Int64 {
    /// The number without its sign.
    fileprivate var size: Int64 { Int64(clamping: magnitude) }
}
