import Subscriptions

/// Plants drift into a correct table: every kind in turn, at most one mistake for an account, and each as
/// small as possible, so that a comparison finds exactly the listed kinds.
struct DriftPlanting {
    let world: World
    let app: SimulatedApp
    /// The kinds that are planted, in turn.
    private let kinds: [DriftKind]
    private(set) var deletedAccounts: [Int] = []
    private(set) var lostNotifications: [Int] = []

    private var rows: [Int: LocalSubscription] = [:]
    private var extraRows: [LocalSubscription] = []
    private var planted: [PlantedDrift] = []
    private let order: [Int]
    private var cursors: [DriftKind: Int] = [:]
    private(set) var usedAccounts: Set<Int> = []
    private var variant = 0
    /// Index of the newest notification of each chain that is more than an hour and less than twenty
    /// days old.
    private let recentNotifications: [Int: Int]

    init(
        world: World, app: SimulatedApp, subscriptions: [Int], kinds: [DriftKind], seed: UInt64
    ) {
        self.world = world
        self.app = app
        self.kinds = kinds.filter { !$0.isOfPurchase }
        var random = SeededRandom(seed: seed, stream: 0xD21F7)
        order = subscriptions.shuffled(using: &random)
        for index in subscriptions {
            rows[index] = CompanyTable.exactRow(of: index, in: world, app: app)
        }
        let from = world.now.adding(milliseconds: -20 * CivilCalendar.millisecondsPerDay)
        let until = world.now.adding(milliseconds: -CivilCalendar.millisecondsPerHour)
        var recent: [Int: Int] = [:]
        for index in world.notifications.indices {
            let record = world.notifications[index]
            if record.date > from, record.date < until { recent[Int(record.chain)] = index }
        }
        recentNotifications = recent
    }

    var table: CompanyTable {
        CompanyTable(
            rows: rows.sorted { $0.key < $1.key }.map(\.value) + extraRows, planted: planted)
    }

    mutating func plant(count: Int) {
        var done = 0
        var exhausted: Set<DriftKind> = []
        while done < count, exhausted.count < kinds.count {
            for kind in kinds where done < count && !exhausted.contains(kind) {
                guard let chain = nextChain(for: kind) else {
                    exhausted.insert(kind)
                    continue
                }
                usedAccounts.insert(Int(world.chains[chain].account))
                plant(kind, chain: chain)
                done += 1
            }
            variant += 1
        }
    }

    private mutating func nextChain(for kind: DriftKind) -> Int? {
        while cursors[kind, default: 0] < order.count {
            let chain = order[cursors[kind, default: 0]]
            cursors[kind, default: 0] += 1
            guard !usedAccounts.contains(Int(world.chains[chain].account)) else { continue }
            if suits(kind, chain: chain) { return chain }
        }
        return nil
    }

    private func suits(_ kind: DriftKind, chain index: Int) -> Bool {
        let chain = world.chains[index]
        let account = Int(chain.account)
        let subscriptions = world.chains(ofAccount: account).filter {
            world.chains[$0].isSubscription
        }
        switch kind {
        case .refundReversalMissed: return [.active, .grace].contains(chain.phase)
        case .graceMissed: return chain.phase == .grace
        case .revocationMissed, .revocationDate: return chain.phase == .revoked
        case .accessMissing, .product, .renewalPreference: return chain.phase == .active
        case .accessUnpaid, .status: return [.expired, .billingRetry].contains(chain.phase)
        case .expiry: return [.active, .expired].contains(chain.phase)
        case .latestTransaction: return chain.phase == .active && chain.transactions.count > 1
        case .ownership, .notFound: return true
        case .seats: return chain.phase == .active && world.groups[index] != nil
        case .identity: return rows[index]?.appAccountToken != nil
        case .missingLocally: return subscriptions.count > 1
        case .accountNotFound: return world.chains(ofAccount: account).count == 1
        case .invalidID, .duplicateLocal:
            return subscriptions.count == 1 && chain.transactions.count > 1
        case .wrongApp: return subscriptions.count == 1
        case .notificationMissed: return recentNotifications[index] != nil
        case .purchaseMissing, .purchaseRefundMissed, .purchaseUnknown: return false
        }
    }

