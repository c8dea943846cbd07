import AppStoreSimulation
import Foundation
import Testing

@Suite struct `A reset` {
    private static let scenario = """
        customers:
          - name: anna
            life: [{at: -40d, buy: video.basic.monthly}, {at: +9d, refund: 100}]
        """

    /// Everything that the API tells of the first purchases, without signatures.
    private func state(_ client: SimulatorClient) throws -> [String] {
        var lines = try client.notifications().map { try $0.text() }
        for chain in 0..<30 {
            let id = String(420_001_000_000_000 + chain * 4096)
            for (id, statement) in try client.statements(id).sorted(by: { $0.key < $1.key }) {
                lines.append("\(id) \(statement.status)")
                lines.append(try SimulatorClient.text(statement.transaction))
                lines.append(try SimulatorClient.text(statement.renewal))
            }
        }
        let health = try client.control("GET", "/_simulator/health")
        return lines + [String(decoding: health.raw.body, as: UTF8.self)]
    }

    @Test func `makes everything as it was at the start, as often as one likes`() throws {
        let client = try SimulatorClient(customers: 30) {
            $0.scenario = Self.scenario
            $0.faults = "{faults: [], limits: {order_lookup: 1}}"
        }
        let start = try state(client)
        for _ in 0..<2 {
            try client.advance(["days": 45])
            for (path, body) in [
                ("customers", ["name": "eve"] as [String: Any]),
                ("customers/420001000000000/delete_account", [:]),
                ("clock", ["speed": 5, "skew_seconds": 7000]), ("app", ["released": false]),
                ("faults", ["faults": [["fault": "html"]]]), ("limits", ["statuses": 0]),
            ] {
                let answer = try client.control("POST", "/_simulator/" + path, body)
                #expect(answer.status == 200, "\(path): \(answer.json)")
            }
            #expect(try client.control("POST", "/_simulator/reset").status == 200)
            #expect(try state(client) == start)
            // The limits of the start hold, and nothing of them is used up.
            let orders = try (0..<2).map { _ in try client.get("/inApps/v1/lookup/M1").status }
            #expect(orders == [200, 429])
        }
    }

    @Test func `is the beginning of what a restart finds`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kept-" + UUID().uuidString
        func start() throws -> SimulatorClient {
            try SimulatorClient(customers: 30) {
                $0.scenario = Self.scenario
                $0.folder = folder
                $0.keeps = true
            }
        }
        let first = try start()
        let fresh = try state(first)
        try first.advance(["days": 45])
        _ = try first.control("POST", "/_simulator/reset")
        #expect(try state(start()) == fresh)
        try first.advance(["days": 2])
        #expect(try state(start()) == state(first))
        #expect(try state(first) != fresh)
    }
}
