import Subscriptions

/// Computes ids from positions in the world and back, so that none has to be stored.
///
/// All ids are decimal texts, as Apple's are; no id exists in both production and sandbox.
struct IdentifierScheme: Sendable {
    /// Room for the periods of one chain: 78 years of weekly ones.
    static let periodsPerChain: UInt64 = 4096
    /// How many ids of transactions can be computed.
    fileprivate static let size: UInt64 = 90_000_000_000_000

    let environment: SimulatedEnvironment
    let seed: UInt64
    /// Ids that a company's table gives; they take the place of computed ones.
    private let given: GivenIdentifiers
    private let transactionBase: UInt64
    private let lineItemBase: UInt64

    init(
        environment: SimulatedEnvironment, seed: UInt64,
        given: GivenIdentifiers = GivenIdentifiers()
    ) {
        self.environment = environment
        self.seed = seed
        self.given = given
        let isProduction = environment == .production
        transactionBase =
            given.freeBase ?? (isProduction ? 420_001_000_000_000 : 2_000_000_100_000_000)
        lineItemBase =
            given.freeBase ?? (isProduction ? 420_000_400_000_000 : 2_000_000_000_000_000)
    }

    private var appTransactionBase: UInt64 {
        environment == .production ? 704_300_000_000_000_000 : 705_300_000_000_000_000
    }

    func transactionID(chain: Int, period: Int) -> UInt64 {
        given.transactions[PurchasePlace(chain: chain, period: period)]
            ?? transactionBase + UInt64(chain) * Self.periodsPerChain + UInt64(period)
    }

    func lineItemID(chain: Int, period: Int) -> UInt64 {
        given.lineItems[PurchasePlace(chain: chain, period: period)]
            ?? lineItemBase + UInt64(chain) * Self.periodsPerChain + UInt64(period)
    }

    func appTransactionID(account: Int) -> UInt64 {
        appTransactionBase + UInt64(account) * 7919
    }

    /// The chain and period that an id stands for; the caller checks that they exist.
    func place(ofTransaction id: UInt64) -> (chain: Int, period: Int)? {
        if let place = given.places[id] { return (place.chain, place.period) }
        guard id >= transactionBase, id - transactionBase < Self.size else { return nil }
        let offset = id - transactionBase
        let place = PurchasePlace(
            chain: Int(offset / Self.periodsPerChain), period: Int(offset % Self.periodsPerChain))
        // The given id is the only one of its purchase.
        return given.transactions[place] == nil ? (place.chain, place.period) : nil
    }

    /// The account that an id stands for; the caller checks that it exists.
    func account(ofAppTransaction id: UInt64) -> Int? {
        guard id >= appTransactionBase, (id - appTransactionBase) % 7919 == 0,
            id - appTransactionBase < 900_000_000_000_000
        else { return nil }
        return Int((id - appTransactionBase) / 7919)
    }

    /// For example `M0000AB12C`: the order of a transaction, for Look Up Order ID.
    func orderID(chain: Int, period: Int) -> String {
        let number = UInt64(chain) * Self.periodsPerChain + UInt64(period)
        let digits = String(number, radix: 36, uppercase: true)
        return "M" + String(repeating: "0", count: max(0, 9 - digits.count)) + digits
    }

    /// The inverse of `orderID`.
    func place(ofOrder id: String) -> (chain: Int, period: Int)? {
        guard id.hasPrefix("M"), id.utf8.count >= 10,
            let number = UInt64(id.dropFirst(), radix: 36),
            number < 90_000_000_000_000
        else { return nil }
        return (Int(number / Self.periodsPerChain), Int(number % Self.periodsPerChain))
    }

    /// The token that the app supplies with an account's purchases.
    func appAccountToken(account: Int) -> String {
        uuid(UInt64(account), 0x70_6B_65_6E)
    }

    /// A version 4 UUID derived from the seed and two numbers.
    func uuid(_ first: UInt64, _ second: UInt64) -> String {
        var random = SeededRandom(seed: seed ^ SeededRandom.mixed(first), stream: second)
        let high = (random.next() & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000
        let low = (random.next() & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000
        let digits = Self.hexadecimal(high) + Self.hexadecimal(low)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    private static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// A purchase's place in the world: its chain, and the period within it.
struct PurchasePlace: Hashable, Sendable {
    let chain: Int
    let period: Int
}

/// The ids that the rows of a company's table give to their purchases.
struct GivenIdentifiers: Sendable {
    private(set) var transactions: [PurchasePlace: UInt64] = [:]
    private(set) var lineItems: [PurchasePlace: UInt64] = [:]
    /// The inverse of `transactions`.
    private(set) var places: [UInt64: PurchasePlace] = [:]
    /// Where computed ids begin, so that none is a given one; `nil` without given ids.
    private(set) var freeBase: UInt64?

    init() {}

    /// The ids of rows whose purchases are the first chains of a world, in this order.
    init(_ rows: [GivenRow], in environment: SimulatedEnvironment) throws(SimulatorError) {
        for (chain, row) in rows.enumerated() {
            let first = PurchasePlace(chain: chain, period: 0)
            var current = first
            transactions[first] = row.originalID
            places[row.originalID] = first
            if let latest = row.latestID, latest != row.originalID {
                current = PurchasePlace(chain: chain, period: 1)
                transactions[current] = latest
                places[latest] = current
            }
            if let lineItem = row.lineItemID { lineItems[current] = lineItem }
        }
        freeBase = try Self.freeBase(
            besides: Array(places.keys) + Array(lineItems.values), in: environment)
    }

    /// Ids of seventeen digits, longer than Apple's own; no id exists in both environments.
    private static func freeBase(
        besides ids: [UInt64], in environment: SimulatedEnvironment
    ) throws(SimulatorError) -> UInt64 {
        let first: UInt64 =
            environment == .production ? 42_000_100_000_000_000 : 52_000_100_000_000_000
        for step in UInt64(0)..<50 {
            let base = first + step * 100_000_000_000_000
            let range = base..<base + IdentifierScheme.size
            if !ids.contains(where: range.contains) { return base }
        }
        throw GivenTable.problem("its ids leave no room for ids of later periods.")
    }
}
