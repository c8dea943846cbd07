import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

/// A simulator that was started with `--keep`, and is started again with the same folder.
@Suite struct `A restarted simulator` {
    private func start(
        _ folder: String, now: String? = "2026-11-20T03:00:00Z",
        change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws -> SimulatorClient {
        try SimulatorClient(customers: 40, now: now) { settings in
            settings.folder = folder
            settings.keeps = true
            change(&settings)
        }
    }

    private func newFolder() -> String {
        FileManager.default.temporaryDirectory.path + "/kept-" + UUID().uuidString
    }

    /// The statements of the first purchases, without their signed dates.
    private func state(_ client: SimulatorClient) throws -> [String] {
        var lines: [String] = []
        for chain in 0..<20 {
            let id = String(420_001_000_000_000 + chain * 4096)
            for (id, statement) in try client.statements(id).sorted(by: { $0.key < $1.key }) {
                var transaction = statement.transaction
                transaction["signedDate"] = nil
                let data = try JSONSerialization.data(
                    withJSONObject: transaction, options: .sortedKeys)
                lines.append("\(id) \(statement.status) \(String(decoding: data, as: UTF8.self))")
            }
        }
        return lines
    }

    private func files(_ client: SimulatorClient) throws -> [String] {
        let report = client.simulator.report
        return try [report.tlsRootFile, report.signingRootFile, report.keyFile].map {
            try String(contentsOfFile: $0, encoding: .utf8)
        }
    }

    @Test func `has the same keys, roots and world after a restart`() throws {
        let folder = newFolder()
        let first = try start(folder)
        let fresh = try state(first)
        _ = try first.control("POST", "/_simulator/advance", ["days": 45])
        _ = try first.control("POST", "/_simulator/advance", ["to": "2027-02-01T00:00:00Z"])
        let second = try start(folder)
        #expect(try files(second) == files(first))
        let health = try [first, second].map {
            try String(
                decoding: $0.control("GET", "/_simulator/health").raw.body, as: UTF8.self)
        }
        #expect(health[0] == health[1] && health[0].contains("2027-02-01T00:00:00"))
        #expect(try state(second) == state(first))
        #expect(try state(second) != fresh)
        // Signed by the same leaf, and the first one's token still lets its client in.
        let jws = try [first, second].map { client in
            let answer = try client.get("/inApps/v1/transactions/420001000000000")
            return try #require(answer.json["signedTransactionInfo"] as? String)
        }
        #expect(jws[0].components(separatedBy: ".")[0] == jws[1].components(separatedBy: ".")[0])
        #expect(
            try second.get("/inApps/v1/transactions/420001000000000", token: first.token()).status
                == 200)
    }

