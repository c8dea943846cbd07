import GRDB
package import Reconciliation
package import Subscriptions

/// The conditions of a comparison with RevenueCat's export.
package struct RevenueCatPolicy: Sendable {
    package var now: Timestamp
    /// How old a statement of Apple's may be, in milliseconds.
    package var freshMilliseconds: Int64
    package var catalogue: ProductCatalogue?
    /// The rules for which every file has the columns.
    package var rules: [RevenueCatRule]
    /// On how many days Apple must have said that it does not know an id.
    package var notFoundConfirmations: Int

    package init(
        now: Timestamp, freshMilliseconds: Int64, catalogue: ProductCatalogue?,
        rules: [RevenueCatRule], notFoundConfirmations: Int
    ) {
        self.now = now
        self.freshMilliseconds = freshMilliseconds
        self.catalogue = catalogue
        self.rules = rules
        self.notFoundConfirmations = notFoundConfirmations
    }
}

/// RevenueCat's lines in the working file.
extension CompareScratch {
    /// Puts lines into the file, all or none of them.
    ///
    /// - Parameter produce: Calls its argument for each line.
    /// - Returns: When the newest change that the lines know of happened; `nil` without lines.
    /// - Throws: `StoreError`, or what `produce` throws.
    package func load(
        _ produce: ((RevenueCatLine) throws -> Void) throws -> Void
    ) throws -> Timestamp? {
        try writing("keeping the lines of the files") { db in
            try db.execute(
                sql: "CREATE TABLE compare_lines (\(Self.columns.joined(separator: ", ")))")
            let marks = Self.columns.map { _ in "?" }.joined(separator: ", ")
            let insert = try db.cachedStatement(sql: "INSERT INTO compare_lines VALUES (\(marks))")
            var binding = LineBinding(insert)
            var newest: Timestamp?
            try produce { line in
                binding.restart()
                for text in [line.originalTransactionID, line.transactionID] {
                    try binding.bind(.text(text))
                }
                for text in [
                    line.customerID, line.productID, line.currency, line.entitlements,
                    line.ownership,
                ] {
                    try binding.bind(text.map(FieldValue.text) ?? .null)
                }
                for time in [
                    line.startTime, line.endTime, line.gracePeriodEndTime, line.effectiveEndTime,
                    line.refundedAt, line.unsubscribeDetectedAt, line.billingIssuesDetectedAt,
                    line.updatedAt,
                ] {
                    try binding.bind(time?.unixMilliseconds)
                }
                for flag in [line.isAutoRenewable, line.isSandbox] {
                    try binding.bind(flag.map { $0 ? 1 : 0 })
                }
                try binding.bind(line.price)
                try insert.execute()
                for time in [line.updatedAt, line.startTime] {
                    if let time, newest.map({ $0 < time }) ?? true { newest = time }
                }
            }
            return newest
        }
    }

    static let columns = [
        "original_id TEXT", "transaction_id TEXT", "customer TEXT", "product TEXT",
        "currency TEXT", "entitlements TEXT", "ownership TEXT", "starts INTEGER", "ends INTEGER",
        "grace INTEGER", "effective INTEGER", "refunded INTEGER", "unsubscribed INTEGER",
        "billing INTEGER", "updated INTEGER", "renewable INTEGER", "sandbox INTEGER",
        "price INTEGER",
    ]

    static func line(_ row: Row) -> RevenueCatLine {
        var columns = RowColumns(row)
        var line = RevenueCatLine(
            originalTransactionID: columns.requiredText(), transactionID: columns.requiredText())
        line.customerID = columns.text()
        line.productID = columns.text()
        line.currency = columns.text()
        line.entitlements = columns.text()
        line.ownership = columns.text()
        line.startTime = columns.time()
        line.endTime = columns.time()
        line.gracePeriodEndTime = columns.time()
        line.effectiveEndTime = columns.time()
        line.refundedAt = columns.time()
        line.unsubscribeDetectedAt = columns.time()
        line.billingIssuesDetectedAt = columns.time()
        line.updatedAt = columns.time()
        line.isAutoRenewable = columns.integer().map { $0 == 1 }
        line.isSandbox = columns.integer().map { $0 == 1 }
        line.price = columns.integer()
        return line
    }
}

