import FoundationEssentials
import Subscriptions

/// The endpoints of groups and their seats, which Apple has in the sandbox alone.
///
/// Source: App Store Server API 1.22 and 1.23, Get Customer Groups, Get Group Members, Claim Seat,
/// Get Seat Info, Unclaim Seat and Associate Seat.
extension AppStoreService {
    /// Get Customer Groups: the groups whose seats the customer bought, or sits on.
    func customerGroups(id: String) throws(APIFailure) -> ServiceAnswer {
        let groups = try withWorld { world, now throws(APIFailure) in
            let account = try Self.account(of: id, in: world)
            return world.activeGroups.filter {
                world.members(ofGroup: $0).contains(account)
            }.map(world.groupID)
        }
        return .json { json in
            json.key("groups")
            json.array { json in
                for group in groups {
                    json.object { json in
                        json.field("groupId", group)
                        json.field("groupType", "GROUP")
                    }
                }
            }
        }
    }

    /// Get Group Members: a page of their app transaction ids, the purchaser's first.
    func groupMembers(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let limit = request.value("limit").map { Int($0) ?? 0 } ?? Self.membersPerPage
        guard (1...Self.membersPerPage).contains(limit) else { throw .invalidLimit }
        guard let group = UUID(uuidString: id) else { throw .invalidGroupID }
        let digest = PageTokens.digest(Array("\(group) \(limit)".utf8))
        var page = PageTokens.Page(
            from: Self.noMoment, skip: 0, end: Self.noMoment, issued: Self.noMoment)
        if let token = request.value("paginationToken") {
            guard let claimed = pageTokens.claimedPage(token),
                pageTokens.admits(token, claimed, queryDigest: digest)
            else { throw .invalidPaginationToken }
            page = claimed
        }
        let all = try withWorld { world, now throws(APIFailure) in
            guard
                let chain = world.activeGroups.first(where: {
                    world.groupID($0) == id.lowercased()
                })
            else { throw .groupNotFound }
            return world.members(ofGroup: chain).map(world.identifiers.appTransactionID)
        }
        let shown = all.dropFirst(page.skip).prefix(limit)
        page.skip += shown.count
        let hasMore = page.skip < all.count
        return .json { json in
            json.key("members")
            json.array { json in
                for member in shown {
                    json.object { $0.field("appTransactionId", String(member)) }
                }
            }
            json.field("hasMore", hasMore)
            if hasMore {
                json.field("paginationToken", pageTokens.text(page, queryDigest: digest))
            }
        }
    }

    /// Claim Seat: a request that is sent again claims no second seat.
    func claimSeat(id: String, request: ServiceRequest) throws(APIFailure) -> ServiceAnswer {
        let body = try request.decodedBody(ClaimSeatBody.self)
        let claim = try withWorld { world, now throws(APIFailure) in
            let chain = try Self.developersGroup(id, in: world)
            let member = try Self.member(body.appTransactionID, in: world)
            if let known = world.groups[chain]?.claim(ofRequest: body.requestIdentifier) {
                return world.claimID(chain: chain, number: known)
            }
            guard world.availableSeats(chain: chain, at: now) > 0,
                let number = world.groups[chain]?.claim(
                    byRequest: body.requestIdentifier, for: member)
            else { throw .noAvailableSeats }
            return world.claimID(chain: chain, number: number)
        }
        return .json { $0.field("seatClaimId", claim) }
    }

    /// Get Seat Info: how many seats there are and are free, and which claims stand.
    func seatInfo(id: String) throws(APIFailure) -> ServiceAnswer {
        let (total, available, claims) = try withWorld { world, now throws(APIFailure) in
            let chain = try Self.developersGroup(id, in: world)
            return (
                world.seatsLeft(chain: chain, at: now), world.availableSeats(chain: chain, at: now),
                world.claimIDs(chain: chain)
            )
        }
        return .json { json in
            json.field("totalSeatCount", total)
            json.field("availableSeatCount", available)
            json.key("assignedSeatClaimIds")
            json.array { json in
                for claim in claims { json.string(claim) }
            }
        }
    }

    /// Unclaim Seat: no notification follows, because the company asked for it itself.
    func unclaimSeat(_ parameters: [String]) throws(APIFailure) -> ServiceAnswer {
        try withWorld { world, now throws(APIFailure) in
            let (chain, number) = try Self.claim(parameters, in: world)
            world.groups[chain]?.unclaim(number)
        }
        return .empty(status: 200)
    }

    /// Associate Seat: says which customer sits on a claimed seat.
    func associateSeat(
        _ parameters: [String], request: ServiceRequest
    ) throws(APIFailure) -> ServiceAnswer {
        let body = try request.decodedBody(AssociateSeatBody.self)
        try withWorld { world, now throws(APIFailure) in
            let (chain, number) = try Self.claim(parameters, in: world)
            guard let member = try Self.member(body.appTransactionID, in: world) else {
                throw .appTransactionIDNotFound
            }
            world.groups[chain]?.associate(number, with: member)
        }
        return .empty(status: 200)
    }

    private static let membersPerPage = 100
    private static let noMoment = Timestamp(unixMilliseconds: 0)

    /// The group of an original transaction id, if the developer invites its members and it is active.
    private static func developersGroup(
        _ id: String, in world: borrowing World
    ) throws(APIFailure) -> Int {
        let chain = try chain(
            ofOriginal: id, in: world, malformed: .invalidTransactionID,
            otherwise: .transactionIDIsNotOriginal)
        guard world.groups[chain]?.invitations == .developer,
            world.activeGroups.contains(chain)
        else { throw .transactionNotDevManagedGroup }
        return chain
    }

    private static func claim(
        _ parameters: [String], in world: borrowing World
    ) throws(APIFailure) -> (chain: Int, number: Int) {
        let chain = try developersGroup(parameters.first ?? "", in: world)
        let id = parameters.last?.lowercased()
        guard
            let number = world.groups[chain]?.claims.first(where: { number in
                world.claimID(chain: chain, number: number) == id
            })
        else { throw .seatClaimIDNotFound }
        return (chain, number)
    }

    /// The account of an app transaction id; `nil` where none is stated.
    private static func member(
        _ id: String?, in world: borrowing World
    ) throws(APIFailure) -> Int? {
        guard let id else { return nil }
        guard case .appTransaction(let account) = world.resolve(id) else {
            throw .appTransactionIDNotFound
        }
        return account
    }
}

/// Source: App Store Server API, `ClaimSeatRequest`.
private struct ClaimSeatBody: Decodable {
    let requestIdentifier: String
    let appTransactionID: String?

    init(from decoder: any Decoder) throws {
        let members = try BodyMembers(decoder)
        requestIdentifier = try members.required(
            String.self, "requestIdentifier", otherwise: .invalidRequestIdentifier
        ) { UUID(uuidString: $0) != nil }.lowercased()
        appTransactionID = try members.optional(
            String.self, "appTransactionId", otherwise: .appTransactionIDNotFound)
    }
}

/// Source: App Store Server API, `AssociateSeatRequest`.
private struct AssociateSeatBody: Decodable {
    let appTransactionID: String

    init(from decoder: any Decoder) throws {
        appTransactionID = try BodyMembers(decoder).required(
            String.self, "appTransactionId", otherwise: .appTransactionIDNotFound)
    }
}
