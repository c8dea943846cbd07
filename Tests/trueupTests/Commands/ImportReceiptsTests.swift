import Foundation
import Subscriptions
import TestSupport
import Testing
import trueup

@Suite struct `trueup import of receipts` {
    let workplace: Workplace

    init() async throws { workplace = try await Workplace().initialised() }

    private func write(_ text: String, to name: String = "receipts.csv") throws -> String {
        try workplace.folder.write(text, to: name)
    }

    /// Receipts of the app that `trueup init` writes into the settings.
    private func receipt(
        _ purchases: [TestReceipt.Purchase], type: String? = "Production"
    ) -> String {
        var receipt = TestReceipt(purchases)
        receipt.receiptType = type
        return receipt.base64
    }

    @Test func `makes rows of which only the id is known`() async throws {
        let file = try write(
            """
            receipt,customer_id
            \(receipt([.init("11"), .init("12")])),c1
            \(receipt([.init("12")])),c1
            \(TestTransactionReceipt(["transaction-id": "13", "bid": "com.example.app"]).base64),c2

            """)
        let outcome = await workplace.run("import", "--receipts", file)
        #expect(outcome.status == .ok, "\(outcome.diagnostics)")
        #expect(outcome.output.hasPrefix("3 receipts loaded: 3 inserted"), "\(outcome.output)")
        #expect(outcome.diagnostics.contains("unverified"))
        let exported = await workplace.run("export").output
        #expect(exported.contains("11,Production,com.example.app,c1,,,,,,,,,,,,\r\n"))
        #expect(exported.contains("13,Production,com.example.app,c2,,,,,,,,,,,,\r\n"))
        let again = await workplace.run("import", "--receipts", file, "--json")
        #expect(again.output.contains("\"unchanged\":3"), "\(again.output)")
    }

    @Test func `says and counts receipts without a subscription, and loads the others`()
        async throws
    {
        let file = try write(
            [receipt([]), receipt([.init("11")]), receipt([.init("12", expires: "")])]
                .joined(separator: "\n"))
        let outcome = await workplace.run("import", "--receipts", file)
        #expect(outcome.status == .ok)
        #expect(outcome.diagnostics.contains("\(file):1: names no subscription\n"))
        #expect(
            outcome.diagnostics.contains(
                "\(file):3: names no subscription, only 1 other purchase\n")
        )
        #expect(outcome.diagnostics.contains("2 receipts name no subscription"))
        let json = await workplace.run("import", "--receipts", file, "--json")
        #expect(json.output.contains("\"receipts_without_subscription\":2"))
        #expect(json.output.contains("\"other_purchases\":1"))
    }

    @Test func `refuses the file over a bad line, and loads the others if told to`() async throws {
        let file = try write(
            """
            receipt,customer_id
            \(receipt([.init("11")])),c1
            MIIB,c2
            \(receipt([.init("11"), .init("12")])),c3
            \(receipt([.init("13")], type: "ProductionSandbox")),c4

            """)
        let outcome = await workplace.run("import", "--receipts", file)
        #expect(outcome.status == .data)
        #expect(outcome.diagnostics.contains("\(file):3: receipt is cut off or damaged"))
        #expect(
            outcome.diagnostics.contains(
                "\(file):4: names a subscription for another customer_id or app_account_token"))
        #expect(outcome.diagnostics.contains("\(file):5: receipt is of the app"))
        #expect(outcome.diagnostics.contains("3 bad lines; nothing was loaded"))
        let skipped = await workplace.run("import", "--receipts", "--skip-bad-rows", file)
        #expect(skipped.status == .ok)
        #expect(skipped.output.hasPrefix("1 receipt loaded: 1 inserted"))
    }

    @Test func `excludes other kinds of rows`() async {
        for other in ["--transactions", "--notifications"] {
            #expect(await workplace.run("import", "--receipts", other, "x").status == .usage)
        }
    }
}
