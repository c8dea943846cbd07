import AppStoreSimulation
import Foundation
import Testing
import X509

/// Intermediates that rotate and end, with the leaves that they issue.
@Suite struct `An intermediate` {
    private func client(
        leaf: Int = 20, intermediate: Int? = 60, folder: String? = nil
    ) throws -> SimulatorClient {
        try SimulatorClient(customers: 0) { settings in
            settings.leafDays = leaf
            settings.intermediateDays = intermediate
            if let folder {
                settings.folder = folder
                settings.keeps = true
            }
            settings.scenario = "customers: [{name: anna, life: [{at: -100d, buy: news.monthly}]}]"
        }
    }

    /// The chain of an answer of this moment, leaf first.
    private func chain(_ client: SimulatorClient) throws -> [Certificate] {
        let answer = try client.get("/inApps/v1/transactions/\(client.id("anna"))")
        return try SimulatorClient.certificates(
            #require(answer.json["signedTransactionInfo"] as? String))
    }

    private func now(_ client: SimulatorClient) throws -> Date {
        Date(timeIntervalSince1970: Double(try client.now()) / 1000)
    }

    @Test(arguments: [(20, 60), (1, 2), (30, 365)])
    func `is replaced under the same root, and valid with its leaf whenever they sign`(
        leaf: Int, intermediate: Int
    ) throws {
        let client = try client(leaf: leaf, intermediate: intermediate)
        var names: [String] = []
        var roots: Set<String> = []
        for _ in 0..<100 {
            let chain = try chain(client)
            let now = try now(client)
            try #require(chain.count == 3)
            for certificate in chain {
                #expect(certificate.notValidBefore <= now && now <= certificate.notValidAfter)
            }
            #expect(chain[1].notValidBefore <= chain[0].notValidBefore)
            #expect(chain[0].notValidAfter <= chain[1].notValidAfter)
            #expect(chain[1].publicKey.isValidSignature(chain[0].signature, for: chain[0]))
            #expect(chain[2].publicKey.isValidSignature(chain[1].signature, for: chain[1]))
            #expect(chain[0].issuer == chain[1].subject && chain[1].issuer == chain[2].subject)
            let length = chain[1].notValidAfter.timeIntervalSince(chain[1].notValidBefore)
            #expect(abs(length - Double(intermediate) * 86_400) <= 1)
            let name = "\(chain[1].subject) \(chain[1].serialNumber)"
            if names.last != name { names.append(name) }
            roots.insert("\(chain[2].serialNumber)")
            try client.advance(["days": 4])
        }
        // None comes back, and each has a name of its own.
        #expect(names.count > 1 && Set(names).count == names.count)
        #expect(roots.count == 1)
    }

    @Test func `stays for many years unless it is told otherwise`() throws {
        let client = try client(intermediate: nil)
        let first = try chain(client)
        try client.advance(["days": 2000])
        let later = try chain(client)
        #expect(first[0].serialNumber != later[0].serialNumber)
        #expect(first[1].serialNumber == later[1].serialNumber)
    }

    @Test func `of long ago is that of a notification of long ago`() throws {
        let client = try client()
        let now = try client.now()
        let answer = try client.post(
            "/inApps/v1/notifications/history",
            ["startDate": now - 170 * SimulatorClient.day, "endDate": now])
        let entries = try #require(answer.json["notificationHistory"] as? [[String: Any]])
        let jws = try #require(entries.first?["signedPayload"] as? String)
        let chain = try SimulatorClient.certificates(jws)
        #expect(try chain[1].notValidAfter < self.now(client))
        #expect(chain[1].publicKey.isValidSignature(chain[0].signature, for: chain[0]))
    }

    @Test func `has the same key after a restart, and cannot become another's`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kept-" + UUID().uuidString
        let first = try client(folder: folder)
        try first.advance(["days": 200])
        let keys = try [first, client(folder: folder)].map { try chain($0)[1].publicKey }
        #expect(keys[0] == keys[1])
        #expect(throws: SimulatorError.self) { try client(intermediate: 90, folder: folder) }
    }
}