    @Test func `keeps the clock's lead over the real time`() throws {
        let folder = newFolder()
        let first = try start(folder, now: nil)
        _ = try first.control("POST", "/_simulator/advance", ["days": 400])
        let second = try start(folder, now: nil)
        let now = try #require(
            try second.control("GET", "/_simulator/health").json["now"] as? String)
        let moment = try #require(Timestamp(rfc3339: now))
        let lead = Double(moment.unixMilliseconds) / 1000 - Date().timeIntervalSince1970
        #expect(abs(lead - 400 * 86_400) < 60)
        #expect(try state(second) == state(first))
    }

    @Test func `is private, and refuses to become another world`() throws {
        let folder = newFolder()
        _ = try start(folder)
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/kept.json")
        #expect((mode[.posixPermissions] as? Int).map { $0 & 0o077 } == 0)
        #expect(throws: SimulatorError.self) { try start(folder) { $0.seed = 9 } }
        #expect(throws: SimulatorError.self) { try start(folder) { $0.customers = 41 } }
        #expect(throws: SimulatorError.self) { try start(folder, now: "2026-11-21T03:00:00Z") }
        try "{}".write(toFile: folder + "/kept.json", atomically: true, encoding: .utf8)
        #expect(throws: SimulatorError.self) { try start(folder) }
    }

    @Test func `keeps what was set up for retention messaging`() throws {
        let folder = newFolder()
        let (image, message) = (UUID().uuidString.lowercased(), UUID().uuidString.lowercased())
        let place = "default/com.example.app.video.basic.monthly/en-US"
        let first = try start(folder)
        #expect(!FileManager.default.fileExists(atPath: folder + "/retention.json"))
        for environment in SimulatedEnvironment.allCases {
            let picture = madePNG(width: 3840, height: 160)
            #expect(try first.uploadImage(image, picture, in: environment).status == 200)
            let text: [String: Any] = [
                "header": "Stay", "body": "There is more.",
                "image": ["imageIdentifier": image, "altText": "A door"],
            ]
            let answer = try first.retention("PUT", "message/\(message)", text, in: environment)
            #expect(answer.status == 200)
        }
        let configured = try first.retention("PUT", place, ["messageIdentifier": message])
        #expect(configured.status == 200)
        let url = ["realtimeURL": "https://example.com/retention"]
        #expect(try first.retention("PUT", "realtime/url", url).status == 200)
        let review = ["image": image, "state": "REJECTED"]
        #expect(
            try first.control("POST", "/_simulator/retention/review", review).status == 200)
        func lists(_ client: SimulatorClient) throws -> [[UInt8]] {
            try SimulatedEnvironment.allCases.flatMap { environment in
                try ["image/list", "message/list", place, "realtime/url"].map {
                    try client.retention("GET", $0, in: environment).raw.body
                }
            }
        }
        let second = try start(folder)
        #expect(try lists(second) == lists(first))
        // What shows an image is still known.
        #expect(try second.retention("DELETE", "image/\(image)").errorCode == 4_030_019)
        #expect(try second.control("POST", "/_simulator/reset").status == 200)
        #expect(try lists(start(folder)) == lists(start(newFolder())))
    }

    @Test func `refuses settings of retention messaging that are damaged`() throws {
        let folder = newFolder()
        let path = folder + "/retention.json"
        let first = try start(folder)
        let image = madePNG(width: 3840, height: 160)
        #expect(try first.uploadImage(UUID().uuidString, image).status == 200)
        let mode = try FileManager.default.attributesOfItem(atPath: path)
        #expect((mode[.posixPermissions] as? Int).map { $0 & 0o077 } == 0)
        let right = try String(contentsOfFile: path, encoding: .utf8)
        for wrong in ["", "{}", String(right.dropLast(9)), "[" + right + "]"] {
            try wrong.write(toFile: path, atomically: true, encoding: .utf8)
            let error = #expect(throws: SimulatorError.self) { try start(folder) }
            #expect(error?.description.contains("retention.json") == true)
        }
        try right.write(toFile: path, atomically: true, encoding: .utf8)
        _ = try start(folder)
    }

    @Test func `changes no setting of retention messaging that it cannot keep`() throws {
        let folder = newFolder()
        let client = try start(folder)
        // A folder of this name cannot be replaced by a file.
        try FileManager.default.createDirectory(
            atPath: folder + "/retention.json/in/use", withIntermediateDirectories: true)
        let image = madePNG(width: 3840, height: 160)
        #expect(try client.uploadImage(UUID().uuidString, image).errorCode == 5_000_000)
        let list = try client.retention("GET", "image/list").json["imageIdentifiers"] as? [Any]
        #expect(list?.isEmpty == true)
    }

    @Test func `starts anew without the option`() throws {
        let client = try SimulatorClient(customers: 3)
        let folder = URL(fileURLWithPath: client.simulator.report.keyFile)
            .deletingLastPathComponent().path
        #expect(!FileManager.default.fileExists(atPath: folder + "/kept.json"))
        #expect(!FileManager.default.fileExists(atPath: folder + "/journal.jsonl"))
    }
}
