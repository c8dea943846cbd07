import Crypto
import Foundation
import TestSupport
import Testing

/// `trueup compare revenuecat` on an export with planted differences, and on files made by hand.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A comparison with RevenueCat` {
    private static let export = try? TemporaryFolder()
    private static let simulator = try? RunningSimulator([
        "--customers", "400", "--seed", "5", "--drift", "0", "--revenuecat-export",
        export?.url.path ?? "",
    ])

    private struct Planted: Decodable, Hashable {
        var originalTransactionID: String
        var transactionID: String
        var kind: String

        enum CodingKeys: String, CodingKey {
            case kind
            case originalTransactionID = "original_transaction_id"
            case transactionID = "transaction_id"
        }
    }

    private var file: String { (Self.export?.url.path ?? "") + "/transactions.csv" }

    /// A workplace with the imported rows; `runs` says whether a run checked them.
    private func place(runs: Bool = true) throws -> Workplace {
        let place = try Workplace(on: try #require(Self.simulator))
        try place.writeJob(
            "nightly", "settle: 0s\nhistory: always", steps: "[walk]",
            guards: "max_changes: 10000, max_change_share: 1, max_same_direction_share: 1")
        try #require(place.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        if runs {
            let run = try place.run("run", "nightly")
            try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        }
        return place
    }

    /// A workplace without a row.
    private func emptyPlace() throws -> Workplace {
        let place = try Workplace(on: try #require(Self.simulator))
        try #require(place.run("init").status == 0)
        return place
    }

    /// A catalogue in which every product of the export grants what the export says.
    private func addCatalogue(to place: Workplace) throws {
        let products = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
            .dropFirst().map { line in
                let fields = line.split(separator: ";", omittingEmptySubsequences: false)
                return fields[4].replacing(".old", with: "")
            }
        let lines = Set(products).filter { !$0.isEmpty }.sorted()
            .map { "  \($0): {grants: [premium]}\n" }
        try place.folder.write("products:\n" + lines.joined(), to: "catalogue.yaml")
        try place.folder.write(
            "catalogue: catalogue.yaml\n" + place.folder.text("trueup.yaml"), to: "trueup.yaml")
    }

    private func summary(_ result: BuiltExecutable.Result) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    private func totals(_ result: BuiltExecutable.Result) throws -> [String: Int] {
        try #require(try summary(result)["totals"] as? [String: Int])
    }

    private func reasons(_ result: BuiltExecutable.Result) throws -> [String: Int] {
        try #require(try summary(result)["not_compared"] as? [String: Int])
    }

    private func planted() throws -> [Planted] {
        let path = URL(fileURLWithPath: file).deletingLastPathComponent()
            .appendingPathComponent("planted.json")
        return try JSONDecoder().decode([Planted].self, from: Data(contentsOf: path))
    }

    private func found(in place: Workplace) throws -> [Planted] {
        try place.folder.text("reports/compare/latest/differences.jsonl").split(separator: "\n")
            .map { try JSONDecoder().decode(Planted.self, from: Data($0.utf8)) }
    }

    /// The calls that are noted beside the database.
    private func notedCalls(of place: Workplace) throws -> Int {
        try place.folder.text("trueup.sqlite-calls").split(separator: "\n")
            .reduce(0) { $0 + (Int($1.split(separator: " ")[1]) ?? 0) }
    }

    @Test(arguments: [true, false])
    func `finds the same by asking Apple, whether the ids are stored or not`(
        imports: Bool
    ) throws {
        let place = try imports ? place(runs: false) : emptyPlace()
        try addCatalogue(to: place)
        let database = place.folder.url.appendingPathComponent("trueup.sqlite")
        let before = try SHA256.hash(data: Data(contentsOf: database))
        let compared = try place.run("compare", "revenuecat", file, "--ask", "--json")
        #expect(compared.status == 2, "\(compared.output)\(compared.errors)")
        #expect(try SHA256.hash(data: Data(contentsOf: database)) == before)
        // A subscription that is neither stored nor in the files is unknown to everyone.
        let found = Set(try found(in: place))
        let planted = Set(try planted())
        let unseen = planted.subtracting(found)
        #expect(found.isSubset(of: planted), "\(found.subtracting(planted))")
        #expect(unseen.allSatisfy { $0.kind == "revenuecat_missing" }, "\(unseen)")
        #expect(imports ? unseen.isEmpty : true)
        #expect(try totals(compared)["not_compared"] == 1)
        let notes = try #require(try summary(compared)["notes"] as? [String])
        let sentence = try #require(notes.first { $0.contains("statement was requested for") })
        let calls = try notedCalls(of: place)
        #expect(calls > 0)
        #expect(sentence.contains("in \(calls.formatted()) calls"), "\(sentence) \(calls)")
        // Each difference in a value rests on a payload that Apple signed.
        let lines = try place.folder.text("reports/compare/latest/differences.jsonl")
            .split(separator: "\n")
        let unproven = lines.filter { !$0.contains("evidence\":\"") }
        #expect(unproven.allSatisfy { $0.contains("revenuecat_unknown") }, "\(unproven)")
        let root = place.simulator.ready.rootFile
        let verify = ["verify", "reports/compare", "--trusted-root", root]
        let intact = try place.run(verify)
        #expect(intact.status == 0, "\(intact.output)")
        // What was asked counts for the next run.
        let other = try place.run("compare", "revenuecat", file, "--ask", "--json")
        #expect(other.status == 2)
        #expect(try notedCalls(of: place) == 2 * calls)
    }

    @Test func `waits where the share of the quota is used up, and says until when`() throws {
        let place = try place(runs: false)
        let now = Int(Date().timeIntervalSince1970)
        let app = place.simulator.ready.bundleID
        let full = "\(now - now % 5) 1000000000 \(app) Production subscription_statuses\n"
        try place.folder.write(full, to: "trueup.sqlite-calls")
        let waiting = try place.start("compare", "revenuecat", file, "--ask")
        Thread.sleep(forTimeInterval: 8)
        #expect(waiting.process.isRunning)
        waiting.send(signal: SIGTERM)
        let ended = waiting.wait()
        #expect(ended.errors.contains("until"), "\(ended.errors)")
        #expect(try place.folder.text("trueup.sqlite-calls") == full)
    }

    @Test func `exports for RevenueCat what is held, and the rest by asking Apple`() throws {
        let place = try place(runs: false)
        let rows = try place.run("export", "--json").output.split(separator: "\n").count
        let none = try place.run("export", "--revenuecat")
        #expect(none.status == 3)
        #expect(none.output.split(whereSeparator: \.isNewline) == ["app_user_id,receipt"])
        #expect(none.errors.contains("\(rows) rows are left out"), "\(none.errors)")
        let database = place.folder.url.appendingPathComponent("trueup.sqlite")
        let before = try SHA256.hash(data: Data(contentsOf: database))
        let asked = try place.run("export", "--revenuecat", "--ask")
        #expect(asked.status == 0, "\(asked.errors)")
        #expect(try SHA256.hash(data: Data(contentsOf: database)) == before)
        let receipts = try receipts(asked.output)
        #expect(receipts.count == rows)
        let known = try place.run("export", "--json").output.split(separator: "\n").map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(object as? [String: Any])
        }
        let customers = Dictionary(
            known.map { row in
                (row["original_transaction_id"] as? String, row["customer_id"] as? String)
            }, uniquingKeysWith: { first, _ in first })
        for (customer, original) in receipts { #expect(customers[original] == customer) }
        // Apple signed each of them.
        let jws = try #require(
            asked.output.split(whereSeparator: \.isNewline).last?.split(separator: ",").last)
        try place.folder.write(String(jws), to: "one.jws")
        let inspected = try place.run(
            "inspect", "one.jws", "--trusted-root", place.simulator.ready.rootFile)
        #expect(inspected.status == 0, "\(inspected.output)")
        // Corrections leave the transactions on which they rest; here they insert periods.
        #expect(try place.run("run", "nightly").status == 0)
        let held = try place.run("export", "--revenuecat")
        #expect(held.status == 0, "\(held.errors)")
        #expect(try Set(self.receipts(held.output).map(\.1)) == Set(receipts.map(\.1)))
        #expect(try place.run("export", "--ask").status == 64)
        #expect(try place.run("export", "--revenuecat", "--purchases").status == 64)
    }

    /// Customer and original transaction id of each line.
    private func receipts(_ csv: String) throws -> [(String, String)] {
        try csv.split(whereSeparator: \.isNewline).dropFirst().map { line in
            let fields = line.split(separator: ",")
            let payload = try #require(fields.last?.split(separator: ".")[1])
            var base64 = String(payload).replacing("-", with: "+")
                .replacing("_", with: "/")
            base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
            let data = try #require(Data(base64Encoded: base64))
            let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            return (String(fields[0]), object?["originalTransactionId"] as? String ?? "")
        }
    }

    @Test func `names a payload that Apple did not sign, or that is about another subscription`()
        throws
    {
        let place = try place(runs: false)
        #expect(try place.run("compare", "revenuecat", file, "--ask").status == 2)
        let path = "reports/compare/latest/differences.jsonl"
        let lines = try place.folder.text(path).split(separator: "\n").map(String.init)
        let digests = lines.compactMap { $0.firstMatch(of: /"evidence":"([0-9a-f]{64})"/)?.1 }
        let (first, other) = (try #require(digests.first), try #require(digests.last))
        try #require(first != other)
        let swapped = lines.map { $0.replacing(first, with: other) }.joined(separator: "\n")
        try place.folder.write(swapped + "\n", to: path)
        let root = place.simulator.ready.rootFile
        let verify = ["verify", "reports/compare", "--trusted-root", root]
        let tampered = try place.run(verify)
        #expect(tampered.status == 7)
        #expect(tampered.output.contains("is about the subscription"), "\(tampered.output)")
    }

    @Test func `finds every planted difference and invents none`() throws {
        let place = try place()
        try addCatalogue(to: place)
        let database = place.folder.url.appendingPathComponent("trueup.sqlite")
        let before = try SHA256.hash(data: Data(contentsOf: database))
        let compared = try place.run("compare", "revenuecat", file, "--json")
        #expect(compared.status == 2, "\(compared.errors)")
        #expect(try SHA256.hash(data: Data(contentsOf: database)) == before)
        let planted = try planted()
        #expect(Set(planted.map(\.kind)).count == 13)
        let found = try found(in: place)
        #expect(Set(found) == Set(planted))
        #expect(found.count == planted.count)
        let totals = try totals(compared)
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count
        #expect(totals["lines"] == lines - 1)
        #expect(totals["only_apple"] == planted.count { $0.kind == "revenuecat_missing" })
        #expect(totals["only_theirs"] == planted.count { $0.kind == "revenuecat_unknown" })
        #expect(totals["not_compared"] == 1)
        #expect(
            totals["lines"]
                == ["matched", "different", "only_theirs", "not_compared"]
                .reduce(0) { $0 + (totals[$1] ?? 0) })
        let page = try place.folder.text("reports/compare/latest/report.html")
        #expect(page.contains("RevenueCat compared with what Apple signed"))
        for one in planted { #expect(page.contains(one.originalTransactionID)) }
        #expect(try place.run("compare", "revenuecat", file).output.contains("customer"))
    }

    @Test func `leaves a report in a chain of its own, which verify checks`() throws {
        let place = try place()
        for _ in 0..<2 {
            #expect(try place.run("compare", "revenuecat", file).status == 2)
        }
        let root = place.simulator.ready.rootFile
        let verify = ["verify", "reports/compare", "--trusted-root", root]
        let intact = try place.run(verify)
        #expect(intact.status == 0, "\(intact.output)")
        #expect(intact.output.contains("INTACT: 2 runs"), "\(intact.output)")
        // The chain of runs is not concerned.
        let runs = try place.run("verify", "reports", "--trusted-root", root)
        #expect(runs.status == 0, "\(runs.output)")
        #expect(!runs.output.contains("compare"), "\(runs.output)")
        let path = "reports/compare/latest/differences.jsonl"
        let whole = try place.folder.text(path)
        let cut = whole.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n"
        try place.folder.write(cut, to: path)
        let tampered = try place.run(verify)
        #expect(tampered.status == 7)
        #expect(tampered.output.contains("its counts are not what"), "\(tampered.output)")
        try place.folder.write(whole, to: path)
        #expect(try place.run(verify).status == 0)
    }

    @Test func `does not compare what has no fresh statement`() throws {
        let place = try place(runs: false)
        let never = try place.run("compare", "revenuecat", file, "--json")
        #expect(never.status == 3)
        #expect(try totals(never)["matched"] == 0)
        #expect(Set(try reasons(never).keys) == ["never_checked", "other_store"])
        // A check keeps no record of what Apple signed.
        #expect([0, 2].contains(try place.run("check", "nightly").status))
        let checked = try place.run("compare", "revenuecat", file, "--json")
        #expect(try reasons(checked) == reasons(never))
        #expect(try place.run("run", "nightly").status == 0)
        let old = try place.run("compare", "revenuecat", file, "--json", "--fresh", "0s")
        #expect(old.status == 3)
        #expect(try totals(old)["matched"] == 0)
        #expect(try reasons(old)["statement_old"] ?? 0 > 0)
        // A row that someone changes since is no longer what Apple signed.
        try place.sql("UPDATE subscriptions SET expires_date = expires_date + 86400000")
        let changed = try place.run("compare", "revenuecat", file, "--json")
        #expect(changed.status == 3)
        #expect(try totals(changed)["matched"] == 0)
        #expect(try reasons(changed)["row_changed"] ?? 0 > 0)
    }

    @Test func `says that earlier periods need a run with history always`() throws {
        let place = try place(runs: false)
        try place.writeJob(
            "nightly", "settle: 0s\nhistory: never", steps: "[walk]",
            guards: "max_changes: 10000, max_change_share: 1, max_same_direction_share: 1")
        #expect([0, 2].contains(try place.run("run", "nightly").status))
        let compared = try place.run("compare", "revenuecat", file, "--json")
        #expect(compared.status == 3, "\(compared.errors)")
        #expect(try reasons(compared)["period_not_stored"] ?? 0 > 0)
        let notes = try #require(try summary(compared)["notes"] as? [String])
        #expect(notes.contains { $0.contains("history: always") }, "\(notes)")
    }

    @Test func `exits with 76 where no answer of Apple's can be verified`() async throws {
        let place = try place(runs: false)
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: #"{"faults": [{"fault": "bad_signature"}]}"#)
        let compared = Result {
            try place.run("compare", "revenuecat", file, "--ask", "--json")
        }
        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        let result = try compared.get()
        #expect(result.status == 76, "\(result.output)\(result.errors)")
        let outcome = try #require(try summary(result)["outcome"] as? [String: Any])
        #expect(outcome["exit_status"] as? Int == 76)
        #expect(try reasons(result)["never_checked"] ?? 0 > 0)
        let root = place.simulator.ready.rootFile
        #expect(
            try place.run("verify", "reports/compare", "--trusted-root", root).status == 0)
    }

    @Test func `does not compare a line that was changed after Apple's statement`() throws {
        let place = try place()
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let lines = text.split(separator: "\n").enumerated().map { number, line in
            var fields = line.split(separator: ";", omittingEmptySubsequences: false)
                .map(String.init)
            if number > 0, fields.count == 45 || fields.count == 44 {
                let place = fields.count - 5
                fields[place] = "2090-01-01 00:00:00"
            }
            return fields.joined(separator: ";")
        }
        try place.folder.write(lines.joined(separator: "\n") + "\n", to: "newer.csv")
        let compared = try place.run("compare", "revenuecat", "newer.csv", "--json")
        #expect(compared.status == 3, "\(compared.errors)")
        #expect(try totals(compared)["different"] == 0)
        #expect(try reasons(compared)["line_newer"] ?? 0 > 0)
        #expect(try totals(compared)["matched"] ?? 0 > 0)
    }

    @Test func `takes several files and the newest line of each transaction`() throws {
        let place = try place()
        let twice = try place.run("compare", "revenuecat", file, file, "--json")
        let once = try place.run("compare", "revenuecat", file, "--json")
        #expect(twice.status == 2)
        #expect(try reasons(twice)["superseded"] == (try totals(once)["lines"] ?? 0) - 1)
        #expect(try totals(twice)["matched"] == totals(once)["matched"])
        #expect(try totals(twice)["different"] == totals(once)["different"])
    }

    @Test func `refuses a file that it cannot use and names its first bad lines`() throws {
        let place = try place(runs: false)
        let header =
            "store;store_transaction_id;original_store_transaction_id;product_identifier;"
            + "start_time;end_time;refunded_at\n"
        let bad = String(repeating: "app_store;x;1;p;2026-11-01 00:00:00;;\n", count: 30)
        try place.folder.write(header + bad, to: "bad.csv")
        let refused = try place.run("compare", "revenuecat", "bad.csv")
        #expect(refused.status == 65)
        #expect(refused.errors.contains("bad.csv:21: store_transaction_id"), "\(refused.errors)")
        #expect(!refused.errors.contains("bad.csv:22: "))
        #expect(refused.errors.contains("30 bad lines"))
        try place.folder.write("store;other\napp_store;1\n", to: "lacking.csv")
        let lacking = try place.run("compare", "revenuecat", "lacking.csv")
        #expect(lacking.status == 65)
        #expect(lacking.errors.contains("is missing and required"), "\(lacking.errors)")
        #expect(try place.run("compare", "revenuecat", "none.csv").status == 65)
        #expect(try place.run("compare", "adapty", "bad.csv").status == 64)
        #expect(try place.run("compare", "revenuecat").status == 64)
        try place.folder.write(header, to: "empty.csv")
        #expect(try place.run("compare", "revenuecat", "empty.csv").status == 5)
        let day = place.folder.url.appendingPathComponent("reports/compare").path
        let left = FileManager.default.enumerator(atPath: day)?.allObjects as? [String] ?? []
        #expect(left.allSatisfy { !$0.contains(".partial") }, "\(left)")
    }
}
