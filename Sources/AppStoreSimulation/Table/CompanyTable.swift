import Subscriptions

/// A company's table of the world's subscriptions: correct, except for planted drift.
///
/// docs/columns.md describes the columns.
struct CompanyTable: Sendable {
    var rows: [LocalSubscription] = []
    var planted: [PlantedDrift] = []
    var purchases: [LocalTransaction] = []
    var plantedPurchases: [PlantedDrift] = []

    /// The correct row of a subscription: its present state, with a `signedDate` about a day ago.
    static func exactRow(of index: Int, in world: borrowing World, app: SimulatedApp)
        -> LocalSubscription
    {
        let chain = world.chains[index]
        let account = Int(chain.account)
        var row = LocalSubscription(
            key: SubscriptionKey(
                bundleID: app.bundleID, environment: world.environment.rawValue,
                originalTransactionID: world.originalTransactionID(chain: index)))
        row.customerID = customer(account, in: world)
        row.appAccountToken = world.snapshot(chain: index).appAccountToken(
            at: world.now, world.identifiers)
        row.status = chain.phase.status
        row.autoRenewStatus = chain.renewsNextPeriod ? 1 : 0
        row.autoRenewProductID = world.catalogue.products[Int(chain.nextPeriodProduct)].id
        row.gracePeriodExpiresDate = chain.renewal.gracePeriodExpiresDate
        row.inAppOwnershipType = chain.isFamilyShared ? "FAMILY_SHARED" : "PURCHASED"
        if let current = chain.current {
            let period = chain.transactions.count - 1
            row.productID = world.catalogue.products[Int(current.product)].id
            row.expiresDate = current.expiresDate
            row.revocationDate = world.endOfAccess(chain: index)
            row.latestTransactionID = String(
                world.identifiers.transactionID(chain: index, period: period))
            row.webOrderLineItemID = String(
                world.identifiers.lineItemID(chain: index, period: period))
        }
        if let group = world.groups[index] {
            let last = chain.transactions.count - 1
            let together = group.transactions(besides: last, at: world.now)
            row.quantity = together.reduce(0) { $0 + Int64(group.seats(of: $1)) }
            row.revokedSeats = together.reduce(0) {
                $0 + Int64(group.revoked(of: $1, at: world.now))
            }
            row.renewalQuantity = Int64(group.renewalSeats(at: world.now))
        }
        var random = SeededRandom(seed: world.seed, stream: UInt64(index) &+ 0x0DA7E)
        row.signedDate = world.now.adding(
            milliseconds: -random.integer(in: 86_400_000...108_000_000))
        return row
    }

    /// The correct rows of all subscriptions, and of the members of groups that the developer
    /// manages.
    static func exactRows(of world: borrowing World, app: SimulatedApp) -> [LocalSubscription] {
        subscriptions(of: world).flatMap { index in
            let row = exactRow(of: index, in: world, app: app)
            return [row] + memberRows(of: index, beside: row, in: world)
        }
    }

    /// The rows that the company keeps of claimed seats: under ids that no App Store knows.
    private static func memberRows(
        of index: Int, beside purchaser: LocalSubscription, in world: borrowing World
    ) -> [LocalSubscription] {
        (world.groups[index]?.claims ?? []).map { number in
            var row = LocalSubscription(
                key: SubscriptionKey(
                    bundleID: purchaser.key.bundleID, environment: purchaser.key.environment,
                    originalTransactionID: String(
                        9_900_000_000_000_000 + index * 4096 + number)))
            row.customerID = "member-\(world.claimID(chain: index, number: number))"
            row.productID = purchaser.productID
            row.status = purchaser.status
            row.expiresDate = purchaser.expiresDate
            row.inAppOwnershipType = "SEAT_MEMBER"
            row.signedDate = purchaser.signedDate
            return row
        }
    }

    private static func subscriptions(of world: borrowing World) -> [Int] {
        var found: [Int] = []
        for index in world.chains.indices
        where world.chains[index].isSubscription && !world.chains[index].isReplaced {
            found.append(index)
        }
        return found
    }

    static func customer(_ account: Int, in world: borrowing World) -> String {
        if let given = world.customerNames[account] { return given }
        let digits = String(account + 1)
        return "customer-" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// The table of all subscriptions, with drift of these kinds, in turn, in this share of the
    /// rows.
    ///
    /// Planting may also change the world, by deleting an account or not delivering a notification.
    static func make(
        of world: inout World, app: SimulatedApp, rate: Double, kinds: [DriftKind], seed: UInt64
    ) -> CompanyTable {
        let subscriptions = subscriptions(of: world)
        var planting = DriftPlanting(
            world: world, app: app, subscriptions: subscriptions, kinds: kinds, seed: seed)
        planting.plant(count: Int((Double(subscriptions.count) * rate).rounded()))
        var purchases = PurchasePlanting(
            world: world, app: app, kinds: kinds, besides: planting.usedAccounts, seed: seed)
        purchases.plant(rate: rate)
        var table = planting.table
        table.purchases = purchases.purchases
        table.plantedPurchases = purchases.planted
        for account in planting.deletedAccounts {
            world.delete(account: account, at: world.now)
        }
        world.refreshNextDue()
        // Only planted drift may be found, so all other notifications were delivered.
        for notification in world.notifications.indices {
            world.notifications[notification].delivery = .atOnce
        }
        for notification in planting.lostNotifications {
            world.notifications[notification].delivery = .never
        }
        return table
    }
}

extension CompanyTable {
    /// The correct rows of all one-time purchases as CSV, in the form of
    /// `trueup import --purchases`.
    static func purchases(of world: borrowing World, app: SimulatedApp) -> String {
        csv(of: exactPurchases(of: world, app: app).sorted { $0.key < $1.key }.map(\.value))
    }