extension SQLiteStore {
    /// Compares the lines of the working file with what Apple signed, and puts the differences into it.
    ///
    /// Both sides are read once in the order of their original transaction ids. Nothing of the
    /// database changes.
    ///
    /// - Parameters:
    ///   - scratch: Has the lines.
    ///   - newest: When the newest change that they know of happened: later ones are not missing.
    ///   - policy: The conditions.
    /// - Returns: The totals without lines of other stores, and the apps whose rows no line names.
    /// - Throws: `StoreError`.
    package func compareWithRevenueCat(
        _ scratch: CompareScratch, newest: Timestamp?, policy: RevenueCatPolicy
    ) throws -> (totals: CompareTotals, absentApps: [String]) {
        try stream("comparing with RevenueCat") { db in
            try scratch.writing("comparing with RevenueCat") { lines in
                var merge = try RevenueCatMerge(
                    db: db, lines: lines, newest: newest ?? policy.now, policy: policy)
                return try merge.run()
            }
        }
    }
}

/// One stored subscription while its lines are compared.
private struct MergedSubscription {
    let row: LocalSubscription
    let check: CheckRecord?
    let absentDays: Int?
    private let history: PeriodsDigest?

    /// By transaction id; `nil` where Apple's history of the subscription is not stored as a whole.
    private(set) var periods: [String: LocalTransaction]?
    private var isRead = false
    private var seen: Set<String> = []

    /// Reads `RevenueCatMerge.stored`.
    init(_ row: Row) {
        self.row = LocalSubscription(row)
        let next = LocalSubscription.columnCount
        check = CheckRecord(row, at: next)
        absentDays = row.number(at: next + CheckRecord.columns.count)
        if let count = row.number(at: next + CheckRecord.columns.count + 1),
            let digest = row.text(at: next + CheckRecord.columns.count + 2)
        {
            history = PeriodsDigest(periods: count, sha256: digest)
        } else {
            history = nil
        }
    }

    /// Whether the row holds what Apple signed when it was checked last.
    var isAgreed: Bool {
        row.unreadable.isEmpty && check?.check.values == ValuesDigest(of: row)
    }

    mutating func readPeriods(_ db: Database) throws {
        guard !isRead else { return }
        isRead = true
        guard let history else { return }
        let stored = try StoredSubscriptions(db: db).periods(of: row.key)
        guard PeriodsDigest(stored) == history else { return }
        periods = Dictionary(stored.map { ($0.key.transactionID, $0) }) { first, _ in first }
    }

    /// Notes a transaction of the subscription that a line is about; others are not kept.
    mutating func note(_ id: String) {
        if periods?[id] != nil || id == row.latestTransactionID { seen.insert(id) }
    }

    func isMissing(_ id: String) -> Bool { !seen.contains(id) }
}

/// Goes through lines and stored subscriptions side by side.
private struct RevenueCatMerge {
    /// The result for one line.
    private enum Verdict {
        case matched
        case different([CompareDifference])
        case onlyTheirs(CompareDifference)
        case notCompared(NotComparedReason)
    }

    private static let ordered = """
        SELECT * FROM compare_lines ORDER BY original_id, transaction_id, updated DESC
        """

    /// Every row with what runs noted about it, in the order of the original transaction ids.
    private static func stored(_ db: Database) throws -> String {
        """
        SELECT \(try LocalSubscription.columns(db)), \(CheckRecord.columns(of: "k")),
            a.distinct_days, h.periods, h.periods_sha256
        FROM subscriptions AS s
        LEFT JOIN trueup_checks AS k ON k.bundle_id = s.bundle_id
            AND k.environment = s.environment
            AND k.original_transaction_id = s.original_transaction_id
        LEFT JOIN trueup_absences AS a ON a.bundle_id = s.bundle_id
            AND a.environment = s.environment
            AND a.original_transaction_id = s.original_transaction_id
        LEFT JOIN trueup_history_revisions AS h ON h.bundle_id = s.bundle_id
            AND h.environment = s.environment
            AND h.original_transaction_id = s.original_transaction_id
        ORDER BY s.original_transaction_id, s.bundle_id, s.environment
        """
    }

    let db: Database
    let newest: Timestamp
    let policy: RevenueCatPolicy
    private let lineRows: RowCursor
    private let subscriptionRows: RowCursor
    private let lines: Database
    private var writer: DifferenceWriter
    private var line: RevenueCatLine?
    private var subscription: MergedSubscription?
    private var totals = CompareTotals()
    /// How many transactions of each app no line is about, and the apps that lines name.
    private var missing: [AppRowsKey: Int] = [:]
    private var named: Set<AppRowsKey> = []

    private struct AppRowsKey: Hashable {
        let bundleID: String
        let environment: String

