import GRDB
package import Reconciliation
import Subscriptions

/// One subscription while its lines are compared: as it is stored, or as Apple answered.
struct MergedSubscription {
    let key: SubscriptionKey
    var customerID: String?
    /// When Apple signed the statement about it.
    let signed: Timestamp?
    /// Whether the row holds what Apple signed when it was checked last.
    let isAgreed: Bool
    /// Whether the price or currency of one of its stored periods is known not to be Apple's.
    private let hasOtherPrices: Bool
    /// On how many days Apple did not find it.
    let absentDays: Int?
    let latestID: String?
    /// The latest transaction, with the state.
    let latest: AppleTransaction
    let isAsked: Bool

    /// By transaction id; `nil` where Apple's history of the subscription is not known.
    private(set) var periods: [String: AppleTransaction]?
    /// Whether `periods` are all of its transactions, up to the latest one.
    private(set) var isComplete = false
    /// The digest of its stored periods as its history was read; `nil` where it never was.
    private let storedPeriods: PeriodsDigest?
    /// Whether the answer has all of its transactions.
    private let hasAskedHistory: Bool
    private var isRead = false
    private var seen: Set<String> = []

    /// Reads a row of `RevenueCatMerge.stored`.
    init(stored row: Row) {
        let local = LocalSubscription(row)
        let next = LocalSubscription.columnCount
        let check = CheckRecord(row, at: next)
        key = local.key
        customerID = local.customerID
        signed = check?.check.signedDate
        isAgreed = RevenueCatMerge.isAgreed(row, local, check)
        hasOtherPrices = RevenueCatMerge.hasOtherPrices(row)
        absentDays = row.number(at: next + CheckRecord.columns.count)
        latestID = local.latestTransactionID
        latest = AppleTransaction(local)
        isAsked = false
        storedPeriods = RevenueCatMerge.periodsDigest(ofStored: row)
        hasAskedHistory = false
    }

    /// Reads a row of `RevenueCatMerge.asked`.
    init(asked row: Row) {
        var columns = RowColumns(row)
        let id = columns.requiredText()
        key = SubscriptionKey(
            bundleID: columns.requiredText(), environment: columns.requiredText(),
            originalTransactionID: id)
        latestID = columns.text()
        latest = CompareScratch.transaction(row, environment: key.environment)
        var ending = RowColumns(row, at: CompareScratch.signedColumns)
        signed = ending.time()
        storedPeriods = nil
        hasAskedHistory = ending.flag()
        isAgreed = true
        hasOtherPrices = false
        absentDays = nil
        isAsked = true
    }

    mutating func readPeriods(_ db: Database, _ scratch: Database) throws {
        guard !isRead else { return }
        isRead = true
        if let storedPeriods {
            let stored = try StoredSubscriptions(db: db).periods(of: key)
            guard PeriodsDigest(stored) == storedPeriods else { return }
            periods = Dictionary(
                stored.map { ($0.key.transactionID, AppleTransaction($0)) }
            ) { first, _ in first }
            // A history that was read before the latest renewal lacks it, and others before it.
            isComplete = latestID.map { periods?[$0] != nil } ?? false
        } else if hasAskedHistory {
            var read: [String: AppleTransaction] = [:]
            try scratch.forEachRow(
                cached: """
                    SELECT * FROM compare_signed
                    WHERE bundle_id = ? AND environment = ? AND original_id = ?
                    """, key.arguments
            ) { row in
                read[row.requiredText(at: 3)] = CompareScratch.transaction(
                    row, environment: key.environment)
            }
            periods = read
            isComplete = true
        }
    }

    /// The signed facts of one of its transactions, as far as they are known.
    func transaction(_ id: String) -> AppleTransaction? {
        guard id == latestID else { return periods?[id] }
        var apple = periods?[id] ?? latest
        apple.current = latest.current
        return apple
    }

    /// Whether an open finding says that the stored price or currency of a transaction is not Apple's.
    func hasOtherPrice(_ id: String, _ db: Database) throws -> Bool {
        guard hasOtherPrices, periods?[id] != nil else { return false }
        return try [TransactionField.price, .currency].contains { field in
            var finding = Finding(
                kind: .price, severity: .medium, row: LocalSubscription(key: key))
            finding.field = "\(field.rawValue):\(id)"
            return try db.holds(
                "trueup_findings WHERE finding_id = ? AND state IN \(OpenFindings.states)",
                [finding.identity])
        }
    }

    /// Notes a transaction of the subscription that a line is about; others are not kept.
    mutating func note(_ id: String) {
        if periods?[id] != nil || id == latestID { seen.insert(id) }
    }

    func isMissing(_ id: String) -> Bool { !seen.contains(id) }

    /// Whether it comes before another in the order of original transaction id, app, environment.
    func precedes(_ other: MergedSubscription) -> Bool {
        for path in [\SubscriptionKey.originalTransactionID, \.bundleID, \.environment] {
            let (own, others) = (key[keyPath: path], other.key[keyPath: path])
            if own != others { return own.utf8.lexicographicallyPrecedes(others.utf8) }
        }
        return false
    }
}

extension SQLiteStore {
    /// Counts all stored subscriptions, in one pass.
    ///
    /// - Throws: `StoreError`.
    package func count(into counter: inout SalesCounter) throws {
        try stream("counting subscriptions by product and day") { db in
            try db.forEachRow(try RevenueCatMerge.stored(db)) { row in
                counter.add(try Self.subscription(row, db))
            }
        }
    }

    /// Reads a row of `RevenueCatMerge.stored`, with its periods where the row is as Apple signed it.
    private static func subscription(_ row: Row, _ db: Database) throws -> SalesSubscription {
        let local = LocalSubscription(row)
        let check = CheckRecord(row, at: LocalSubscription.columnCount)
        guard let signed = check?.check.signedDate, RevenueCatMerge.isAgreed(row, local, check)
        else { return SalesSubscription(local, signedDate: nil, periods: nil) }
        guard let digest = RevenueCatMerge.periodsDigest(ofStored: row) else {
            return SalesSubscription(local, signedDate: signed, periods: nil)
        }
        let periods = try StoredSubscriptions(db: db).periods(of: local.key)
        let isComplete =
            PeriodsDigest(periods) == digest
            && periods.contains { $0.key.transactionID == local.latestTransactionID }
        return SalesSubscription(
            local, signedDate: signed, periods: isComplete ? periods : nil)
    }
}
