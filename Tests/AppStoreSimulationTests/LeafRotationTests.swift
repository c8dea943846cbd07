import AppStoreSimulation
import Foundation
import SwiftASN1
import Testing
import X509

/// Signing leaves that rotate and end.
@Suite struct `A signing leaf` {
    private static let day = 86_400.0

    private func client(days: Int?) throws -> SimulatorClient {
        try SimulatorClient(customers: 0) { settings in
            settings.leafDays = days
            settings.scenario = "customers: [{name: anna, life: [{at: -100d, buy: news.monthly}]}]"
        }
    }

    private func jws(_ client: SimulatorClient) throws -> String {
        let answer = try client.get("/inApps/v1/transactions/\(client.id("anna"))")
        return try #require(answer.json["signedTransactionInfo"] as? String)
    }

    private func payloads(_ client: SimulatorClient) throws -> [String] {
        let now = try client.now()
        let answer = try client.post(
            "/inApps/v1/notifications/history",
            ["startDate": now - 170 * SimulatorClient.day, "endDate": now])
        let entries = try #require(answer.json["notificationHistory"] as? [[String: Any]])
        return try entries.map { try #require($0["signedPayload"] as? String) }
    }

    private func signedDate(_ jws: String) throws -> Date {
        let milliseconds = try #require(
            try SimulatorClient.payload(jws)["signedDate"] as? Int64)
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    @Test(arguments: [nil, 755, 30, 1])
    func `is valid when it signs, however far the clock moves`(days: Int?) throws {
        let client = try client(days: days)
        var leaves: Set<String> = []
        for _ in 0..<9 {
            for jws in try [jws(client)] + payloads(client) {
                let chain = try SimulatorClient.certificates(jws)
                let date = try signedDate(jws)
                #expect(chain.count == 3)
                for certificate in chain {
                    #expect(certificate.notValidBefore <= date)
                    #expect(date <= certificate.notValidAfter)
                }
                let leaf = try #require(chain.first)
                #expect(
                    chain.dropFirst().first?.publicKey.isValidSignature(
                        leaf.signature, for: leaf) == true)
                leaves.insert("\(leaf.serialNumber)")
                let length = leaf.notValidAfter.timeIntervalSince(leaf.notValidBefore)
                if let days { #expect(abs(length - Double(days) * Self.day) <= 1) }
            }
            try client.advance(["days": 300])
        }
        #expect(leaves.count > 1)
    }

    @Test func `hands over to the next one before its end`() throws {
        let client = try client(days: 30)
        var chains: [[Certificate]] = []
        for _ in 0..<120 {
            chains.append(try SimulatorClient.certificates(jws(client)))
            try client.advance(["days": 1])
        }
        var changes = 0
        for (earlier, later) in zip(chains, chains.dropFirst()) {
            let (old, new) = (try #require(earlier.first), try #require(later.first))
            guard old.serialNumber != new.serialNumber else { continue }
            changes += 1
            #expect(new.notValidBefore < old.notValidAfter)
            #expect(old.publicKey != new.publicKey)
            #expect(
                earlier.dropFirst().map(\.serialNumber) == later.dropFirst().map(\.serialNumber))
        }
        // Leaves of thirty days that overlap by three: one about every twenty-seven days.
        #expect((4...5).contains(changes))
    }

    @Test func `has ended in a notification of long ago`() throws {
        let client = try client(days: 30)
        let oldest = try #require(try payloads(client).first)
        let leaf = try #require(try SimulatorClient.certificates(oldest).first)
        let now = Date(timeIntervalSince1970: Double(try client.now()) / 1000)
        #expect(leaf.notValidAfter < now)
    }

    @Test func `has the same key after a restart`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kept-" + UUID().uuidString
        func start() throws -> SimulatorClient {
            try SimulatorClient(customers: 0) { settings in
                settings.leafDays = 30
                settings.folder = folder
                settings.keeps = true
                settings.scenario =
                    "customers: [{name: anna, life: [{at: -100d, buy: news.monthly}]}]"
            }
        }
        let first = try start()
        try first.advance(["days": 200])
        let keys = try [first, start()].map {
            try SimulatorClient.certificates(jws($0)).first?.publicKey
        }
        #expect(keys.first == keys.last && keys.first != nil)
    }
}

extension SimulatorClient {
    /// The certificates of a JWS, leaf first.
    static func certificates(_ jws: String) throws -> [Certificate] {
        let header = try #require(data(base64URL: jws.components(separatedBy: ".")[0]))
        let json = try JSONSerialization.jsonObject(with: header) as? [String: Any]
        return try #require(json?["x5c"] as? [String]).map {
            try Certificate(derEncoded: Array(try #require(Data(base64Encoded: $0))))
        }
    }
}
