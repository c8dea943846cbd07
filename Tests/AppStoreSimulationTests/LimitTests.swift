import AppStoreSimulation
import Foundation
import Testing

@Suite struct `Request limits` {
    private static let target = "/inApps/v1/transactions/420001000000000"

    @Test func `refuse what is one too many until the window ends`() throws {
        let client = try SimulatorClient(customers: 5) {
            $0.faults = "limits: {transaction_info: 3, window_seconds: 0.4}"
        }
        let statuses = try (0..<5).map { _ in try client.get(Self.target).status }
        #expect(statuses == [200, 200, 200, 429, 429])
        let refused = try client.get(Self.target)
        let end = try #require(
            refused.raw.headers.first { $0.name == "Retry-After" }.flatMap { Double($0.value) })
        let wait = end / 1000 - Date().timeIntervalSince1970
        #expect(wait < 0.41)
        Thread.sleep(forTimeInterval: max(0, wait) + 0.01)
        #expect(try client.get(Self.target).status == 200)
        #expect(try client.get("/inApps/v1/subscriptions/420001000000000").status == 200)
    }

    @Test func `are a tenth in the sandbox and can be set by a control call`() throws {
        let client = try SimulatorClient(customers: 5)
        _ = try client.control("POST", "/_simulator/limits", ["statuses": 20])
        let target = "/inApps/v1/subscriptions/1"
        let sandbox = try (0..<3).map { _ in try client.get(target, environment: .sandbox).status }
        #expect(sandbox == [404, 404, 429])
        let production = try (0..<3).map { _ in try client.get(target).status }
        #expect(production == [404, 404, 404])
    }
}
