import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

/// A store made from a company's own table (`--table`).
@Suite struct `A store made from a given table` {
    private static let head =
        "original_transaction_id,customer_id,app_account_token,product_id,status,expires_date,"
        + "auto_renew_status,revocation_date,latest_transaction_id,signed_date\n"
    private static let token = "3f2b8c1e-0d4a-4b6f-9a53-5f1f9f0b2c7d"

    private func client(_ table: String, customers: Int? = nil) throws -> SimulatorClient {
        try SimulatorClient(now: SimulatorClient.start) { settings in
            settings.customers = customers
            settings.table = table
        }
    }

    /// The store's own table of this moment, by original id.
    private func rows(of client: SimulatorClient) throws -> [String: [String: String]] {
        let body = try client.control("GET", "/_simulator/table").raw.body
        var rows: [String: [String: String]] = [:]
        for row in SimulatorClient.rows(of: String(decoding: body, as: UTF8.self)) {
            rows[row["original_transaction_id"] ?? ""] = row
        }
        return rows
    }

    /// With subscriptions of every status, one- and two-period ones, and members of families.
    @Test func `agrees with every column of a table that an App Store could have stated`() throws {
        let first = try SimulatorClient(customers: 300, seed: 3, drift: 0)
        let path = try #require(first.simulator.report.tableFile)
        let table = try String(contentsOfFile: path, encoding: .utf8)
        let given = SimulatorClient.rows(of: table)
        #expect(Set(given.compactMap { $0["status"] }) == ["1", "2", "3", "4", "5"])

        let client = try client(table)
        #expect(client.simulator.report.rows == given.count)
        #expect(client.simulator.report.rowsGoneOn == 0)
        let stated = try rows(of: client)
        #expect(stated.count == given.count)
        for row in given {
            let id = try #require(row["original_transaction_id"])
            for (column, value) in row where column != "signed_date" {
                #expect(stated[id]?[column] == value, "\(id) \(column)")
            }
            let statement = try client.statement(id)
            #expect(String(statement.status) == row["status"])
            #expect(statement.transaction["originalTransactionId"] as? String == id)
            #expect(
                statement.transaction["appAccountToken"] as? String ?? ""
                    == row["app_account_token"])
        }
    }

    @Test func `states what a row leaves open, and keeps the customer of several rows together`()
        throws
    {
        let client = try client(
            """
            original_transaction_id,customer_id
            110001234567890,ben
            220001234567890,ben
            330001234567890,
            """)
        let rows = try rows(of: client)
        #expect(rows.values.allSatisfy { $0["status"] == "1" && $0["expires_date"] != "" })
        #expect(rows["220001234567890"]?["customer_id"] == "ben")
        let ofBen = try client.statements("110001234567890")
        #expect(Set(ofBen.keys) == ["110001234567890", "220001234567890"])
        #expect(try client.get("/inApps/v1/subscriptions/440001234567890").errorCode == 4_040_010)
    }

    @Test func `keeps an id of a customer that needs quotes`() throws {
        let client = try client(
            "original_transaction_id,customer_id\n7,\"say \"\"hi\"\", ben\"\n")
        let body = try client.control("GET", "/_simulator/table").raw.body
        #expect(String(decoding: body, as: UTF8.self).contains(",\"say \"\"hi\"\", ben\","))
    }

    @Test func `lets a subscription go on whose dates have passed`() throws {
        let client = try client(
            Self.head
                + "110001234567890,a,,video.monthly,1,2026-11-10T00:00:00.000Z,1,,110009,\n"
                + "220001234567890,b,,video.monthly,1,2026-11-10T00:00:00.000Z,0,,,\n"
                + "330001234567890,c,,video.monthly,3,2026-08-10T00:00:00.000Z,1,,,\n"
                + "440001234567890,d,,video.monthly,1,2026-12-10T00:00:00.000Z,1,,,\n")
        #expect(client.simulator.report.rowsGoneOn == 3)
        let rows = try rows(of: client)
        #expect(rows["110001234567890"]?["status"] == "1")
        #expect(rows["110001234567890"]?["expires_date"] == "2026-12-10T00:00:00.000Z")
        #expect(rows["110001234567890"]?["latest_transaction_id"] != "110009")
        #expect(rows["220001234567890"]?["status"] == "2")
        #expect(rows["330001234567890"]?["status"] == "2")
        #expect(rows["440001234567890"]?["status"] == "1")
        let history = try client.history("110009").compactMap { $0["transactionId"] as? String }
        #expect(history.count == 3)
        #expect(history.contains("110001234567890") && history.contains("110009"))
    }

    @Test func `lives on like any other store`() throws {
        let client = try client(
            Self.head
                + "110001234567890,a,\(Self.token),video.monthly,1,2026-12-10T00:00:00.000Z,1,,,\n")
        try client.advance(["days": 30])
        let renewed = try client.statement("110001234567890")
        #expect(renewed.date("expiresDate") == 1_799_539_200_000)
        #expect(renewed.transaction["appAccountToken"] as? String == Self.token)
        #expect(
            try client.control(
                "POST", "/_simulator/customers/110001234567890/refund", ["refund": 100]
            ).status == 200)
        #expect(try client.statement("110001234567890").status == 5)
        _ = try client.control("POST", "/_simulator/reset", [:])
        #expect(try client.statement("110001234567890").status == 1)
    }

    @Test func `also gets the customers and the drift that are asked for`() throws {
        let table =
            Self.head
            + (0..<400).map {
                "\(510_001_234_560_000 + $0),c\($0),\(Self.token),video.monthly,1,"
                    + "2026-12-10T00:00:00.000Z,1,,\(610_001_234_560_000 + $0),\n"
            }.joined()
        let client = try SimulatorClient(now: SimulatorClient.start) { settings in
            settings.customers = 30
            settings.table = table
            settings.drift = 0.1
        }
        let planted = try #require(client.simulator.report.plantedFile)
        #expect(try String(contentsOfFile: planted, encoding: .utf8).contains("5100012345"))
        let ids = try rows(of: client).keys
        #expect(ids.count > 420)
        #expect(Set(ids).count == ids.count)
    }

    @Test(arguments: [
        ("", "it is empty"),
        ("original_transaction_id\n", "no rows"),
        ("customer_id\na\n", "original_transaction_id is missing"),
        ("original_transaction_id,price\n1,2\n", "line 1: \"price\" is not a column"),
        ("original_transaction_id,status\n1,1\n2,9\n", "line 3: status \"9\" must be 1 active"),
        ("original_transaction_id,status\n1,1\n2,2,2\n", "line 3: it has 3 fields"),
        ("original_transaction_id\nabc\n", "line 2: original_transaction_id \"abc\" is not an id"),
        ("original_transaction_id\n7\n\n7\n", "line 4: the id 7 is in line 2 already"),
        ("original_transaction_id,customer_id\n7,\"a\n", "the quote that opens in line 2"),
        ("original_transaction_id,customer_id\n7,\"a\nb\"\n8,x,\n", "line 4: it has 3 fields"),
        ("original_transaction_id,expires_date\n7,tomorrow\n", "\"tomorrow\" is not a time"),
        ("original_transaction_id,expires_date\n7,0001-01-01T00:00:00Z\n", "before the App Store"),
        ("original_transaction_id,environment\n7,Xcode\n", "must be Production or Sandbox"),
        ("original_transaction_id,bundle_id\n7,a.b\n8,a.c\n", "line 3: bundle_id \"a.c\" differs"),
        ("original_transaction_id,app_account_token\n7,me\n", "\"me\" is not a UUID"),
        (
            "original_transaction_id,status,expires_date\n7,2,2027-01-01T00:00:00Z\n",
            "line 2: status 2 contradicts expires_date 2027-01-01"
        ),
        (
            "original_transaction_id,status,revocation_date\n7,1,2026-01-01T00:00:00Z\n",
            "line 2: status 1 contradicts the revocation_date"
        ),
        (
            "original_transaction_id,signed_date\n7,2027-01-01T00:00:00Z\n",
            "is after the store's clock"
        ),
        ("original_transaction_id,status\n7,\u{1b}[2J\n", "\\u{1b}"),
    ])
    func `is refused with the line and the reason`(table: String, reason: String) throws {
        let error = try #require(throws: SimulatorError.self) { try client(table) }
        #expect("\(error)".contains(reason), "\(error)")
        #expect(!"\(error)".contains("\u{1b}"))
    }

    @Test func `is refused with its first ten faulty lines and the number of the others`() throws {
        let table = "original_transaction_id\n" + (1...25).map { "a\($0)\n" }.joined()
        let error = try #require(throws: SimulatorError.self) { try client(table) }
        #expect("\(error)".contains("line 11:") && !"\(error)".contains("line 12:"))
        #expect("\(error)".contains("15 more lines cannot be used"))
    }

    @Test func `agrees with a given catalogue or is refused`() throws {
        let catalogue = """
            bundle_id: com.acme.video
            app_apple_id: 77
            groups:
              - id: main
                products:
                  - {id: video.monthly, period: P1M, prices: {USA: 9.99}}
            storefronts: [{country: USA, id: "143441", currency: USD}]
            """
        func start(_ table: String) throws -> SimulatorClient {
            try SimulatorClient(now: SimulatorClient.start) { settings in
                settings.customers = nil
                settings.catalogue = catalogue
                settings.table = table
            }
        }
        let head = "original_transaction_id,bundle_id,product_id\n"
        let statement = try start(head + "7,com.acme.video,video.monthly\n").statement("7")
        #expect(statement.transaction["productId"] as? String == "video.monthly")
        for (row, reason) in [
            ("7,com.acme.other,video.monthly\n", "line 2: bundle_id"),
            ("7,com.acme.video,music\n", "line 2: \"music\" is not a subscription"),
        ] {
            let error = try #require(throws: SimulatorError.self) { try start(head + row) }
            #expect("\(error)".contains(reason), "\(error)")
        }
    }

    @Test func `is kept, and another table is refused`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kept-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func start(_ table: String) throws -> SimulatorClient {
            try SimulatorClient(now: SimulatorClient.start) { settings in
                settings.folder = folder
                settings.keeps = true
                settings.customers = nil
                settings.table = table
            }
        }
        let before = try rows(of: start("original_transaction_id\n7\n"))
        #expect(try rows(of: start("original_transaction_id\n7\n")) == before)
        let error = try #require(throws: SimulatorError.self) {
            try start("original_transaction_id\n8\n")
        }
        #expect("\(error)".contains("--table"))
    }
}
