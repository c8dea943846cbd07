import Foundation
import GRDB
import Subscriptions

/// Counts the company's tables before and after a run, and brings the two counts together.
///
/// Everything is read in one transaction with the ledger's end, so that each written correction is
/// known to be in a count or not. Rows of apps that are not configured are counted as well: with
/// them the sums are those of the whole tables. A run that is limited, or that only reads
/// notifications, counts nothing: it would read all rows for the sake of a few.
struct ControlCount {
    let db: Database
    let header: RunHeader

    /// As the run begins; `nil` for a run that counts nothing.
    func begin() throws -> CountedTables? {
        guard header.filters.isEmpty, header.countsTables else { return nil }
        var counted = try count(in: ControlGroups(header.apps))
        let sums = counted.sums
        // An app without rows is counted like any other.
        let apps = Set(sums.keys).union(counted.groups.configured)
        return CountedTables(
            ledgerEntry: try Ledger(db: db).head().number,
            apps: apps.sorted(by: Self.precedes).map { app in
                CountedTables.App(
                    bundleID: app[0], environment: app[1], sums: sums[app] ?? ControlSums())
            })
    }

    /// At the end of a run, in the transaction's view; `nil` where its beginning was not counted.
    func end(of run: RunReference) throws -> ControlTotals? {
        let stored = try String.fetchOne(
            db, sql: "SELECT counted FROM trueup_runs WHERE run_seq = ?",
            arguments: [run.sequence])
        guard let counted: CountedTables = try StoredJSON.decode(stored) else { return nil }
        let head = try Ledger(db: db).head().number
        var standing = try count(in: ControlGroups(header.apps))
        let sums = standing.sums
        var groups = standing.groups
        let begun = Dictionary(
            counted.apps.map { ([$0.bundleID, $0.environment], $0.sums) }, uniquingKeysWith: +)
        // What one count joins is joined in the other.
        groups.joinsOthers = groups.joinsOthers || begun[ControlGroups.others] != nil
        let (before, after) = (groups.joined(begun), groups.joined(sums))
        let corrections = groups.joined(try effects(after: counted.ledgerEntry, through: head))
        let judged = try judged(inPass: run.passID, in: groups)
        let earlier = try previous(groups, before: run)
        let apps = Set(before.keys).union(after.keys).union(groups.configured)
            .union(earlier.stood)
        return ControlTotals(
            ledgerEntry: head,
            apps: try apps.sorted(by: Self.precedes).map { app in
                let previous = earlier.byApp[app]
                let uncounted = try previous.map {
                    groups.joined(
                        try effects(after: $0.entry, through: counted.ledgerEntry))[app]
                }
                return AppControlTotals(
                    bundleID: app[0], environment: app[1],
                    previous: previous?.totals, uncounted: (uncounted ?? nil) ?? ControlSums(),
                    before: before[app] ?? ControlSums(),
                    corrections: corrections[app] ?? ControlSums(),
                    after: after[app] ?? ControlSums(),
                    judged: judged[app]
                        ?? JudgedTotals(
                            before: ControlSums(), apple: ControlSums(), after: ControlSums()))
            })
    }

