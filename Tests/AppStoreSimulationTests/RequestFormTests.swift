import AppStoreSimulation
import Foundation
import FoundationNetworking
import Testing

/// The accepted forms of requests, and what every answer contains.
@Suite struct `A request` {
    private static let history = "/inApps/v1/notifications/history"

    @Test func `for the next page may write its members in another order`() throws {
        let client = try SimulatorClient(customers: 120)
        let now = try client.now()
        let (start, end) = (now - 90 * SimulatorClient.day, now)
        func ask(_ body: String, _ token: String? = nil) throws -> ServiceAnswer {
            client.simulator.answer(
                ServiceRequest(
                    method: "POST",
                    target: Self.history + (token.map { "?paginationToken=\($0)" } ?? ""),
                    authorization: "Bearer " + (try client.token()), body: Array(body.utf8)))
        }
        func json(_ answer: ServiceAnswer) throws -> [String: Any] {
            try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any] ?? [:]
        }
        let first = try ask(#"{"startDate":\#(start),"endDate":\#(end)}"#)
        let token = try #require(try json(first)["paginationToken"] as? String)
        let other = #"{ "endDate" : \#(end), "onlyFailures": false, "startDate" : \#(start) }"#
        #expect(try ask(other, token).status == 200)
        let narrower = #"{"startDate":\#(start + 1),"endDate":\#(end)}"#
        #expect(try json(try ask(narrower, token))["errorCode"] as? Int == 4_000_014)
    }

    @Test func `without a right token spends nothing of the quota`() throws {
        let client = try SimulatorClient(customers: 3)
        _ = try client.control("POST", "/_simulator/limits", ["statuses": 2])
        let path = "/inApps/v1/subscriptions/420001000000000"
        for _ in 0..<5 { #expect(try client.get(path, token: "wrong").status == 401) }
        #expect(try client.get(path).status == 200)
        #expect(try client.get(path).status == 200)
        #expect(try client.get(path).status == 429)
        #expect(try client.get(path, token: "wrong").status == 401)
    }

    @Test(arguments: [
        ("application/x-www-form-urlencoded", 415), ("text/plain", 415),
        ("application/json; charset=utf-8", 400), ("Application/JSON", 400),
    ])
    func `says that its body is JSON`(type: String, status: Int) throws {
        let client = try SimulatorClient(customers: 3)
        let answer = client.simulator.answer(
            ServiceRequest(
                method: "POST", target: Self.history,
                authorization: "Bearer " + (try client.token()), contentType: type,
                body: Array("{}".utf8)))
        #expect(answer.status == status)
    }

    @Test(arguments: [
        "/inApps/v1/subscriptions/420001000000000/", "/inApps/v1//subscriptions/420001000000000",
        "//inApps/v1/subscriptions/420001000000000", "/inApps/v1/subscriptions/",
        "/inapps/v1/subscriptions/420001000000000",
    ])
    func `names its path exactly`(path: String) throws {
        #expect(try SimulatorClient(customers: 3).get(path).status == 404)
    }

    @Test(arguments: [
        #"{"fault": "error", "code": 4290000}"#, #"{"fault": "status", "status": 429}"#,
        #"{"fault": "rate_limited"}"#,
    ])
    func `that comes too often is told when to come again`(fault: String) throws {
        let client = try SimulatorClient(customers: 3)
        let rule = try JSONSerialization.jsonObject(with: Data(fault.utf8))
        _ = try client.control("POST", "/_simulator/faults", ["faults": [rule]])
        let answer = try client.get("/inApps/v1/subscriptions/420001000000000").raw
        let wait = answer.headers.first { $0.name == "Retry-After" }?.value
        let moment = try #require(wait.flatMap(Double.init)) / 1000
        #expect(answer.status == 429 && moment > Date().timeIntervalSince1970)
    }

    @Test(arguments: [
        4_000_009, 4_000_028, 4_000_035, 4_000_164, 4_000_187, 4_030_005, 4_040_009, 4_040_015,
        4_090_001,
    ])
    func `is refused in words for every code`(code: Int) throws {
        let client = try SimulatorClient(customers: 3)
        _ = try client.control(
            "POST", "/_simulator/faults", ["faults": [["fault": "error", "code": code]]])
        let answer = try client.get("/inApps/v1/subscriptions/420001000000000")
        #expect(answer.errorCode == code && answer.status == code / 10_000)
        let message = try #require(answer.json["errorMessage"] as? String)
        #expect(message.count > 12 && message.hasSuffix("."))
    }

    /// The values of `errorMessage` on the pages of Apple's documentation.
    @Test(arguments: [
        (4_000_006, "Invalid transaction id."), (4_000_008, "Invalid original transaction id."),
        (4_000_009, "Invalid extend by days value."),
        (4_000_017, "Invalid request. The pagination token is expired."),
        (4_000_028, "Invalid request. A storefront country code was invalid."),
        (4_000_044, "Invalid request. The refund preference field is invalid."),
        (4_000_048, "Invalid request. App transactions aren't supported by this endpoint."),
        (4_000_183, "Invalid request. The app account token field must be a valid UUID."),
        (
            4_000_185,
            "Invalid request. Family Sharing transactions aren't supported by this endpoint."
        ),
        (
            4_000_187,
            "Invalid request. The transaction ID provided is not an original transaction ID."
        ),
        (4_030_004, "Forbidden - subscription state ineligible for extension."),
        (4_030_005, "Forbidden - subscription has reached maximum extension count."),
        (4_040_001, "Account not found."), (4_040_005, "Original transaction id not found."),
        (4_040_010, "Transaction id not found."),
        (4_040_019, "No AppTransaction exists for the customer."),
        (5_000_001, "An unknown error occurred. Please try again."),
    ])
    func `is refused in Apple's words`(code: Int, message: String) throws {
        #expect(try #require(APIFailure(rawValue: code)).message == message)
    }
}
