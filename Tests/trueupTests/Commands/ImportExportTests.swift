import Foundation
import RowFiles
import SubscriptionStore
import Subscriptions
import Testing
import trueup

@Suite struct `trueup import and export` {
    let workplace: Workplace

    init() async throws { workplace = try await Workplace().initialised() }

    private func write(_ text: String, to name: String) throws -> String {
        try workplace.folder.write(text, to: name)
    }

    /// The columns that every table has, and those beside them that the rows below fill.
    static let header = (SubscriptionField.stored + filled).map(\.rawValue).joined(separator: ",")
    private static let filled: [SubscriptionField] = [
        .paidElsewhereUntil, .quantity, .renewalQuantity, .revokedSeats,
    ]

    /// Of a table of which no row holds a value of a later column.
    static let empty = SubscriptionField.stored.map(\.rawValue).joined(separator: ",")

    static let rows = """
        \(header)\r
        200000000000001,Production,com.example.app,"a,""b""\r
        c",7e3fb204-2cf0-4c42-8d6a-0242ac120002,monthly,1,2026-11-20T03:17:04.123Z,,1,yearly,,PURCHASED,300000000000001,400000000000001,2026-10-20T00:00:00.000Z,2027-01-01T00:00:00.000Z,9,8,1\r
        200000000000002,Sandbox,com.example.other,=cmd,,,,,,,,,,,,,,,,\r

        """

    @Test func `are inverse`() async throws {
        let file = try write(Self.rows, to: "rows.csv")
        let imported = await workplace.run("import", file)
        #expect(imported.status == .ok, "\(imported.diagnostics)")
        #expect(imported.output.hasPrefix("2 lines loaded: 2 inserted"))
        let exported = await workplace.run("export")
        #expect(exported.output == Self.rows)
        let again = try write(exported.output, to: "again.csv")
        #expect(await workplace.run("import", again, "--json").output.contains("\"unchanged\":2"))
        let lines = await workplace.run("export", "--json").output
        let json = try write(lines, to: "again.jsonl")
        #expect(await workplace.run("import", json, "--json").output.contains("\"unchanged\":2"))
    }

