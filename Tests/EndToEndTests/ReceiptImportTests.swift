import Foundation
import TestSupport
import Testing

/// From nothing but receipts to a filled table, on the built executables.
@Suite(.timeLimit(.minutes(30))) struct `A table that begins with receipts` {
    private func place(on simulator: RunningSimulator) throws -> Workplace {
        let place = try Workplace(on: simulator)
        try place.writeJob("backfill", "history: always\nsettle: 0s", steps: "[walk]")
        try #require(place.run("init").status == 0)
        return place
    }

    /// A receipt for each customer, by turns in DER and BER, and one that holds no subscription.
    private func receipts(of rows: [[String: String]]) throws -> String {
        let customers = Dictionary(grouping: rows) { $0["customer_id"] ?? "" }
        var lines = ["customer_id,receipt"]
        for (index, (customer, owned)) in customers.sorted(by: { $0.key < $1.key }).enumerated() {
            let ids = owned.compactMap { $0["original_transaction_id"] }.sorted()
            var receipt = TestReceipt(
                ids.map { TestReceipt.Purchase($0) } + [TestReceipt.Purchase("7", expires: "")],
                encoding: TestReceipt.Encoding.allCases[index % 2])
            receipt.bundleID = owned.first?["bundle_id"]
            lines.append("\(customer),\(receipt.base64)")
            if index % 3 == 0, let first = ids.first {
                // What an old version of the app sent of the same purchase.
                let old = TestTransactionReceipt([
                    "original-transaction-id": first, "transaction-id": "8",
                    "bid": owned.first?["bundle_id"] ?? "",
                ])
                lines.append("\(customer),\(old.base64)")
            }
        }
        var empty = TestReceipt([])
        empty.bundleID = rows.first?["bundle_id"]
        lines.append("nobody,\(empty.base64)")
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    @Test func `is filled by a backfill`() throws {
        let simulator = try RunningSimulator([
            "--customers", "24", "--drift", "0", "--seed", "21",
        ])
        let full = try place(on: simulator)
        let table = try #require(simulator.ready.tableFile)
        try #require(full.run("import", table).status == 0)
        let truth = try full.rows()
        try #require(truth.count >= 24)

        let place = try place(on: simulator)
        try place.folder.write(receipts(of: Array(truth.values)), to: "receipts.csv")
        let forecast = try place.run("import", "--receipts", "--dry-run", "receipts.csv")
        #expect(forecast.status == 0, "\(forecast.errors)")
        #expect(forecast.output.contains("\(truth.count) inserted"), "\(forecast.output)")
        #expect(try place.stored("SELECT count(*) FROM subscriptions") == [["0"]])

        let imported = try place.run("import", "--receipts", "receipts.csv")
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(imported.output.contains("\(truth.count) inserted"), "\(imported.output)")
        #expect(imported.errors.contains("1 receipt names no subscription"), "\(imported.errors)")
        #expect(
            try place.stored("SELECT count(*) FROM subscriptions WHERE status IS NULL")
                == [["\(truth.count)"]])

        let run = try place.run("run", "backfill")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        let filled = try place.rows()
        #expect(Set(filled.keys) == Set(truth.keys))
        for (id, row) in filled {
            for column in ["customer_id", "status", "product_id", "latest_transaction_id"] {
                #expect(row[column] == truth[id]?[column], "\(id) \(column)")
            }
            #expect(row["signed_date"]?.isEmpty == false)
        }
        #expect(try place.reportLines("discrepancies.jsonl").isEmpty)
    }

    @Test func `is asked about, whatever the receipt claims`() throws {
        let simulator = try RunningSimulator(["--customers", "4", "--drift", "0", "--seed", "22"])
        let place = try place(on: simulator)
        var forged = TestReceipt([.init("123456789012345")])
        forged.bundleID = simulator.ready.bundleID
        try place.folder.write(forged.base64 + "\n", to: "receipts.txt")
        try #require(place.run("import", "--receipts", "receipts.txt").status == 0)
        let run = try place.run("run", "backfill")
        #expect(run.status != 0, "\(run.output)")
        let row = try #require(place.rows().values.first)
        #expect(row["status"] == "", "Apple knows nothing of it, so nothing is filled")
    }
}
