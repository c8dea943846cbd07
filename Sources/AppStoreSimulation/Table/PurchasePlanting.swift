import Subscriptions

/// Plants drift into correct rows of one-time purchases: every kind in turn, at most one mistake for an
/// account, and none for an account with a mistake in its subscriptions.
struct PurchasePlanting {
    let world: World
    let app: SimulatedApp
    private let kinds: [DriftKind]
    private var rows: [Int: LocalTransaction] = [:]
    private var extraRows: [LocalTransaction] = []
    private(set) var planted: [PlantedDrift] = []
    private let order: [Int]
    private var usedAccounts: Set<Int>

    /// - Parameters:
    ///   - world: The world whose purchases they are.
    ///   - app: The app that sells them.
    ///   - kinds: The kinds that are planted, those of purchases alone.
    ///   - usedAccounts: The accounts that get no mistake.
    ///   - seed: Decides which purchases get one.
    init(
        world: World, app: SimulatedApp, kinds: [DriftKind], besides usedAccounts: Set<Int>,
        seed: UInt64
    ) {
        self.world = world
        self.app = app
        self.kinds = kinds.filter(\.isOfPurchase)
        self.usedAccounts = usedAccounts
        rows = CompanyTable.exactPurchases(of: world, app: app)
        var random = SeededRandom(seed: seed, stream: 0xD21F8)
        order = rows.keys.sorted().shuffled(using: &random)
    }

    /// The rows, those that Apple does not know at the end.
    var purchases: [LocalTransaction] { rows.sorted { $0.key < $1.key }.map(\.value) + extraRows }

    mutating func plant(rate: Double) {
        guard !kinds.isEmpty else { return }
        let count = Int((Double(order.count) * rate).rounded())
        var turn = 0
        for chain in order where planted.count < count {
            let account = Int(world.chains[chain].account)
            guard !usedAccounts.contains(account) else { continue }
            // The next kind in turn that suits the purchase.
            let inTurn = kinds.indices.map { kinds[(turn + $0) % kinds.count] }
            guard let kind = inTurn.first(where: { suits($0, chain: chain) }) else { continue }
            if kind == inTurn[0] { turn += 1 }
            usedAccounts.insert(account)
            plant(kind, chain: chain)
        }
    }

    private func suits(_ kind: DriftKind, chain index: Int) -> Bool {
        guard let row = rows[index], let bought = row.purchaseDate else { return false }
        let hour = CivilCalendar.millisecondsPerHour
        let day = CivilCalendar.millisecondsPerDay
        let isOld = [bought, row.revocationDate].compactMap(\.self).allSatisfy {
            $0 < world.now.adding(milliseconds: -hour)
        }
        let account = Int(world.chains[index].account)
        switch kind {
        // Another purchase, of whatever kind, leads to it.
        case .purchaseMissing: return isOld && world.chains(ofAccount: account).count > 1
        case .purchaseRefundMissed: return isOld
        case .purchaseUnknown: return bought < world.now.adding(milliseconds: -2 * day)
        default: return false
        }
    }

    private mutating func plant(_ kind: DriftKind, chain index: Int) {
        guard var row = rows[index] else { return }
        switch kind {
        case .purchaseMissing:
            rows[index] = nil
            record(kind, row, field: nil, tableValue: nil, appleValue: row.key.transactionID)
        case .purchaseRefundMissed:
            let exact = row.revocationDate
            // Of a purchase that is not refunded, the reversal of a refund was missed.
            row.revocationDate =
                exact == nil
                ? row.purchaseDate?.adding(milliseconds: CivilCalendar.millisecondsPerHour) : nil
            row.revocationReason = exact == nil ? 0 : nil
            row.revocationPercentage = nil
            rows[index] = row
            record(
                kind, row, field: TransactionField.revocationDate.rawValue,
                tableValue: row.revocationDate?.rfc3339, appleValue: exact?.rfc3339)
        default:
            let unknown = world.chains.count + 2_000_000 + extraRows.count
            let id = String(world.identifiers.transactionID(chain: unknown, period: 0))
            row.key = TransactionKey(
                bundleID: row.key.bundleID, environment: row.key.environment, transactionID: id)
            row.originalTransactionID = id
            extraRows.append(row)
            record(kind, row, field: nil, tableValue: id, appleValue: nil)
        }
    }

    private mutating func record(
        _ kind: DriftKind, _ row: LocalTransaction, field: String?, tableValue: String?,
        appleValue: String?
    ) {
        planted.append(
            PlantedDrift(
                originalTransactionID: row.originalTransactionID, kinds: [kind.rawValue],
                customerID: row.customerID, field: field, tableValue: tableValue,
                appleValue: appleValue))
    }
}