    @Test func `load and write periods too`() async throws {
        let file = try write(
            "transaction_id,original_transaction_id,price,is_upgraded\n21,11,10990,1\n",
            to: "periods.csv")
        #expect(await workplace.run("import", file, "--transactions").status == .ok)
        let exported = await workplace.run("export", "--transactions").output
        #expect(exported.contains("21,11,Production,com.example.app,,,,,,,,,1,,10990,,\r\n"))
        let again = try write(exported, to: "again.csv")
        #expect(
            await workplace.run("import", "--transactions", again, "--json").output
                .contains("\"unchanged\":1"))
    }

    @Test func `load and write one-time purchases too`() async throws {
        let file = try write(
            """
            transaction_id,customer_id,product_id,type,quantity,revocation_percentage,price
            21,c,coins,Consumable,3,,990
            22,d,lifetime,Non-Consumable,1,100000,49990

            """, to: "purchases.csv")
        let dry = await workplace.run("import", file, "--purchases", "--dry-run")
        #expect(dry.output.hasPrefix("2 lines would be loaded: 2 inserted"), "\(dry.diagnostics)")
        #expect(await workplace.run("import", file, "--purchases").status == .ok)
        let exported = await workplace.run("export", "--purchases").output
        #expect(
            exported == TransactionField.ofPurchases.map(\.rawValue).joined(separator: ",")
                + "\r\n21,21,Production,com.example.app,c,,coins,Consumable,3,,,,,990,,\r\n"
                + "22,22,Production,com.example.app,d,,lifetime,Non-Consumable,1,,,,100000,49990,,"
                + "\r\n")
        for (text, name) in [
            (exported, "again.csv"),
            (await workplace.run("export", "--purchases", "--json").output, "again.jsonl"),
        ] {
            let again = try write(text, to: name)
            #expect(
                await workplace.run("import", "--purchases", again, "--json").output
                    .contains("\"unchanged\":2"))
        }
        #expect(await workplace.run("export").output == Self.empty + "\r\n")
        let bad = try write("transaction_id,quantity\n23,1\n24,many\n23,1\n", to: "bad.csv")
        let refused = await workplace.run("import", bad, "--purchases")
        #expect(refused.status == .data)
        #expect(refused.diagnostics.contains("\(bad):3: quantity"), "\(refused.diagnostics)")
        #expect(refused.diagnostics.contains("2 bad lines; nothing was loaded"))
        #expect(await workplace.run("export", "--purchases").output == exported)
        let ahead = try write("transaction_id,signed_date\n25,2999-01-01T00:00:00Z\n", to: "a.csv")
        let future = await workplace.run("import", ahead, "--purchases")
        #expect(future.status == .data && future.diagnostics.contains("is in the future"))
        for both in [
            ["import", file, "--purchases", "--transactions"],
            ["export", "--purchases", "--transactions"],
        ] {
            #expect(await workplace.run(both).status == .usage)
        }
        let wrong = try write("transaction_id,expires_date\n26,\n", to: "wrong.csv")
        #expect(await workplace.run("import", wrong, "--purchases").status == .data)
    }

    @Test func `take received notifications into the inbox once`() async throws {
        let file = try write(
            "{\"notificationUUID\":\"u1\",\"receivedAt\":\"2026-11-20T03:17:04Z\"}\n", to: "n.jsonl"
        )
        #expect(
            await workplace.run("import", "--notifications", file, "--json").output
                .contains("\"inserted\":1"))
        #expect(
            await workplace.run("import", "--notifications", file, "--json").output
                .contains("\"unchanged\":1"))
    }

    @Test func `take a notification once that Apple sent again`() async throws {
        let line = "{\"notificationUUID\":\"u1\",\"receivedAt\":\"2026-11-20T03:17:04Z\"}\n"
        let file = try write(line + line, to: "n.jsonl")
        let outcome = await workplace.run("import", "--notifications", file, "--json")
        #expect(outcome.status == .ok, "\(outcome.diagnostics)")
        #expect(outcome.output.contains("\"accepted\":2"), "\(outcome.output)")
        #expect(outcome.output.contains("\"inserted\":1"), "\(outcome.output)")
        #expect(outcome.output.contains("\"unchanged\":1"), "\(outcome.output)")
    }

    @Test func `refuse a file with a bad line, name it, and load nothing`() async throws {
        let file = try write(
            "original_transaction_id\n11\n2.00000012E+15\n11\n12\n", to: "rows.csv")
        let outcome = await workplace.run("import", file)
        #expect(outcome.status == .data)
        #expect(outcome.diagnostics.contains("\(file):3: original_transaction_id"))
        #expect(outcome.diagnostics.contains("\(file):4: has the same key as an earlier line"))
        #expect(outcome.diagnostics.contains("2 bad lines; nothing was loaded"))
        #expect(await workplace.run("export").output == Self.empty + "\r\n")
    }

    @Test func `name the first twenty bad lines and count the rest`() async throws {
        let file = try write(
            "original_transaction_id\n" + String(repeating: "x\n", count: 50), to: "rows.csv")
        let outcome = await workplace.run("import", file)
        #expect(outcome.diagnostics.contains(":21: "))
        #expect(!outcome.diagnostics.contains(":22: "))
        #expect(outcome.diagnostics.contains("50 bad lines (the first 20 are named above;"))
        #expect(outcome.diagnostics.contains("--bad-rows FILE"))
    }

    @Test func `give all bad lines to a file, and as JSON, and still load nothing`() async throws {
        let file = try write(
            "original_transaction_id\n11\n" + String(repeating: "x\n", count: 50), to: "rows.csv")
        for name in ["bad.jsonl", "bad.csv"] {
            let bad = workplace.folder.path + "/" + name
            let outcome = await workplace.run("import", file, "--bad-rows", bad)
            #expect(outcome.status == .data)
            let lines = try String(contentsOfFile: bad, encoding: .utf8)
                .split(whereSeparator: \.isNewline)
            #expect(lines.count == (name == "bad.csv" ? 51 : 50))
            #expect(lines.last?.contains("52") == true)
            #expect(lines.last?.contains("rows.csv") == true)
        }
        let json = await workplace.run("import", file, "--json")
        #expect(json.status == .data)
        #expect(
            json.diagnostics.split(separator: "\n").count { $0.contains("\"line\":") } == 50)
        #expect(await workplace.run("export").output == Self.empty + "\r\n")
        #expect(
            await workplace.run("import", file, "--bad-rows", "/nowhere/x").status == .cannotCreate)
        #expect(await workplace.run("import", file, "--bad-rows", file).status == .usage)
    }

    @Test func `do not overwrite the file by another name of it`() async throws {
        let text = "original_transaction_id\n11\nx\n"
        let file = try write(text, to: "rows.csv")
        let folder = workplace.folder.path
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/link.csv", withDestinationPath: "rows.csv")
        try FileManager.default.linkItem(atPath: file, toPath: folder + "/hard.csv")
        for name in ["/./rows.csv", "/link.csv", "/hard.csv"] {
            let outcome = await workplace.run(
                "import", file, "--skip-bad-rows", "--bad-rows", folder + name)
            #expect(outcome.status == .usage, "\(name)")
            #expect(outcome.diagnostics.contains("would overwrite the file"), "\(name)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text, "\(name)")
        }
    }

    @Test func `skip an undated line where the stored row is dated, and keep what is not given`()
        async throws
    {
        let dated = try write(
            """
            original_transaction_id,customer_id,product_id,status,signed_date
            11,c,monthly,1,2026-11-20T00:00:00Z
            12,d,yearly,1,2026-11-20T00:00:00Z
            13,e,yearly,1,

            """, to: "a.csv")
        _ = await workplace.run("import", dated)
        let before = await workplace.run("export").output
        // An empty date, and none at all, are no newer than the stored one.
        for text in [
            "original_transaction_id,status,signed_date\n11,2,\n",
            "original_transaction_id,status\n11,2\n",
        ] {
            let file = try write(text, to: "b.csv")
            let outcome = await workplace.run("import", file)
            #expect(outcome.output.contains("1 skipped as older"), "\(outcome.output)")
            #expect(await workplace.run("export").output == before)
        }
        // Each line of JSON Lines gives what it names: 11 no customer, 12 an empty one.
        let lines = try write(
            """
            {"original_transaction_id":"11","status":2,"signed_date":"2026-11-21T00:00:00Z"}
            {"original_transaction_id":"12","customer_id":"","signed_date":"2026-11-21T00:00:00Z"}
            {"original_transaction_id":"13","customer_id":null}

            """, to: "c.jsonl")
        let outcome = await workplace.run("import", lines)
        #expect(outcome.output.contains("3 updated"), "\(outcome.output)")
        let after = await workplace.run("export").output
        #expect(after.contains("11,Production,com.example.app,c,,monthly,2,"), "\(after)")
        #expect(after.contains("12,Production,com.example.app,,,yearly,1,"), "\(after)")
        #expect(after.contains("13,Production,com.example.app,,,yearly,1,"), "\(after)")
    }

    @Test(arguments: [
        "original_transaction_id,paid_elsewhere_until\n11,2027-01-01T00:00:00Z\n",
        "{\"original_transaction_id\":\"11\",\"paid_elsewhere_until\":\"2027-01-01T00:00:00Z\"}\n",
    ])
    func `take in who pays elsewhere without a date of Apple's`(text: String) async throws {
        let dated = try write(
            "original_transaction_id,status,signed_date\n11,1,2026-11-20T00:00:00Z\n", to: "a.csv")
        _ = await workplace.run("import", dated)
        let file = try write(text, to: text.hasPrefix("{") ? "b.jsonl" : "b.csv")
        let outcome = await workplace.run("import", file)
        #expect(outcome.output.contains("1 updated"), "\(outcome.output)")
        let exported = await workplace.run("export").output
        #expect(
            exported.contains(",1,,,,,,,,,2026-11-20T00:00:00.000Z,2027-01-01T00:00:00.000Z\r\n"),
            "\(exported)")
        // Beside a column of Apple's the date of its statement is needed as before.
        let both = try write(
            "original_transaction_id,status,paid_elsewhere_until\n11,2,2028-01-01T00:00:00Z\n",
            to: "c.csv")
        #expect(await workplace.run("import", both).output.contains("1 skipped as older"))
    }

    @Test func `load the good lines when told to skip bad ones, the first of two keys`()
        async throws
    {
        let bad = String(repeating: "x,\n", count: 30)
        let file = try write(
            "original_transaction_id,customer_id\n11,first\n11,second\n\(bad)12,c\n", to: "r.csv")
        let outcome = await workplace.run("import", "--skip-bad-rows", file)
        #expect(outcome.status == .ok)
        #expect(outcome.diagnostics.contains("\(file):3: has the same key"))
        #expect(outcome.diagnostics.contains("\(file):33: "))
        #expect(outcome.diagnostics.contains("31 bad lines left out"))
        let exported = await workplace.run("export").output
        #expect(exported.contains(",first,"))
        #expect(!exported.contains("second"))
    }

    @Test func `skip and count lines that are older than the stored row`() async throws {
        let new = try write(
            "original_transaction_id,status,signed_date\n11,1,2026-11-20T00:00:00Z\n", to: "n.csv")
        let old = try write(
            "original_transaction_id,status,signed_date\n11,2,2026-11-19T00:00:00Z\n", to: "o.csv")
        _ = await workplace.run("import", new)
        #expect(await workplace.run("import", old).output.contains("1 skipped as older"))
        #expect(await workplace.run("export").output.contains("2026-11-20T00:00:00.000Z"))
    }

    @Test func `leave columns alone that the file does not have`() async throws {
        let full = try write("original_transaction_id,customer_id,status\n11,c,1\n", to: "a.csv")
        let part = try write("{\"original_transaction_id\":11,\"status\":2}\n", to: "b.jsonl")
        _ = await workplace.run("import", full)
        _ = await workplace.run("import", part)
        #expect(
            await workplace.run("export").output.contains(
                "11,Production,com.example.app,c,,,2,"))
    }

    @Test func `wait for a run, then end with 75 and name who holds the lock`() async throws {
        let file = try write("original_transaction_id\n11\n", to: "rows.csv")
        let lock = try RunLock.acquire(
            forDatabaseAt: workplace.folder.path + "/trueup.sqlite", holder: "ops@db1, process 17",
            now: Timestamp(unixMilliseconds: 1_795_000_000_000), waitMilliseconds: 0)
        let outcome = await workplace.run("import", file)
        #expect(outcome.status == .busy)
        #expect(outcome.diagnostics.contains("ops@db1, process 17"))
        #expect(outcome.diagnostics.contains("2026-11-18T"))
        #expect(await workplace.run("status").output.contains("ops@db1, process 17"))
        _ = consume lock
        #expect(await workplace.run("import", file).status == .ok)
    }

    @Test func `end with 65 for a file that cannot be used, and 69 without a database`()
        async throws
    {
        #expect(await workplace.run("import", "/nowhere/rows.csv").status == .data)
        let empty = try write("", to: "empty.csv")
        #expect(await workplace.run("import", empty).status == .data)
        #expect(await workplace.run("import", workplace.folder.path).status == .data)
        workplace.environment["TRUEUP_STORE_URL"] = "sqlite:none.sqlite"
        #expect(await workplace.run("export").status == .unavailable)
        #expect(await workplace.run("import", empty).status == .unavailable)
    }

    @Test func `leave the database byte for byte as it was when only reading`() async throws {
        let file = try write(Self.rows, to: "rows.csv")
        _ = await workplace.run("import", file)
        let database = URL(fileURLWithPath: workplace.folder.path + "/trueup.sqlite")
        let before = try Data(contentsOf: database)
        _ = await workplace.run("export")
        _ = await workplace.run("status")
        #expect(try Data(contentsOf: database) == before)
    }
}