        init(_ key: SubscriptionKey) {
            bundleID = key.bundleID
            environment = key.environment
        }
    }

    init(db: Database, lines: Database, newest: Timestamp, policy: RevenueCatPolicy) throws {
        self.db = db
        self.lines = lines
        self.newest = min(newest, policy.now)
        self.policy = policy
        lineRows = try Row.fetchCursor(lines, sql: Self.ordered)
        subscriptionRows = try Row.fetchCursor(db, sql: try Self.stored(db))
        writer = try DifferenceWriter(lines)
    }

    mutating func run() throws -> (totals: CompareTotals, absentApps: [String]) {
        try nextLine()
        try nextSubscription()
        while line != nil || subscription != nil {
            if let line, subscription.map({ Self.precedes(line, $0) }) ?? true {
                try settle(verdict(of: line, [], nil), line, nil)
                try nextLine()
            } else if let id = subscription?.row.key.originalTransactionID {
                try compare(id)
            }
        }
        return try finish()
    }

    private static func precedes(_ line: RevenueCatLine, _ stored: MergedSubscription) -> Bool {
        line.originalTransactionID.utf8.lexicographicallyPrecedes(
            stored.row.key.originalTransactionID.utf8)
    }

    /// Compares all lines of one original transaction id with the rows of that id: one of each app
    /// and environment at most.
    private mutating func compare(_ id: String) throws {
        var candidates: [MergedSubscription] = []
        while let next = subscription, next.row.key.originalTransactionID == id {
            candidates.append(next)
            try nextSubscription()
        }
        while let line, line.originalTransactionID == id {
            let place = Self.place(of: line, among: candidates)
            try candidates[place].readPeriods(db)
            candidates[place].note(line.transactionID)
            named.insert(AppRowsKey(candidates[place].row.key))
            try settle(verdict(of: line, candidates, place), line, candidates[place])
            try nextLine()
        }
        for place in candidates.indices {
            try candidates[place].readPeriods(db)
            try addMissing(of: candidates[place])
        }
    }

    private static func place(
        of line: RevenueCatLine, among candidates: [MergedSubscription]
    ) -> Int {
        let wanted =
            line.isSandbox == true
            ? AppStoreEnvironment.sandbox.rawValue : AppStoreEnvironment.production.rawValue
        return candidates.firstIndex { $0.row.key.environment == wanted } ?? 0
    }

    private mutating func nextLine() throws {
        let before = line
        line = try lineRows.next().map(CompareScratch.line)
        // Of several lines about a transaction the newest counts.
        while let before, let next = line, next.transactionID == before.transactionID,
            next.originalTransactionID == before.originalTransactionID
        {
            totals.leaveOut(.superseded)
            line = try lineRows.next().map(CompareScratch.line)
        }
    }

    private mutating func nextSubscription() throws {
        subscription = try subscriptionRows.next().map(MergedSubscription.init)
    }

    // MARK: One line

    private func verdict(
        of line: RevenueCatLine, _ candidates: [MergedSubscription], _ place: Int?
    ) -> Verdict {
        guard line.isAutoRenewable != false else { return .notCompared(.oneTimePurchase) }
        guard let place else { return .notCompared(.neverChecked) }
        let stored = candidates[place]
        if let days = stored.absentDays {
            guard days >= policy.notFoundConfirmations else { return .notCompared(.neverChecked) }
            return .onlyTheirs(unknown(line))
        }
        guard let signed = stored.check?.check.signedDate else {
            return .notCompared(.neverChecked)
        }
        guard stored.isAgreed else { return .notCompared(.rowChanged) }
        guard signed >= policy.now.adding(milliseconds: -policy.freshMilliseconds) else {
            return .notCompared(.statementOld)
        }
        let isLatest = line.transactionID == stored.row.latestTransactionID
        var apple: AppleTransaction
        if let period = stored.periods?[line.transactionID] {
            apple = AppleTransaction(period)
        } else if isLatest {
            apple = AppleTransaction(stored.row)
        } else if line.startTime.map({ $0 > signed }) ?? false {
            return .notCompared(.lineNewer)
        } else if stored.periods != nil {
            return .onlyTheirs(unknown(line))
        } else {
            return .notCompared(.periodNotStored)
        }
        if isLatest { apple.addState(of: stored.row) }
        apple.entitlements = apple.productID.flatMap { policy.catalogue?.products[$0] }.map {
            $0.grants.sorted().joined(separator: ",")
        }
        let found = RevenueCatRule.differences(of: line, from: apple, by: policy.rules)
        guard !found.isEmpty else { return .matched }
        if let updated = line.updatedAt, updated > signed { return .notCompared(.lineNewer) }
        return .different(found)
    }

