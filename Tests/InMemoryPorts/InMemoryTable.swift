import Subscriptions

/// The company's rows and periods, with versions that only grow.
struct Table {
    private(set) var rows: [SubscriptionKey: LocalSubscription] = [:]
    private(set) var periods: [TransactionKey: LocalTransaction] = [:]
    private var versions: [SubscriptionKey: Int64] = [:]

    /// Writes a row as a service of the company's does.
    mutating func hold(_ row: LocalSubscription) {
        var row = row
        let version = (versions[row.key] ?? 0) + 1
        versions[row.key] = version
        row.rowVersion = version
        rows[row.key] = row
    }

    mutating func hold(_ period: LocalTransaction) { periods[period.key] = period }

    mutating func remove(_ key: SubscriptionKey) { rows[key] = nil }

    func version(of key: SubscriptionKey) -> Int64 { versions[key] ?? 0 }

    func periods(of key: SubscriptionKey) -> [LocalTransaction] {
        periods.values.filter {
            $0.key.bundleID == key.bundleID && $0.key.environment == key.environment
                && $0.originalTransactionID == key.originalTransactionID
        }.sorted { $0.key < $1.key }
    }

    func held(_ row: LocalSubscription) -> HeldRow {
        let periods = periods(of: row.key)
        return HeldRow(
            row: row, duplicates: duplicates(of: row), periods: periods,
            periodsDigest: PeriodsDigest(
                periods: periods.count, sha256: fingerprint("\(periods)")))
    }

    func duplicates(of row: LocalSubscription) -> [SubscriptionKey] {
        rows.values.filter { other in
            guard other.key != row.key else { return false }
            if other.key.originalTransactionID == row.key.originalTransactionID { return true }
            guard let item = row.webOrderLineItemID, item.contains(where: { "1"..."9" ~= $0 }),
                other.key.bundleID == row.key.bundleID
            else { return false }
            return other.key.environment == row.key.environment
                && other.webOrderLineItemID == item
        }.map(\.key).sorted()
    }

    /// Makes one correction by compare-and-set: `.stale` where the row is not as it was read.
    mutating func make(_ correction: PlannedCorrection) -> CorrectionFate {
        switch correction.target {
        case .update(let key, let version): update(key, version, correction)
        case .insert(let key): insert(key, correction)
        case .delete(let key, let version): delete(key, version, correction)
        case .insertPeriod(let key, let subscription): insert(key, of: subscription, correction)
        case .updatePeriod(let key, _): update(key, correction)
        case .deletePeriod(let key, let subscription): delete(key, of: subscription, correction)
        }
    }

    private mutating func update(
        _ key: SubscriptionKey, _ version: Int64, _ correction: PlannedCorrection
    ) -> CorrectionFate {
        let changes = correction.changes.ofSubscription
        guard var row = rows[key], row.rowVersion == version,
            agrees(row, with: changes.mapValues(\.before)),
            (row.signedDate ?? correction.appleSignedDate) <= correction.appleSignedDate
        else { return .stale }
        set(changes.mapValues(\.after), in: &row)
        hold(row)
        return .applied
    }

    private mutating func insert(
        _ key: SubscriptionKey, _ correction: PlannedCorrection
    ) -> CorrectionFate {
        guard rows[key] == nil else { return .stale }
        var row = LocalSubscription(key: key)
        set(correction.changes.ofSubscription.mapValues(\.after), in: &row)
        hold(row)
        return .applied
    }

    private mutating func delete(
        _ key: SubscriptionKey, _ version: Int64, _ correction: PlannedCorrection
    ) -> CorrectionFate {
        guard let row = rows[key], row.rowVersion == version,
            agrees(row, with: correction.changes.ofSubscription.mapValues(\.before))
        else { return .stale }
        remove(key)
        return .applied
    }

    private mutating func insert(
        _ key: TransactionKey, of subscription: SubscriptionKey, _ correction: PlannedCorrection
    ) -> CorrectionFate {
        guard periods[key] == nil else { return .stale }
        periods[key] = period(
            key, of: subscription, correction.changes.ofPeriod.mapValues(\.after))
        return .applied
    }

    private mutating func update(
        _ key: TransactionKey, _ correction: PlannedCorrection
    ) -> CorrectionFate {
        let changes = correction.changes.ofPeriod
        guard var period = periods[key], agrees(period, with: changes.mapValues(\.before)) else {
            return .stale
        }
        if correction.undoOf == nil, let signed = period.signedDate,
            signed > correction.appleSignedDate
        {
            return .stale
        }
        set(changes.mapValues(\.after), in: &period)
        periods[key] = period
        return .applied
    }

    private mutating func delete(
        _ key: TransactionKey, of subscription: SubscriptionKey, _ correction: PlannedCorrection
    ) -> CorrectionFate {
        let inserted = period(
            key, of: subscription, correction.changes.ofPeriod.mapValues(\.before))
        guard periods[key] == inserted else { return .stale }
        periods[key] = nil
        return .applied
    }

    private func period(
        _ key: TransactionKey, of subscription: SubscriptionKey,
        _ values: [TransactionField: FieldValue]
    ) -> LocalTransaction {
        var period = LocalTransaction(
            key: key, originalTransactionID: subscription.originalTransactionID)
        set(values, in: &period)
        return period
    }
}

/// A row of a table of the company's.
protocol TableRow {
    associatedtype Column: RowColumn where Column.Row == Self

    func storedValue(of field: Column) -> FieldValue
}

extension LocalSubscription: TableRow { typealias Column = SubscriptionField }
extension LocalTransaction: TableRow { typealias Column = TransactionField }

/// Whether a row still holds these values; what was read as empty may be nothing or empty text.
func agrees<Row: TableRow>(_ row: Row, with values: [Row.Column: FieldValue]) -> Bool {
    values.allSatisfy { column, value in
        let now = row.storedValue(of: column)
        return now == value || value.isEmpty && now.isEmpty
    }
}

/// The columns among these that no longer hold what was written, by name.
func changed<Row: TableRow>(
    in row: Row, _ written: [Row.Column: FieldChange]
) -> [String] {
    written.filter { row.storedValue(of: $0.key) != $0.value.after }.map(\.key.rawValue).sorted()
}

func set<Row: TableRow>(_ values: [Row.Column: FieldValue], in row: inout Row) {
    for (column, value) in values { column.definition.place.set(value, in: &row) }
}
