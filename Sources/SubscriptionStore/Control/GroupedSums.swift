import GRDB
import Subscriptions

/// Which apps' totals are kept apart: all, unless the rows name more strange ones than anybody reads.
struct ControlGroups: Hashable {
    /// The configured apps, as bundle id and environment.
    let configured: Set<[String]>
    /// Whether the apps that are not configured count as one.
    var joinsOthers = false

    /// More of them than these are joined.
    static let othersKeptApart = 20
    /// The name of the others where they count as one.
    static let others = ["", ""]

    init(_ apps: [AppIdentity]) {
        configured = Set(apps.map { [$0.bundleID, $0.environment.rawValue] })
    }

    /// Under which app rows of an app count.
    func group(of app: [String]) -> [String] {
        joinsOthers && !configured.contains(app) ? Self.others : app
    }

    /// The same sums by group.
    func joined(_ sums: [[String]: ControlSums]) -> [[String]: ControlSums] {
        Dictionary(sums.map { (group(of: $0.key), $0.value) }, uniquingKeysWith: +)
    }
}

/// Sums by app, collected row by row.
///
/// Held are a few numbers for each app and currency, however many rows there are.
struct GroupedSums {
    private(set) var groups: ControlGroups
    private var tallies: [[String]: Tally] = [:]
    /// The app of the rows that come, with what was counted of it since they began: neighbours nearly
    /// always have the same.
    private var bundleID = ""
    private var environment = ""
    private var current = Tally()

    init(_ groups: ControlGroups) { self.groups = groups }

    private struct Tally {
        /// By group of a status, 0 to 5.
        var statuses = [0, 0, 0, 0, 0, 0]
        var prices: [CurrencyCode: (periods: Int, amount: Int128)] = [:]

        mutating func add(_ other: Tally) {
            for index in statuses.indices { statuses[index] &+= other.statuses[index] }
            for (currency, price) in other.prices {
                let known = prices[currency] ?? (0, 0)
                prices[currency] = (
                    known.periods &+ price.periods, known.amount &+ price.amount
                )
            }
        }

        /// An amount that no column of 64 bits holds stands as the largest that one does.
        var sums: ControlSums {
            var sums = ControlSums()
            for (group, rows) in statuses.enumerated() where rows > 0 {
                sums.add(rows: rows, ofStatus: group)
            }
            for (currency, price) in prices {
                sums.add(
                    periods: price.periods, amount: Int64(clamping: price.amount),
                    in: currency.text)
            }
            return sums
        }
    }

    /// Adds a row whose first columns are bundle id and environment.
    mutating func add(status: Int64?, of row: ColumnsInPlace) {
        turn(to: row)
        current.statuses[ControlSums.group(ofStatus: status)] &+= 1
    }

    /// Adds a period whose first columns are bundle id and environment.
    mutating func add(price: (currency: CurrencyCode, amount: Int64), of row: ColumnsInPlace) {
        turn(to: row)
        let known = current.prices[price.currency] ?? (0, 0)
        current.prices[price.currency] = (
            known.periods &+ 1, known.amount &+ Int128(price.amount)
        )
    }

    private mutating func turn(to row: ColumnsInPlace) {
        guard !row.holds(bundleID, at: 0) || !row.holds(environment, at: 1) else { return }
        keep()
        bundleID = row.shownText(at: 0)
        environment = row.shownText(at: 1)
    }

    private mutating func keep() {
        defer { current = Tally() }
        guard current.statuses.contains(where: { $0 > 0 }) || !current.prices.isEmpty else {
            return
        }
        tallies[groups.group(of: [bundleID, environment]), default: Tally()].add(current)
        guard !groups.joinsOthers,
            tallies.keys.count(where: { !groups.configured.contains($0) })
                > ControlGroups.othersKeptApart
        else { return }
        groups.joinsOthers = true
        var joined: [[String]: Tally] = [:]
        for (app, tally) in tallies { joined[groups.group(of: app), default: Tally()].add(tally) }
        tallies = joined
    }

    /// What was counted, by group.
    var sums: [[String]: ControlSums] {
        mutating get {
            keep()
            return tallies.mapValues(\.sums)
        }
    }
}