    /// Reads the counts of the last runs, each app's at its end.
    ///
    /// - Parameters:
    ///   - groups: Which apps are kept apart.
    ///   - run: The run before which they ended.
    /// - Returns: By app, from the last run of whatever job that counted it, with the ledger's end
    ///   there; and the apps that had rows or periods when the last of these runs ended.
    /// - Throws: What reading the database throws.
    private func previous(
        _ groups: ControlGroups, before run: RunReference
    ) throws -> (
        byApp: [[String]: (totals: AppControlTotals.Previous, entry: Int64)], stood: Set<[String]>
    ) {
        var byApp: [[String]: (totals: AppControlTotals.Previous, entry: Int64)] = [:]
        var stood: Set<[String]> = []
        var isNewest = true
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT run_id, control FROM trueup_runs
                WHERE run_seq < ? AND control IS NOT NULL ORDER BY run_seq DESC
                """, arguments: [run.sequence])
        while let row = try rows.next() {
            let totals: ControlTotals? = try StoredJSON.decode(row.text(at: 1))
            guard let totals else { continue }
            let ended = groups.joined(
                Dictionary(
                    totals.apps.map { ([$0.bundleID, $0.environment], $0.after) },
                    uniquingKeysWith: +))
            for (app, sums) in ended where byApp[app] == nil {
                let previous = AppControlTotals.Previous(
                    runID: row.requiredText(at: 0), sums: sums)
                byApp[app] = (previous, totals.ledgerEntry)
            }
            if isNewest { stood = Set(ended.filter { !$0.value.isNothing }.keys) }
            isNewest = false
            if groups.configured.isSubset(of: byApp.keys) { break }
        }
        return (byApp, stood)
    }

    private static func precedes(_ left: [String], _ right: [String]) -> Bool {
        left.lexicographicallyPrecedes(right)
    }
}

/// Adding up the company's tables by app: each table read once, in its own order, in a transaction
/// that only reads.
///
/// SQLite would sort all periods to group them by currency, which costs several times what reading
/// does.
extension ControlCount {
    /// The counts of both tables now.
    private func count(in groups: ControlGroups) throws -> GroupedSums {
        var sums = GroupedSums(groups)
        try read("SELECT x.bundle_id, x.environment, x.status FROM subscriptions AS x") { row in
            sums.add(status: row.integer(at: 2), of: row)
        }
        try read(
            "SELECT x.bundle_id, x.environment, x.currency, x.price FROM transactions AS x"
        ) { row in
            sums.add(price: Self.price(row, currency: 2, price: 3), of: row)
        }
        return sums
    }

    /// Both sides of the rows that the checkpoint has checked.
    private func judged(
        inPass passID: Int64, in groups: ControlGroups
    ) throws -> [[String]: JudgedTotals] {
        var before = GroupedSums(groups)
        var apple = GroupedSums(groups)
        var after = GroupedSums(groups)
        try read(
            """
            SELECT p.bundle_id, p.environment, p.our_status, p.apple_status, s.status,
                p.apple_currency, p.apple_price, x.currency, x.price
            FROM trueup_pass_rows AS p
            LEFT JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "p"))
            LEFT JOIN transactions AS x ON x.bundle_id = s.bundle_id
                AND x.environment = s.environment AND x.transaction_id = s.latest_transaction_id
            WHERE p.pass_id = ? AND p.verdict IN (
                \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
                AND p.our_status IS NOT NULL
            """, [passID]
        ) { row in
            before.add(status: row.integer(at: 2), of: row)
            apple.add(status: row.integer(at: 3), of: row)
            after.add(status: row.integer(at: 4), of: row)
            guard row.kind(at: 3) != .null else { return }
            apple.add(price: Self.price(row, currency: 5, price: 6), of: row)
            after.add(price: Self.price(row, currency: 7, price: 8), of: row)
        }
        let (ours, stated, standing) = (before.sums, apple.sums, after.sums)
        return ours.reduce(into: [:]) { totals, app in
            totals[app.key] = JudgedTotals(
                before: app.value, apple: stated[app.key] ?? ControlSums(),
                after: standing[app.key] ?? ControlSums())
        }
    }

    private func read(
        _ sql: String, _ arguments: StatementArguments = [],
        _ body: (ColumnsInPlace) throws -> Void
    ) throws {
        let statement = try db.cachedStatement(sql: sql)
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        let columns = ColumnsInPlace(of: statement)
        while try cursor.next() != nil { try body(columns) }
    }

    private static func price(
        _ row: ColumnsInPlace, currency: Int, price: Int
    ) -> (currency: CurrencyCode, amount: Int64) {
        let code =
            row.kind(at: currency) == .text
            ? row.withText(at: currency) { CurrencyCode($0) } : CurrencyCode.none
        return (code, row.kind(at: price) == .integer ? row.integer(at: price) ?? 0 : 0)
    }

    /// The changes of the control totals by entries of the ledger.
    ///
    /// - Parameters:
    ///   - first: The newest entry that is already counted.
    ///   - last: The last one that counts.
    /// - Returns: By bundle id and environment.
    /// - Throws: What reading the database throws.
    private func effects(after first: Int64, through last: Int64) throws -> [[String]: ControlSums]
    {
        var effects: [[String]: ControlSums] = [:]
        guard first < last else { return effects }
        try db.forEachRow(
            """
            SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
            WHERE l.entry > ? AND l.entry <= ? ORDER BY l.entry
            """, [first, last]
        ) { row in
            let entry = try LedgerEntry(row)
            let app = [entry.subscription.bundleID, entry.subscription.environment]
            switch entry.changes {
            case .subscription(let changes):
                addStatus(changes[.status], entry.rowAction, to: &effects[app, default: .init()])
            case .period(let changes):
                try addPrice(changes, of: entry, to: &effects[app, default: .init()])
            // The totals are of subscriptions and their periods.
            case .purchase, .ledger: break
            }
        }
        return effects
    }

    private func addStatus(
        _ change: FieldChange?, _ action: RowAction, to sums: inout ControlSums
    ) {
        let before = ControlSums.group(ofStatus: change?.before.integer)
        let after = ControlSums.group(ofStatus: change?.after.integer)
        // A row that is inserted without a status is there all the same.
        guard change != nil || action != .update else { return }
        if action != .insert { sums.add(rows: -1, ofStatus: before) }
        if action != .delete { sums.add(rows: 1, ofStatus: after) }
    }

    private func addPrice(
        _ changes: [TransactionField: FieldChange], of entry: LedgerEntry,
        to sums: inout ControlSums
    ) throws {
        let (price, currency) = (changes[.price], changes[.currency])
        var standing: Row?
        if entry.rowAction == .update {
            guard price != nil || currency != nil else { return }
            // What a correction leaves as it is is in the row.
            standing = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT price, currency FROM transactions
                        WHERE bundle_id = ? AND environment = ? AND transaction_id = ?
                        """),
                arguments: [
                    entry.subscription.bundleID, entry.subscription.environment,
                    entry.transactionID,
                ])
        }
        func add(_ periods: Int, _ side: KeyPath<FieldChange, FieldValue>) {
            let amount = price.map { $0[keyPath: side].integer } ?? standing?.integer(at: 0)
            let code = currency.map { $0[keyPath: side].text } ?? standing?.text(at: 1)
            let (value, _) = (amount ?? 0).multipliedReportingOverflow(by: Int64(periods))
            sums.add(
                periods: periods, amount: value, in: ControlSums.group(ofCurrency: code))
        }
        if entry.rowAction != .insert { add(-1, \.before) }
        if entry.rowAction != .delete { add(1, \.after) }
    }
}