    private func unknown(_ line: RevenueCatLine) -> CompareDifference {
        let end = line.effectiveEndTime ?? line.endTime
        let givesAccess = line.refundedAt == nil && end.map { $0 > policy.now } ?? false
        var difference = CompareDifference(
            kind: .revenueCatUnknown, theirs: .text(line.transactionID),
            direction: givesAccess ? .companyLoses : .neutral)
        difference.field = RevenueCatColumn.transactionID.rawValue
        return difference
    }

    private mutating func settle(
        _ verdict: Verdict, _ line: RevenueCatLine, _ stored: MergedSubscription?
    ) throws {
        switch verdict {
        case .matched: totals.matched += 1
        case .notCompared(let reason): totals.leaveOut(reason)
        case .onlyTheirs(let difference):
            totals.onlyTheirs += 1
            try write(difference, line, stored)
        case .different(let differences):
            totals.different += 1
            for difference in differences { try write(difference, line, stored) }
        }
    }

    private mutating func write(
        _ found: CompareDifference, _ line: RevenueCatLine, _ stored: MergedSubscription?
    ) throws {
        var difference = found
        difference.bundleID = stored?.row.key.bundleID
        difference.environment = stored?.row.key.environment
        difference.originalTransactionID = line.originalTransactionID
        difference.transactionID = line.transactionID
        difference.customerID = line.customerID ?? stored?.row.customerID
        if let stored, difference.kind != .revenueCatUnknown {
            let isPeriod = stored.periods?[line.transactionID] != nil
            difference.evidence = try evidence(
                of: stored.row.key, transactionID: isPeriod ? line.transactionID : nil)
        }
        try writer.add(difference)
    }

    /// The payload of the newest correction of the row, or of the period.
    private func evidence(
        of key: SubscriptionKey, transactionID: String?
    ) throws -> EvidenceDigest? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT evidence FROM trueup_ledger
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                    AND transaction_id IS ? ORDER BY entry DESC LIMIT 1
                """)
        return try String.fetchOne(statement, arguments: key.arguments + [transactionID])
            .map(EvidenceDigest.init(hexadecimal:))
    }

    // MARK: What no line is about

    private mutating func addMissing(of stored: MergedSubscription) throws {
        guard stored.absentDays == nil, let signed = stored.check?.check.signedDate else { return }
        if let periods = stored.periods {
            for (id, period) in periods.sorted(by: { $0.key < $1.key })
            where stored.isMissing(id) && (period.purchaseDate ?? signed) <= newest {
                try addMissing(id, period.purchaseDate, of: stored)
            }
        } else if let id = stored.row.latestTransactionID, stored.isMissing(id), signed <= newest {
            try addMissing(id, nil, of: stored)
        }
    }

    private mutating func addMissing(
        _ id: String, _ purchased: Timestamp?, of stored: MergedSubscription
    ) throws {
        let row = stored.row
        let givesAccess = id == row.latestTransactionID && row.isEntitling
        var difference = CompareDifference(
            kind: .revenueCatMissing, apple: .text(id),
            direction: givesAccess ? .customerLoses : .neutral)
        difference.bundleID = row.key.bundleID
        difference.environment = row.key.environment
        difference.originalTransactionID = row.key.originalTransactionID
        difference.transactionID = id
        difference.customerID = row.customerID
        difference.field = RevenueCatColumn.transactionID.rawValue
        difference.evidence = try evidence(of: row.key, transactionID: nil)
        try writer.add(difference)
        missing[AppRowsKey(row.key), default: 0] += 1
    }

    /// Takes out what is missing of apps that no line names: the export is not about them.
    private mutating func finish() throws -> (totals: CompareTotals, absentApps: [String]) {
        var absent: [String] = []
        for (app, count) in missing {
            guard !named.contains(app) else {
                totals.onlyApple += count
                continue
            }
            absent.append("\(app.bundleID) (\(app.environment))")
            try lines.execute(
                sql:
                    "DELETE FROM compare_differences WHERE kind = ? AND bundle_id = ? AND environment = ?",
                arguments: [
                    CompareKind.revenueCatMissing.rawValue, app.bundleID, app.environment,
                ])
        }
        return (totals, absent.sorted())
    }
}