    /// The correct rows of all one-time purchases, by the number of the purchase.
    static func exactPurchases(
        of world: borrowing World, app: SimulatedApp
    ) -> [Int: LocalTransaction] {
        var rows: [Int: LocalTransaction] = [:]
        for index in world.chains.indices where !world.chains[index].isSubscription {
            rows[index] = purchase(index, in: world, app: app)
        }
        return rows
    }

    private static func csv(of purchases: [LocalTransaction]) -> String {
        var text = TransactionField.ofPurchases.map(\.rawValue).joined(separator: ",") + "\r\n"
        for row in purchases {
            text += TransactionField.ofPurchases.map { quoted(row.value(of: $0).plainText) }
                .joined(separator: ",")
            text += "\r\n"
        }
        return text
    }

    private static func purchase(
        _ index: Int, in world: borrowing World, app: SimulatedApp
    ) -> LocalTransaction? {
        let chain = world.chains[index]
        guard let transaction = chain.current else { return nil }
        let account = Int(chain.account)
        let product = world.catalogue.products[Int(transaction.product)]
        let storefront = world.accounts[account].storefront
        let id = world.originalTransactionID(chain: index)
        var row = LocalTransaction(
            key: TransactionKey(
                bundleID: app.bundleID, environment: world.environment.rawValue,
                transactionID: id),
            originalTransactionID: id)
        row.customerID = customer(account, in: world)
        row.appAccountToken = world.snapshot(chain: index).appAccountToken(
            at: world.now, world.identifiers)
        row.productID = product.id
        row.type = product.kind.transactionType
        row.quantity = 1
        row.purchaseDate = transaction.purchaseDate
        if let date = transaction.revocationDate {
            row.revocationDate = date
            row.revocationReason = Int(transaction.revocationReason)
            if transaction.revocation == .refundProrated {
                row.revocationPercentage = Int64(transaction.revocationPercent) * 1000
            }
        }
        row.price = world.catalogue.price(
            of: transaction.product, storefront: storefront, offer: transaction.offer,
            increasePercent: transaction.priceIncreasePercent)
        row.currency = world.catalogue.storefronts[Int(storefront)].currency
        row.signedDate = world.now.adding(milliseconds: -Milliseconds.perDay)
        return row
    }

    /// Writes the table, the purchases, and what was planted in each into a folder.
    func write(into folder: String) throws(SimulatorError) -> Files {
        let files = Files(
            table: folder + "/table.csv", planted: folder + "/planted.json",
            purchases: folder + "/purchases.csv",
            plantedPurchases: folder + "/planted-purchases.json")
        for (text, path) in [
            (csv, files.table), (Self.json(of: planted), files.planted),
            (Self.csv(of: purchases), files.purchases),
            (Self.json(of: plantedPurchases), files.plantedPurchases),
        ] {
            try SimulatorFolder.write(text, to: path, permissions: 0o644)
        }
        return files
    }

    /// Paths of the written files.
    struct Files {
        var table: String
        var planted: String
        var purchases: String
        var plantedPurchases: String
    }

    /// The columns that it fills: optional ones only where any row has a value.
    ///
    /// Who pays elsewhere as well, no App Store knows.
    private var columns: [SubscriptionField] {
        SubscriptionField.mappable.filter { field in
            !SubscriptionField.optional.contains(field)
                || rows.contains { $0.value(of: field) != .null }
        }
    }

    /// CSV (RFC 4180) with a header line.
    var csv: String {
        let columns = columns
        var text = columns.map(\.rawValue).joined(separator: ",") + "\r\n"
        for row in rows {
            text += columns.map { Self.quoted(row.value(of: $0).plainText) }
                .joined(separator: ",")
            text += "\r\n"
        }
        return text
    }

    /// Only a customer's id of a given table can need quotes.
    private static func quoted(_ value: String) -> String {
        guard value.contains(where: { ",\"\r\n\r\n".contains($0) }) else { return value }
        return "\"" + value.replacing("\"", with: "\"\"") + "\""
    }

    private static func json(of planted: [PlantedDrift]) -> String {
        var json = JSONWriter()
        json.array { json in
            for drift in planted { drift.write(into: &json) }
        }
        return String(decoding: json.bytes, as: UTF8.self) + "\n"
    }
}
