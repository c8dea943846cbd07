import Subscriptions

/// The seats of a subscription for a group, as they were bought, refunded and claimed.
///
/// Everything is kept with its moment, so that a payload shows the seats of the time at which it
/// was signed. Source: App Store Server API 1.23, `quantity`, `multiSeatInfo`, `renewalQuantity`
/// and `additionalTransactionReason`.
struct GroupSeats: Sendable {
    /// One purchase of seats, which is a transaction.
    struct Purchase: Sendable {
        /// Its index among the chain's transactions.
        let transaction: Int
        /// The index of the transaction that began the same paid period.
        let period: Int
        let seats: Int
        let date: Timestamp
    }

    /// A refund of some seats of a transaction, or of all of them.
    struct Refund: Sendable {
        let transaction: Int
        let seats: Int
        let date: Timestamp
    }

    /// Who invites the members of the group.
    enum Invitations: String, Sendable, CaseIterable {
        case apple = "APPLE"
        case developer = "DEVELOPER"
    }

    let invitations: Invitations
    private(set) var purchases: [Purchase] = []
    private(set) var refunds: [Refund] = []
    /// How many seats the next renewal has, from each moment on.
    private(set) var renewals: [(seats: Int, date: Timestamp)] = []
    /// The claimed seats, by number and the oldest first; the company's members are behind them.
    private(set) var claims: [Int] = []
    /// How many seats were ever claimed: no number comes again.
    private var claimed = 0
    /// The Apple Accounts of members, as far as the company stated them, by claim.
    private(set) var members: [Int: Int] = [:]
    /// The claims of requests, by their identifiers.
    private var requests: [String: Int] = [:]

    init(invitations: Invitations) { self.invitations = invitations }

    mutating func buy(_ seats: Int, transaction: Int, period: Int, at moment: Timestamp) {
        purchases.append(
            Purchase(transaction: transaction, period: period, seats: seats, date: moment))
    }

    mutating func refund(_ seats: Int, of transaction: Int, at moment: Timestamp) {
        refunds.append(Refund(transaction: transaction, seats: seats, date: moment))
    }

    /// What a refund took of a transaction is given back.
    mutating func giveBack(_ transaction: Int, at moment: Timestamp) {
        let taken = revoked(of: transaction, at: moment)
        if taken > 0 { refund(-taken, of: transaction, at: moment) }
    }

    mutating func claim(_ seats: Int) {
        claims += claimed..<claimed + seats
        claimed += seats
    }

    func claim(ofRequest identifier: String) -> Int? { requests[identifier] }

    /// Claims one seat and returns the claim's number.
    mutating func claim(byRequest identifier: String, for member: Int?) -> Int {
        let number = claimed
        claim(1)
        requests[identifier] = number
        members[number] = member
        return number
    }

    mutating func associate(_ number: Int, with member: Int) { members[number] = member }

    mutating func unclaim(_ number: Int) {
        claims.removeAll { $0 == number }
        members[number] = nil
    }

    /// Takes back the oldest claims and returns them.
    mutating func release(_ seats: Int) -> [Int] {
        let released = Array(claims.prefix(seats))
        for number in released { unclaim(number) }
        return released
    }

    mutating func renew(with seats: Int, at moment: Timestamp) { renewals.append((seats, moment)) }

    /// The seats of the next renewal.
    func renewalSeats(at moment: Timestamp) -> Int {
        renewals.last { $0.date <= moment }?.seats ?? renewals.first?.seats ?? 1
    }

    func seats(of transaction: Int) -> Int {
        purchases.first { $0.transaction == transaction }?.seats ?? 1
    }

    func revoked(of transaction: Int, at moment: Timestamp) -> Int {
        refunds.reduce(0) { sum, refund in
            refund.transaction == transaction && refund.date <= moment ? sum + refund.seats : sum
        }
    }

    /// The transactions that represent the same paid period as this one at a moment.
    func transactions(besides transaction: Int, at moment: Timestamp) -> [Int] {
        guard let mine = purchases.first(where: { $0.transaction == transaction }) else {
            return [transaction]
        }
        return purchases.filter { $0.period == mine.period && $0.date <= moment }
            .map(\.transaction)
    }

    /// Seats of the current period that are not revoked.
    func seatsLeft(besides transaction: Int, at moment: Timestamp) -> Int {
        transactions(besides: transaction, at: moment).reduce(0) {
            $0 + seats(of: $1) - revoked(of: $1, at: moment)
        }
    }

    /// What seats cost: the first three the ordinary price, each further one a tenth less.
    static func tiers(of seats: Int, at price: Int64) -> [(price: Int64, seats: Int)] {
        let first = min(seats, 3)
        let further = seats - first
        return [(price, first), (price - price / 10, further)].filter { $0.seats > 0 }
    }

    /// The average of one seat, as Apple's `price` states it.
    static func average(of seats: Int, at price: Int64) -> Int64 {
        let sum = tiers(of: seats, at: price).reduce(0) { $0 + $1.price * Int64($1.seats) }
        return seats > 0 ? sum / Int64(seats) : price
    }
}

/// What a group's purchaser and its members do.
extension World {
    mutating func beginGroup(
        chain index: Int, seats: Int, invitations: GroupSeats.Invitations, at moment: Timestamp
    ) {
        var group = GroupSeats(invitations: invitations)
        group.buy(seats, transaction: 0, period: 0, at: moment)
        group.renew(with: seats, at: moment)
        groups[index] = group
    }

