import Subscriptions
import Synchronization

/// A request for the customers who have a purchase of a kind.
struct CustomerListing {
    static let parameters = [
        "status", "product", "life", "environment", "limit", "after",
    ]
    private static let usualLimit = 100
    private static let highestLimit = 10_000

    private let status: Int?
    private let product: UInt16?
    private let life: PurchaseLife?
    private let environment: SimulatedEnvironment?
    private let limit: Int
    /// The `appTransactionId` of the last customer of the page before.
    private let after: String?

    init(_ query: ControlQuery, catalogue: Catalogue) throws(SimulatorError) {
        status = try query.integer("status", in: 1...5)
        product = try query.text("product").map { text throws(SimulatorError) in
            guard let product = catalogue.product(withShortName: text) else {
                throw .badOption("The product \"\(text)\" is unknown.")
            }
            return product
        }
        life = try query.choice(PurchaseLife.self, "life")
        environment = try query.choice(SimulatedEnvironment.self, "environment")
        limit = try query.integer("limit", in: 1...Self.highestLimit) ?? Self.usualLimit
        after = query.text("after")
    }

    /// Writes the customers with the purchases that are asked for.
    func write(
        of services: [AppStoreService], now: Timestamp, into json: inout JSONWriter
    ) throws(SimulatorError) {
        var first = try firstPlace(in: services)
        var total = 0
        var left = limit
        var last: String?
        json.key("customers")
        json.array { json in
            for service in services where environment == nil || environment == service.environment {
                service.world.state.withLock { world in
                    world.advance(to: now)
                    let told = ToldLives(life.map { [$0] } ?? [], in: world)
                    if first.environment == world.environment { first.environment = nil }
                    for account in world.accounts.indices {
                        let found = world.chains(ofAccount: account).filter {
                            isWanted($0, in: world, told: told)
                        }
                        guard !found.isEmpty else { continue }
                        total += 1
                        guard left > 0, first.environment == nil, account >= first.account else {
                            continue
                        }
                        left -= 1
                        last = String(world.identifiers.appTransactionID(account: account))
                        json.object { world.write(account: account, purchases: found, into: &$0) }
                    }
                    if first.environment == nil { first.account = 0 }
                }
            }
        }
        json.field("total", total)
        // A page that is not full is the last one.
        if left == 0 { json.field("next", last) }
    }

    /// Where the page begins: the environment (`nil` for the first one) and the account.
    private func firstPlace(
        in services: [AppStoreService]
    ) throws(SimulatorError) -> (environment: SimulatedEnvironment?, account: Int) {
        guard let after else { return (nil, 0) }
        for service in services where environment == nil || environment == service.environment {
            let place = service.world.state.withLock { world in
                if case .appTransaction(let account) = world.resolve(after) { return account }
                return -1
            }
            if place >= 0 { return (service.environment, place + 1) }
        }
        throw .badOption("No customer has the id \"\(after)\" of \"after\".")
    }

    private func isWanted(_ chain: Int, in world: borrowing World, told: ToldLives) -> Bool {
        if let status, world.chains[chain].phase.status != status { return false }
        if let product, world.chains[chain].current?.product != product { return false }
        if let life, !world.has(life, chain: chain, told: told) { return false }
        return true
    }
}

extension World {
    fileprivate func write(account: Int, purchases: [Int], into json: inout JSONWriter) {
        writeCustomer(account: account, into: &json)
        json.key("purchases")
        json.array { json in
            for chain in purchases {
                json.object { writePurchase(chain: chain, into: &$0) }
            }
        }
    }

    /// Writes who a customer is.
    func writeCustomer(account: Int, into json: inout JSONWriter) {
        json.field("name", scripted.name(of: account))
        json.field("environment", environment.rawValue)
        json.field("app_transaction_id", String(identifiers.appTransactionID(account: account)))
        if accounts[account].hasToken {
            json.field("app_account_token", identifiers.appAccountToken(account: account))
        }
    }

    /// Writes a purchase with its ids and its status.
    func writePurchase(chain index: Int, into json: inout JSONWriter) {
        let chain = chains[index]
        json.field("original_transaction_id", originalTransactionID(chain: index))
        json.field(
            "product_id", chain.current.map { catalogue.products[Int($0.product)].id })
        if chain.isSubscription { json.field("status", chain.phase.status) }
        json.key("transaction_ids")
        json.array { json in
            for period in chain.transactions.indices {
                json.string(String(identifiers.transactionID(chain: index, period: period)))
            }
        }
        json.key("order_ids")
        json.array { json in
            for period in chain.transactions.indices {
                json.string(identifiers.orderID(chain: index, period: period))
            }
        }
    }
}
