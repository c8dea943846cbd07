import AppStoreSimulation
import Foundation
import Testing

/// The endpoints of groups and seats, held against Apple's documentation (server API 1.22 and 1.23).
@Suite struct `Endpoints of seats` {
    private static let scenario = """
        customers:
          - name: school
            environment: Sandbox
            life: [{at: -9d, buy: news.monthly, seats: 4}]
          - name: invited
            environment: Sandbox
            life: [{at: -9d, buy: news.monthly, seats: 4, invitations: apple}]
          - name: anna
            environment: Sandbox
            life: [{at: -9d, buy: news.monthly}]
        """

    private func client() throws -> SimulatorClient {
        try SimulatorClient(scenario: Self.scenario, customers: 0)
    }

    private func send(
        _ client: SimulatorClient, _ method: String, _ path: String, _ body: [String: Any]? = nil
    ) throws -> Answer {
        guard let body else {
            return method == "GET"
                ? try client.get("/groups/v1/" + path, environment: .sandbox)
                : try client.send(method, "/groups/v1/" + path, [:], environment: .sandbox)
        }
        return try client.send(method, "/groups/v1/" + path, body, environment: .sandbox)
    }

    private func claim(
        _ client: SimulatorClient, _ id: String, request: UUID = UUID(), member: String? = nil
    ) throws -> Answer {
        var body = ["requestIdentifier": request.uuidString]
        body["appTransactionId"] = member
        return try send(client, "POST", "transactions/\(id)/seats", body)
    }

    private func info(
        _ client: SimulatorClient, _ id: String
    ) throws -> (total: Int, available: Int, claims: [String]) {
        let answer = try send(client, "GET", "transactions/\(id)/seats")
        return (
            try #require(answer.json["totalSeatCount"] as? Int),
            try #require(answer.json["availableSeatCount"] as? Int),
            try #require(answer.json["assignedSeatClaimIds"] as? [String])
        )
    }

    private func appTransaction(_ client: SimulatorClient, _ id: String) throws -> String {
        let answer = try client.get("/inApps/v1/transactions/\(id)", environment: .sandbox)
        let payload = try SimulatorClient.payload(
            try #require(answer.json["signedTransactionInfo"] as? String))
        return try #require(payload["appTransactionId"] as? String)
    }

    private func error(_ answer: Answer) -> String {
        "\(answer.status) " + (answer.json["errorMessage"] as? String ?? "")
    }

    @Test func `claim, list and release seats, once for each request`() throws {
        let client = try client()
        let id = try client.id("school")
        #expect(try info(client, id) == (4, 4, []))
        let request = UUID()
        let first = try #require(
            try claim(client, id, request: request).json["seatClaimId"] as? String)
        #expect(try claim(client, id, request: request).json["seatClaimId"] as? String == first)
        #expect(try info(client, id) == (4, 3, [first]))
        for _ in 0..<3 { #expect(try claim(client, id).status == 200) }
        #expect(try error(claim(client, id)) == "400 NoAvailableSeatsError")
        #expect(
            try send(client, "DELETE", "transactions/\(id)/seats/\(first)").status == 200)
        #expect(
            try error(send(client, "DELETE", "transactions/\(id)/seats/\(first)"))
                == "404 SeatClaimIdNotFoundError")
        #expect(try info(client, id).available == 1)
        // Each claim has an id of its own, on whichever seat.
        let again = try claim(client, id).json["seatClaimId"] as? String
        #expect(again != nil && again != first)
        #expect(try client.notifications().allSatisfy { $0.name != "UNCLAIM_SEATS" })
    }

    @Test func `show who sits in a group`() throws {
        let client = try client()
        let id = try client.id("school")
        let (owner, anna) = (
            try appTransaction(client, id), try appTransaction(client, try client.id("anna"))
        )
        let claim = try #require(try claim(client, id).json["seatClaimId"] as? String)
        let seat = "transactions/\(id)/seats/\(claim)/associate"
        #expect(
            try error(send(client, "POST", seat, ["appTransactionId": "7"]))
                == "404 AppTransactionIdNotFoundError")
        #expect(try send(client, "GET", "currentGroups/\(anna)").json["groups"] as? [String] == [])
        #expect(try send(client, "POST", seat, ["appTransactionId": anna]).status == 200)
        let groups = try #require(
            try send(client, "GET", "currentGroups/\(anna)").json["groups"] as? [[String: Any]])
        let group = try #require(groups.first?["groupId"] as? String)
        var token: String?
        var members: [String] = []
        repeat {
            let page = try send(
                client, "GET",
                "group/\(group)?limit=1" + (token.map { "&paginationToken=\($0)" } ?? "")
            ).json
            members += (page["members"] as? [[String: String]] ?? []).compactMap {
                $0["appTransactionId"]
            }
            token = page["paginationToken"] as? String
            #expect((token != nil) == (page["hasMore"] as? Bool))
        } while token != nil && members.count < 9
        #expect(members == [owner, anna])
        #expect(
            try error(send(client, "GET", "group/\(group)?limit=101")) == "400 InvalidLimitError")
        #expect(try error(send(client, "GET", "group/x")) == "400 InvalidGroupIdError")
        #expect(
            try error(send(client, "GET", "group/\(UUID().uuidString)")) == "404 GroupNotFoundError"
        )
    }

    @Test(arguments: ["invited", "anna"])
    func `are of groups alone whose members the developer invites`(name: String) throws {
        let client = try client()
        let id = try client.id(name)
        for (method, path) in [
            ("GET", "seats"), ("POST", "seats"), ("DELETE", "seats/1"),
            ("POST", "seats/1/associate"),
        ] {
            let body = [
                "requestIdentifier": UUID().uuidString, "appTransactionId": "1",
            ]
            let answer = try send(
                client, method, "transactions/\(id)/\(path)", method == "POST" ? body : nil)
            #expect(error(answer) == "400 TransactionNotDevManagedGroupError", "\(path)")
        }
    }

    @Test func `lose claims to a refund, and none to a renewal with fewer seats`() throws {
        let client = try client()
        let id = try client.id("school")
        for _ in 0..<4 { #expect(try claim(client, id).status == 200) }
        let before = try info(client, id).claims
        let step = "/_simulator/customers/school/"
        #expect(
            try client.control("POST", step + "remove_seats", ["remove_seats": 1]).status == 200)
        try client.advance(["days": 30])
        #expect(try info(client, id) == (3, 0, before))
        #expect(
            try client.control("POST", step + "refund_seats", ["refund_seats": 1]).status == 200)
        #expect(try info(client, id) == (2, 0, Array(before.suffix(2))))
        try client.advance(["hours": 1])
        let told = try #require(
            try client.notifications(environment: .sandbox).last { $0.name == "UNCLAIM_SEATS" })
        let lost = (told.payload["unclaimInfo"] as? [String: Any])?["unclaimSeatIds"]
        #expect(Set(lost as? [String] ?? []) == Set(before.prefix(2)))
    }
}