    /// A new period of a group has the seats of the renewal.
    mutating func renewSeats(chain index: Int, at moment: Timestamp) {
        guard let seats = groups[index]?.renewalSeats(at: moment) else { return }
        let last = chains[index].transactions.count - 1
        groups[index]?.buy(seats, transaction: last, period: last, at: moment)
    }

    /// Seats are added within the period: a further transaction represents it as well.
    mutating func addSeats(chain index: Int, _ seats: Int, at moment: Timestamp) {
        guard var added = chains[index].current, let group = groups[index] else { return }
        let last = chains[index].transactions.count - 1
        let together = group.transactions(besides: last, at: moment)
        added.purchaseDate = moment
        added.reinstate(at: moment)
        added.isRenewal = false
        added.isFinished = false
        for transaction in together {
            chains[index].transactions[transaction].modifiedDate = moment
        }
        chains[index].append(added)
        groups[index]?.buy(
            seats, transaction: last + 1, period: together.first ?? last, at: moment)
        groups[index]?.renew(with: group.renewalSeats(at: moment) + seats, at: moment)
        notify(.quantityIncreased, chain: index, at: moment)
    }

    /// Seats are removed: the renewal has fewer.
    mutating func removeSeats(chain index: Int, _ seats: Int, at moment: Timestamp) {
        guard let group = groups[index] else { return }
        groups[index]?.renew(with: group.renewalSeats(at: moment) - seats, at: moment)
        notify(.quantityDecreased, chain: index, at: moment)
    }

    /// Some seats of a transaction are refunded; it stays valid.
    mutating func refundSeats(
        chain index: Int, transaction: Int, _ seats: Int, at moment: Timestamp
    ) {
        groups[index]?.refund(seats, of: transaction, at: moment)
        chains[index].transactions[transaction].modifiedDate = moment
        notify(.refundSeats, chain: index, period: transaction, at: moment)
        unclaimRefundedSeats(chain: index, at: moment)
    }

    /// The App Store takes back claims of seats that a refund has taken, and says so.
    ///
    /// A renewal with fewer seats takes back none. Apple does not say which claims go: the oldest here.
    mutating func unclaimRefundedSeats(chain index: Int, at moment: Timestamp) {
        let claims = groups[index]?.claims.count ?? 0
        let left = claims == 0 ? 0 : seatsLeft(chain: index, at: moment)
        if claims > left { releaseSeats(chain: index, claims - left, at: moment) }
    }

    /// The App Store takes back claims, the oldest first.
    mutating func releaseSeats(chain index: Int, _ seats: Int, at moment: Timestamp) {
        let released = groups[index]?.release(seats) ?? []
        let ids = released.map { claimID(chain: index, number: $0) }
        record(.seatsUnclaimed, about: .releasedSeats(ids), at: moment)
    }

    /// Seats of the current period that are not revoked.
    func seatsLeft(chain index: Int, at moment: Timestamp) -> Int {
        groups[index]?.seatsLeft(
            besides: chains[index].transactions.count - 1, at: moment) ?? 0
    }

    /// After a renewal with fewer seats, more may be claimed than there are.
    func availableSeats(chain index: Int, at moment: Timestamp) -> Int {
        max(0, seatsLeft(chain: index, at: moment) - (groups[index]?.claims.count ?? 0))
    }

    func claimIDs(chain index: Int) -> [String] {
        (groups[index]?.claims ?? []).map { claimID(chain: index, number: $0) }
    }

    /// The chains of the groups that exist: a group ends with its subscription.
    var activeGroups: [Int] {
        groups.keys.sorted().filter {
            [.active, .grace].contains(chains[$0].phase) && !isDeleted(chain: $0)
        }
    }

    /// The accounts of a group: the purchaser's, then those that the company has stated, each once.
    func members(ofGroup index: Int) -> [Int] {
        guard let group = groups[index] else { return [] }
        var members = [Int(chains[index].account)]
        for claim in group.claims {
            if let member = group.members[claim], !members.contains(member) {
                members.append(member)
            }
        }
        return members
    }

    /// The id of a group.
    func groupID(_ index: Int) -> String { identifiers.uuid(UInt64(index), 0x67_72_6F_75) }

    /// The id of a claimed seat.
    func claimID(chain index: Int, number: Int) -> String {
        identifiers.uuid(UInt64(index) << 16 | UInt64(number), 0x73_65_61_74)
    }

    /// Whether a transaction represents the period that determines the status.
    func isOfCurrentPeriod(chain index: Int, transaction: Int, at moment: Timestamp) -> Bool {
        let last = chains[index].transactions.count - 1
        return groups[index]?.transactions(besides: last, at: moment).contains(transaction)
            ?? (transaction == last)
    }

    /// Whether every transaction that represents the current period is revoked.
    func isWhollyRefunded(chain index: Int, at moment: Timestamp) -> Bool {
        let last = chains[index].transactions.count - 1
        let together = groups[index]?.transactions(besides: last, at: moment) ?? [last]
        return together.allSatisfy { chains[index].transactions[$0].revocationDate != nil }
    }

    /// When access to the current period ended by refunds; `nil` while it is active.
    func endOfAccess(chain index: Int) -> Timestamp? {
        guard let group = groups[index], chains[index].phase == .revoked else {
            return groups[index] == nil ? chains[index].current?.revocationDate : nil
        }
        let last = chains[index].transactions.count - 1
        return group.transactions(besides: last, at: now)
            .compactMap { chains[index].transactions[$0].revocationDate }.max()
    }
}