    private mutating func plant(_ kind: DriftKind, chain index: Int) {
        switch kind {
        case .missingLocally: leaveOut(chain: index)
        case .notFound: inventRow(like: index)
        case .invalidID: useLaterID(chain: index)
        case .duplicateLocal: duplicate(chain: index)
        case .accountNotFound:
            deletedAccounts.append(Int(world.chains[index].account))
            record(kind, chain: index, field: nil, tableValue: nil, appleValue: nil)
        case .notificationMissed: loseNotification(chain: index)
        default: change(kind, chain: index)
        }
    }

    /// Changes one field of the row, and its date where a status needs one.
    private mutating func change(_ kind: DriftKind, chain index: Int) {
        guard let exact = rows[index] else { return }
        var row = exact
        let field = RowDrift(variant: variant, now: world.now).apply(
            kind, to: &row, chain: world.chains[index], world: world, index: index)
        rows[index] = row
        record(
            kind, chain: index, field: field.rawValue, tableValue: row.value(of: field).plainText,
            appleValue: exact.value(of: field).plainText)
    }

    private mutating func leaveOut(chain index: Int) {
        rows[index] = nil
        record(.missingLocally, chain: index, field: nil, tableValue: nil, appleValue: nil)
    }

    private mutating func inventRow(like index: Int) {
        guard var row = rows[index] else { return }
        let unknown = world.chains.count + 1_000_000 + extraRows.count
        row.key = SubscriptionKey(
            bundleID: row.key.bundleID, environment: row.key.environment,
            originalTransactionID: String(
                world.identifiers.transactionID(chain: unknown, period: 0)))
        row.customerID = CompanyTable.customer(
            world.accounts.count + extraRows.count, in: world)
        row.appAccountToken = nil
        row.latestTransactionID = row.key.originalTransactionID
        row.webOrderLineItemID = String(world.identifiers.lineItemID(chain: unknown, period: 0))
        extraRows.append(row)
        planted.append(
            PlantedDrift(
                originalTransactionID: row.key.originalTransactionID,
                kinds: [DriftKind.notFound.rawValue], customerID: row.customerID))
    }

    private func laterKey(of index: Int) -> SubscriptionKey {
        SubscriptionKey(
            bundleID: app.bundleID, environment: world.environment.rawValue,
            originalTransactionID: String(
                world.identifiers.transactionID(
                    chain: index, period: world.chains[index].transactions.count - 1)))
    }

    private mutating func useLaterID(chain index: Int) {
        let key = laterKey(of: index)
        rows[index]?.key = key
        planted.append(
            PlantedDrift(
                originalTransactionID: key.originalTransactionID,
                kinds: [DriftKind.invalidID.rawValue], customerID: rows[index]?.customerID,
                field: SubscriptionField.originalTransactionID.rawValue,
                tableValue: key.originalTransactionID,
                appleValue: world.originalTransactionID(chain: index)))
    }

    /// Adds a second row of the subscription, under a later transaction's id.
    private mutating func duplicate(chain index: Int) {
        guard var copy = rows[index] else { return }
        copy.key = laterKey(of: index)
        extraRows.append(copy)
        record(.duplicateLocal, chain: index, field: nil, tableValue: nil, appleValue: nil)
        planted.append(
            PlantedDrift(
                originalTransactionID: copy.key.originalTransactionID,
                kinds: [DriftKind.duplicateLocal.rawValue, DriftKind.invalidID.rawValue],
                customerID: copy.customerID,
                field: SubscriptionField.originalTransactionID.rawValue,
                tableValue: copy.key.originalTransactionID,
                appleValue: world.originalTransactionID(chain: index)))
    }

    private mutating func loseNotification(chain index: Int) {
        guard let notification = recentNotifications[index] else { return }
        lostNotifications.append(notification)
        let encoder = PayloadEncoder(
            app: app, environment: world.environment, identifiers: world.identifiers,
            catalogue: world.catalogue, pace: world.pace)
        planted.append(
            PlantedDrift(
                originalTransactionID: world.originalTransactionID(chain: index),
                kinds: [DriftKind.notificationMissed.rawValue],
                customerID: rows[index]?.customerID,
                notificationUUID: encoder.notificationUUID(world.notifications[notification])))
    }

    private mutating func record(
        _ kind: DriftKind, chain index: Int, field: String?, tableValue: String?,
        appleValue: String?
    ) {
        planted.append(
            PlantedDrift(
                originalTransactionID: world.originalTransactionID(chain: index),
                kinds: [kind.rawValue],
                customerID: CompanyTable.customer(Int(world.chains[index].account), in: world),
                field: field,
                tableValue: tableValue, appleValue: appleValue))
    }
}
