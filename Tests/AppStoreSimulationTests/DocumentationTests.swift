import AppStoreSimulation
import Foundation
import Testing

/// The tables of `docs/simulator.md` name everything that there is, and nothing else.
@Suite struct `The documentation` {
    private static let page: String? = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try? String(
            contentsOf: root.appendingPathComponent("docs/simulator.md"), encoding: .utf8)
    }()

    /// The names in the first column of the table whose header begins with a text.
    private func names(inTable header: String) throws -> [String] {
        let page = try #require(Self.page)
        let lines = page.components(separatedBy: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| \(header) |") })
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.flatMap { line in
            let cells = line.components(separatedBy: "|")
            let first = cells.dropFirst().first ?? ""
            return first.components(separatedBy: "`").enumerated()
                .filter { $0.offset % 2 == 1 }.map(\.element)
        }
    }

    @Test func `describes every life and result of a delivery`() throws {
        #expect(
            try names(inTable: "`life`").sorted()
                == PurchaseLife.allCases.map(\.rawValue).sorted())
        #expect(
            try names(inTable: "`delivery`").sorted()
                == DeliveryResult.allCases.map(\.rawValue).sorted())
    }

    @Test func `describes every step`() throws {
        let described = try names(inTable: "step").map {
            $0.components(separatedBy: ":").first ?? $0
        }
        let client = try SimulatorClient(customers: 0) { $0.scenario = "customers: [{name: a}]" }
        let refused = try client.control("POST", "/_simulator/customers/a/dance")
        let said = try #require(refused.json["error"] as? String)
        let known = try #require(said.components(separatedBy: "there are ").last)
            .dropLast().components(separatedBy: ", ")
        #expect(Set(known).subtracting(described) == [])
    }

    @Test func `describes only control calls that there are`() throws {
        let client = try SimulatorClient(customers: 1) { $0.ocsp = .good }
        for call in try names(inTable: "call") {
            let words = call.components(separatedBy: " ")
            let (method, path) = (words.first ?? "", words.last ?? "")
            let target = path.replacingOccurrences(of: "{id}", with: "nobody")
                .replacingOccurrences(of: "{step}", with: "cancel")
            #expect(try client.control(method, target).status != 404, "\(call)")
        }
    }
}
