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

    private func duplicates(of row: LocalSubscription) -> [SubscriptionKey] {
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
    mutating func make(_ correction: PlannedCorrection) throws(StoreError) -> CorrectionFate {
        switch correction.target {
        case .update(let key, let version): try update(key, version, correction)
        case .insert(let key): try insert(key, correction)
        case .delete(let key, let version): try delete(key, version, correction)
        case .insertPeriod(let key, let subscription):
            try insert(key, of: subscription, correction)
        case .updatePeriod(let key, _): try update(key, correction)
        case .deletePeriod(let key, let subscription): delete(key, of: subscription, correction)
        }
    }

    private mutating func update(
        _ key: SubscriptionKey, _ version: Int64, _ correction: PlannedCorrection
    ) throws(StoreError) -> CorrectionFate {
        guard var row = rows[key], row.rowVersion == version,
            try agrees(row, with: correction.changes.mapValues(\.before)),
            (row.signedDate ?? correction.appleSignedDate) <= correction.appleSignedDate
        else { return .stale }
        try set(correction.changes.mapValues(\.after), in: &row)
        hold(row)
        return .applied
    }

    private mutating func insert(
        _ key: SubscriptionKey, _ correction: PlannedCorrection
    ) throws(StoreError) -> CorrectionFate {
        guard rows[key] == nil else { return .stale }
        var row = LocalSubscription(key: key)
        try set(correction.changes.mapValues(\.after), in: &row)
        hold(row)
        return .applied
    }

    private mutating func delete(
        _ key: SubscriptionKey, _ version: Int64, _ correction: PlannedCorrection
    ) throws(StoreError) -> CorrectionFate {
        guard let row = rows[key], row.rowVersion == version,
            try agrees(row, with: correction.changes.mapValues(\.before))
        else { return .stale }
        remove(key)
        return .applied
    }

    private mutating func insert(
        _ key: TransactionKey, of subscription: SubscriptionKey, _ correction: PlannedCorrection
    ) throws(StoreError) -> CorrectionFate {
        guard periods[key] == nil else { return .stale }
        periods[key] = try period(key, of: subscription, correction.changes.mapValues(\.after))
        return .applied
    }

    private mutating func update(
        _ key: TransactionKey, _ correction: PlannedCorrection
    ) throws(StoreError) -> CorrectionFate {
        guard var period = periods[key],
            try agrees(period, with: correction.changes.mapValues(\.before))
        else { return .stale }
        if correction.undoOf == nil, let signed = period.signedDate,
            signed > correction.appleSignedDate
        {
            return .stale
        }
        try set(correction.changes.mapValues(\.after), in: &period)
        periods[key] = period
        return .applied
    }

    private mutating func delete(
        _ key: TransactionKey, of subscription: SubscriptionKey, _ correction: PlannedCorrection
    ) -> CorrectionFate {
        let inserted = try? period(key, of: subscription, correction.changes.mapValues(\.before))
        guard let inserted, periods[key] == inserted else { return .stale }
        periods[key] = nil
        return .applied
    }

    private func period(
        _ key: TransactionKey, of subscription: SubscriptionKey, _ values: [String: FieldValue]
    ) throws(StoreError) -> LocalTransaction {
        var period = LocalTransaction(
            key: key, originalTransactionID: subscription.originalTransactionID)
        try set(values, in: &period)
        return period
    }
}

/// A row whose columns are known by name.
protocol NamedRow {
    associatedtype Column: RowColumn where Column.Row == Self

    func storedValue(of field: Column) -> FieldValue
}

extension LocalSubscription: NamedRow { typealias Column = SubscriptionField }
extension LocalTransaction: NamedRow { typealias Column = TransactionField }

/// Whether a row still holds these values; what was read as empty may be nothing or empty text.
func agrees<Row: NamedRow>(
    _ row: Row, with values: [String: FieldValue]
) throws(StoreError) -> Bool {
    for (name, value) in values {
        let now = row.storedValue(of: try column(name, of: Row.self))
        guard now == value || value.isEmpty && now.isEmpty else { return false }
    }
    return true
}

/// The columns among these that no longer hold their value, by name.
func changed<Row: NamedRow>(
    in row: Row, _ values: [String: FieldValue]
) throws(StoreError) -> [String] {
    var names: [String] = []
    for (name, value) in values {
        let now = row.storedValue(of: try column(name, of: Row.self))
        if now != value { names.append(name) }
    }
    return names.sorted()
}

func set<Row: NamedRow>(
    _ values: [String: FieldValue], in row: inout Row
) throws(StoreError) {
    for (name, value) in values {
        try column(name, of: Row.self).definition.place.set(value, in: &row)
    }
}

private func column<Row: NamedRow>(_ name: String, of row: Row.Type) throws(StoreError)
    -> Row.Column
{
    guard let column = Row.Column(rawValue: name) else {
        throw .inconsistent("A planned correction names the column `\(name)`.")
    }
    return column
}
