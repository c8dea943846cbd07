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
    /// Whether Apple is asked about lines without a fresh statement.
    package var asks: Bool
    /// The configured apps: a report states evidence of theirs alone, as only theirs can be verified.
    package var apps: Set<AppIdentity>

    package init(
        now: Timestamp, freshMilliseconds: Int64, catalogue: ProductCatalogue?,
        rules: [RevenueCatRule], notFoundConfirmations: Int, asks: Bool, apps: Set<AppIdentity>
    ) {
        self.now = now
        self.freshMilliseconds = freshMilliseconds
        self.catalogue = catalogue
        self.rules = rules
        self.notFoundConfirmations = notFoundConfirmations
        self.asks = asks
        self.apps = apps
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

/// Goes through lines, stored subscriptions and Apple's answers side by side.
struct RevenueCatMerge {
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
    static func stored(_ db: Database) throws -> String {
        """
        SELECT \(try LocalSubscription.columns(db)), \(CheckRecord.columns(of: "k")),
            a.distinct_days, h.periods, h.periods_sha256,
            \(hasOpenFinding(of: differing)), \(hasOpenFinding(of: [.price]))
        FROM subscriptions AS s
        LEFT JOIN trueup_checks AS k ON \(SubscriptionKey.agree("k", "s"))
        LEFT JOIN trueup_absences AS a ON \(SubscriptionKey.agree("a", "s"))
        LEFT JOIN trueup_history_revisions AS h ON \(SubscriptionKey.agree("h", "s"))
        ORDER BY s.original_transaction_id, s.bundle_id, s.environment
        """
    }

    /// The kinds that say that a column of the row itself is not as Apple signed it.
    private static let differing = FindingKind.allCases.filter {
        $0.isFixedByAnswer && ![.transactionMissing, .seats].contains($0)
    }

    private static func hasOpenFinding(of kinds: [FindingKind]) -> String {
        """
        EXISTS (SELECT 1 FROM trueup_findings AS f
            WHERE \(SubscriptionKey.agree("f", "s"))
                AND f.kind IN (\(kinds.map { "'\($0.rawValue)'" }.joined(separator: ", ")))
                AND f.state IN \(OpenFindings.states))
        """
    }

    /// Whether a row of `stored` holds what Apple signed when it was checked last.
    ///
    /// A check also notes values that differ and are not written; then a finding is open.
    static func isAgreed(_ row: Row, _ local: LocalSubscription, _ check: CheckRecord?) -> Bool {
        local.unreadable.isEmpty && check?.check.values == ValuesDigest(of: local)
            && row.number(at: afterPeriods) != 1
    }

    /// Whether a row of `stored` has a period with another price or currency than Apple signed.
    static func hasOtherPrices(_ row: Row) -> Bool { row.number(at: afterPeriods + 1) == 1 }

    /// Where in a row of `stored` the open findings follow.
    private static let afterPeriods =
        LocalSubscription.columnCount + CheckRecord.columns.count + 3

    /// The digest of a row of `stored`; `nil` where its history was never read.
    static func periodsDigest(ofStored row: Row) -> PeriodsDigest? {
        let index = LocalSubscription.columnCount + CheckRecord.columns.count + 1
        guard let count = row.number(at: index), let digest = row.text(at: index + 1) else {
            return nil
        }
        return PeriodsDigest(periods: count, sha256: digest)
    }

    /// Every subscription of an answer with its latest transaction, in the same order.
    private static let asked = """
        SELECT s.*, a.signed, a.has_history FROM compare_asked AS a
        JOIN compare_signed AS s ON s.original_id = a.original_id AND s.bundle_id = a.bundle_id
            AND s.environment = a.environment AND s.transaction_id = a.latest_id
        ORDER BY a.original_id, a.bundle_id, a.environment
        """

    let db: Database
    let newest: Timestamp
    let policy: RevenueCatPolicy
    private let lineRows: RowCursor
    private let storedRows: RowCursor
    private let askedRows: RowCursor
    private let lines: Database
    private var writer: DifferenceWriter
    private var line: RevenueCatLine?
    private var storedOne: MergedSubscription?
    private var askedOne: MergedSubscription?
    private var subscription: MergedSubscription?
    private var totals = CompareTotals()
    /// How many transactions of each app no line is about, and the apps that lines name.
    private var missing: [AppRowsKey: Int] = [:]
    private var named: Set<AppRowsKey> = []
    /// The apps with rows about which no line is, and about which Apple is to be asked.
    private var unsigned: Set<AppRowsKey> = []

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
        storedRows = try Row.fetchCursor(db, sql: try Self.stored(db))
        askedRows = try Row.fetchCursor(lines, sql: Self.asked)
        writer = try DifferenceWriter(lines)
    }

    mutating func run() throws -> (totals: CompareTotals, absentApps: [String]) {
        try nextLine()
        storedOne = try storedRows.next().map(MergedSubscription.init(stored:))
        askedOne = try askedRows.next().map(MergedSubscription.init(asked:))
        try nextSubscription()
        while line != nil || subscription != nil {
            if let line, subscription.map({ Self.precedes(line, $0) }) ?? true {
                try settle(try verdict(of: line, [], nil), line, nil)
                try nextLine()
            } else if let id = subscription?.key.originalTransactionID {
                try compare(id)
            }
        }
        return try finish()
    }

    private static func precedes(_ line: RevenueCatLine, _ stored: MergedSubscription) -> Bool {
        line.originalTransactionID.utf8.lexicographicallyPrecedes(
            stored.key.originalTransactionID.utf8)
    }

    /// Compares all lines of one original transaction id with the rows of that id: one of each app
    /// and environment at most.
    private mutating func compare(_ id: String) throws {
        var candidates: [MergedSubscription] = []
        while let next = subscription, next.key.originalTransactionID == id {
            candidates.append(next)
            try nextSubscription()
        }
        while let line, line.originalTransactionID == id {
            let place = Self.place(of: line, among: candidates)
            try candidates[place].readPeriods(db, lines)
            candidates[place].note(line.transactionID)
            named.insert(AppRowsKey(candidates[place].key))
            try settle(try verdict(of: line, candidates, place), line, candidates[place])
            try nextLine()
        }
        for place in candidates.indices {
            try candidates[place].readPeriods(db, lines)
            try addMissing(of: candidates[place])
        }
    }

    private static func place(
        of line: RevenueCatLine, among candidates: [MergedSubscription]
    ) -> Int {
        let wanted =
            line.isSandbox == true
            ? AppStoreEnvironment.sandbox.rawValue : AppStoreEnvironment.production.rawValue
        return candidates.firstIndex { $0.key.environment == wanted } ?? 0
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

    /// Of a row and an answer about it, what Apple signed later counts.
    private mutating func nextSubscription() throws {
        let (stored, asked) = (storedOne, askedOne)
        let takesStored = stored.map { one in asked.map { !$0.precedes(one) } ?? true } ?? false
        let takesAsked = asked.map { one in stored.map { !$0.precedes(one) } ?? true } ?? false
        if takesStored { storedOne = try storedRows.next().map(MergedSubscription.init(stored:)) }
        if takesAsked { askedOne = try askedRows.next().map(MergedSubscription.init(asked:)) }
        subscription = takesAsked ? asked : stored
        guard takesStored, takesAsked, let stored else { return }
        subscription?.customerID = stored.customerID
        if let signed = stored.signed, let answer = asked?.signed, signed > answer {
            subscription = stored
        }
    }

    // MARK: One line

    private func verdict(
        of line: RevenueCatLine, _ candidates: [MergedSubscription], _ place: Int?
    ) throws -> Verdict {
        guard line.isAutoRenewable != false else { return .notCompared(.oneTimePurchase) }
        guard let place else { return .notCompared(try wanting(.neverChecked, line)) }
        let stored = candidates[place]
        if let days = stored.absentDays, days >= policy.notFoundConfirmations {
            return .onlyTheirs(unknown(line))
        }
        var apple: AppleTransaction
        switch state(of: line, in: stored) {
        case .known(let known): apple = known
        case .unknown: return .onlyTheirs(unknown(line))
        case .wanting(let reason): return .notCompared(try wanting(reason, line, candidates))
        }
        apple.entitlements = apple.productID.flatMap { policy.catalogue?.products[$0] }.map {
            $0.grants.sorted().joined(separator: ",")
        }
        let lacksPrice =
            try policy.rules.contains { $0.kind == .revenueCatPrice }
            && stored.hasOtherPrice(line.transactionID, db)
        if lacksPrice { (apple.price, apple.currency) = (nil, nil) }
        let found = RevenueCatRule.differences(of: line, from: apple, by: policy.rules)
        if lacksPrice {
            let reason = try wanting(.rowChanged, line, candidates)
            if found.isEmpty { return .notCompared(reason) }
        }
        guard !found.isEmpty else { return .matched }
        if let updated = line.updatedAt, stored.signed.map({ updated > $0 }) ?? false {
            return .notCompared(try wanting(.lineNewer, line, candidates))
        }
        return .different(found)
    }

    /// The signed facts about a line's transaction, as far as they are known.
    private enum Knowledge {
        case known(AppleTransaction)
        /// Apple's complete history lacks the transaction.
        case unknown
        case wanting(NotComparedReason)
    }

    private func state(of line: RevenueCatLine, in stored: MergedSubscription) -> Knowledge {
        guard stored.absentDays == nil else { return .wanting(.notFound) }
        guard let signed = stored.signed else { return .wanting(.neverChecked) }
        guard stored.isAgreed else { return .wanting(.rowChanged) }
        guard signed >= policy.now.adding(milliseconds: -policy.freshMilliseconds) else {
            return .wanting(.statementOld)
        }
        if let apple = stored.transaction(line.transactionID) { return .known(apple) }
        if line.startTime.map({ $0 > signed }) ?? false { return .wanting(.lineNewer) }
        return stored.isComplete ? .unknown : .wanting(.periodNotStored)
    }

    /// Notes that Apple is to be asked about a line's subscription; returns the reason, or that
    /// Apple was asked and did not find it.
    private func wanting(
        _ reason: NotComparedReason, _ line: RevenueCatLine, _ stored: [MergedSubscription] = []
    ) throws -> NotComparedReason {
        guard policy.asks else { return reason }
        try CompareScratch.want(
            line.originalTransactionID, of: stored.map(\.key), isMissing: false, lines)
        return try lines.holds("compare_absent WHERE original_id = ?", [line.originalTransactionID])
            ? .notFound : reason
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
        difference.bundleID = stored?.key.bundleID
        difference.environment = stored?.key.environment
        difference.originalTransactionID = line.originalTransactionID
        difference.transactionID = line.transactionID
        difference.customerID = line.customerID ?? stored?.customerID
        if let stored, difference.kind != .revenueCatUnknown {
            difference.evidence = try evidence(
                of: stored, transactionID: line.transactionID,
                isAboutState: Self.aboutState.contains(difference.kind))
        }
        try writer.add(difference)
    }

    /// The kinds that concern the renewal info, and not the transaction.
    private static let aboutState: Set<CompareKind> = [
        .revenueCatGrace, .revenueCatBillingIssue, .revenueCatRenewal,
    ]

    /// The payload of the answer or, of what is stored, of the newest correction, if that is about
    /// the transaction; `nil` for an app that is not configured.
    private func evidence(
        of stored: MergedSubscription, transactionID: String, isAboutState: Bool
    ) throws -> EvidenceDigest? {
        let app = AppIdentity(
            bundleID: stored.key.bundleID, environment: stored.key.environment)
        guard let app, policy.apps.contains(app) else { return nil }
        let isPeriod = stored.periods?[transactionID] != nil
        let digest =
            stored.isAsked
            ? try lines.text(
                cached: """
                    SELECT iif(?, ifnull(renewal, evidence), evidence) FROM compare_signed
                    WHERE bundle_id = ? AND environment = ? AND original_id = ?
                        AND transaction_id = ?
                    """, [isAboutState] + stored.key.arguments + [transactionID])
            : try db.text(
                cached: """
                    SELECT evidence FROM trueup_ledger
                    WHERE \(SubscriptionKey.isKey)
                        AND transaction_id IS ? ORDER BY entry DESC LIMIT 1
                    """, stored.key.arguments + [isPeriod ? transactionID : nil])
        guard let evidence = digest.map(EvidenceDigest.init(hexadecimal:)) else { return nil }
        guard !stored.isAsked else { return evidence }
        let payload = try EvidenceVault(db: db).payload(evidence)
        return payload?.transactionID == transactionID ? evidence : nil
    }

    // MARK: What no line is about

    private mutating func addMissing(of stored: MergedSubscription) throws {
        guard stored.absentDays == nil else { return }
        if policy.asks, stored.signed == nil || !stored.isAgreed {
            unsigned.insert(AppRowsKey(stored.key))
            try CompareScratch.want(
                stored.key.originalTransactionID, of: [stored.key], isMissing: true, lines)
        }
        guard let signed = stored.signed else { return }
        let periods = stored.periods ?? [:]
        for (id, period) in periods.sorted(by: { $0.key < $1.key })
        where stored.isMissing(id) && (period.purchaseDate ?? signed) <= newest {
            try addMissing(id, of: stored)
        }
        // Apple did not sign what a row says that is no longer as it was checked.
        if let id = stored.latestID, stored.isAgreed, periods[id] == nil, stored.isMissing(id),
            signed <= newest
        {
            try addMissing(id, of: stored)
        }
    }

    private mutating func addMissing(_ id: String, of stored: MergedSubscription) throws {
        let givesAccess =
            stored.isAgreed && id == stored.latestID
            && stored.latest.current?.status.isEntitling ?? false
        var difference = CompareDifference(
            kind: .revenueCatMissing, apple: .text(id),
            direction: givesAccess ? .customerLoses : .neutral)
        difference.bundleID = stored.key.bundleID
        difference.environment = stored.key.environment
        difference.originalTransactionID = stored.key.originalTransactionID
        difference.transactionID = id
        difference.customerID = stored.customerID
        difference.field = RevenueCatColumn.transactionID.rawValue
        difference.evidence = try evidence(of: stored, transactionID: id, isAboutState: false)
        try writer.add(difference)
        missing[AppRowsKey(stored.key), default: 0] += 1
    }

    /// Takes out what is missing of apps that no line names: the export is not about them.
    private mutating func finish() throws -> (totals: CompareTotals, absentApps: [String]) {
        var absent: [String] = []
        for app in unsigned.subtracting(named) {
            try CompareScratch.leaveOutMissing(ofApp: app.bundleID, app.environment, lines)
        }
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