extension DeliveryDelays {
    /// Measures how late the notifications came that a run read of Apple's history first; `nil`
    /// where it read none.
    init?(of run: RunReference, started: Timestamp, _ db: Database) throws {
        // How each was sent is only kept of notifications that name an original transaction id;
        // the page about report files says that the others are left out.
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT n.signed_date, n.verdict, d.received_at, d.attempts, i.recovered_at
                FROM trueup_pass_notifications AS n
                JOIN trueup_pass_deliveries AS d ON d.pass_id = n.pass_id
                    AND \(SubscriptionKey.agree("d", "n"))
                    AND d.signed_date = n.signed_date
                    AND d.notification_uuid = n.notification_uuid
                LEFT JOIN trueup_notifications AS i ON i.notification_uuid = n.notification_uuid
                WHERE n.pass_id = ? AND n.staged_by = ?
                """, arguments: [run.passID, run.sequence])
        var (arrived, recovered) = (DelayTally(), DelayTally())
        var (underway, read) = (0, 0)
        while let row = try rows.next() {
            read += 1
            guard let signed = row.time(at: 0) else { continue }
            if ["missed", "lost"].contains(row.requiredText(at: 1)) {
                let brought = row.time(at: 4) ?? started
                recovered.add(milliseconds: brought.milliseconds(since: signed))
            } else if let came = row.time(at: 2) ?? Self.delivered(row.requiredText(at: 3)) {
                arrived.add(milliseconds: came.milliseconds(since: signed))
            } else {
                underway += 1
            }
        }
        guard read > 0 else { return nil }
        self.init(arrived: arrived.figures, recovered: recovered.figures, underway: underway)
    }

    /// When Apple's first successful attempt was.
    private static func delivered(_ attempts: String) -> Timestamp? {
        TextList.attempts(attempts).filter(\.isSuccess).map(\.attemptDate).min()
    }
}

/// Which apps' totals are kept apart: all, unless the rows name more strange ones than anybody
/// reads.
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

    /// Returns these sums by group.
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
    /// The app of the rows that come, with what was counted of it since they began: neighbours
    /// nearly always have the same.
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

        /// An amount that no column of 64 bits holds is as the largest that one does.
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

    /// The counts, by group.
    var sums: [[String]: ControlSums] {
        mutating get {
            keep()
            return tallies.mapValues(\.sums)
        }
    }
}

extension FieldValue {
    fileprivate var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
}

/// Three capital letters in one number, or none.
struct CurrencyCode: Hashable {
    private let letters: UInt32

    static let none = CurrencyCode(letters: 0)

    private init(letters: UInt32) { self.letters = letters }

    init(_ bytes: Span<UInt8>) {
        var letters: UInt32 = 0
        for index in bytes.indices {
            let isLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index])
            guard isLetter, bytes.count == 3 else {
                self = .none
                return
            }
            letters = letters << 8 | UInt32(bytes[index])
        }
        self.letters = letters
    }

    /// Empty for none.
    var text: String {
        guard letters != 0 else { return "" }
        let bytes = [letters >> 16, letters >> 8, letters].map { UInt8(truncatingIfNeeded: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The company's tables when a run began.
struct CountedTables: Codable {
    /// The sums of one app.
    struct App: Codable {
        var bundleID: String
        var environment: String
        var sums: ControlSums
    }

    /// The newest entry of the ledger at that moment; 0 of an empty one.
    var ledgerEntry: Int64
    var apps: [App]
}
