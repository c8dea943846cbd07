import AppStoreSimulation
import Foundation
import Testing

@Suite struct `A scenario` {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("scenarios")

    static var files: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        return (names ?? []).filter { $0.hasSuffix(".yaml") }.sorted()
    }

    private func client(_ text: String) throws -> SimulatorClient {
        try SimulatorClient(now: nil) { settings in
            settings.customers = nil
            settings.scenario = text
        }
    }

    @Test func `exists for every life`() {
        #expect(Self.files.count >= 28)
    }

    @Test(arguments: files)
    func `ends as its file expects`(file: String) throws {
        let text = try String(
            contentsOf: Self.folder.appendingPathComponent(file), encoding: .utf8)
        let simulator = try client(text)
        let failures = simulator.simulator.unmetExpectations()
        #expect(failures.isEmpty, "\(file): \(failures.joined(separator: "; "))")
        let customers = try #require(
            simulator.control("GET", "/_simulator/customers").json["customers"]
                as? [[String: Any]])
        for customer in customers {
            for purchase in customer["purchases"] as? [[String: Any]] ?? [] {
                guard let status = purchase["status"] as? Int,
                    customer["environment"] as? String == "Production",
                    let id = purchase["original_transaction_id"] as? String
                else { continue }
                let statement = try simulator.statements(id)[id]
                #expect(statement == nil || statement?.status == status, "\(file)")
            }
        }
    }

    @Test(arguments: [
        ("customers: [{name: a, life: [{at: -1d, by: x}]}]", "unknown"),
        ("customers: [{name: a, life: [{at: -1d}]}]", "exactly one"),
        ("customers: [{name: a, life: [{at: -1d, buy: nothing}]}]", "is unknown"),
        ("customers: [{name: a, life: [{at: tomorrow, cancel: true}]}]", "must be like"),
        ("customers: [{name: a, life: [{at: -1d, cancel: true}]}]", "has not bought anything"),
        ("customers: [{name: a}, {name: a}]", "two customers"),
        ("population: {customers: 1, rates: {cancel: 2}}", "from 0 to 1"),
        ("population: {customers: -1}", "from 0 to"), ("grace_days: 5", "3, 16, 28"),
        ("customers: [{name: a, life: [{at: -1d, extend: 900}]}]", "from 1 to 90"),
        ("now: yesterday", "must be a time"), ("colour: red", "unknown"),
    ])
    func `is refused with a sentence when it makes no sense`(text: String, reason: String) throws {
        let error = #expect(throws: SimulatorError.self) { try client(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func `lets steps in the future happen when the clock gets there`() throws {
        let simulator = try client(
            """
            now: 2026-11-20T03:00:00Z
            customers:
              - name: anna
                life:
                  - {at: -5d, buy: news.monthly}
                  - {at: +2d, refund: 100}
            """)
        func status() throws -> Int? {
            let customers = try simulator.control("GET", "/_simulator/customers").json["customers"]
            let purchases = (customers as? [[String: Any]])?.first?["purchases"]
            return (purchases as? [[String: Any]])?.first?["status"] as? Int
        }
        #expect(try status() == 1)
        _ = try simulator.control("POST", "/_simulator/advance", ["days": 3])
        #expect(try status() == 5)
    }
}
