import Crypto
import Foundation
import TestSupport
import Testing

/// `trueup compare app-store-connect` on reports with planted differences.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A comparison with App Store Connect` {
    private static let reports = try? TemporaryFolder()
    private static let simulator = try? RunningSimulator([
        "--customers", "400", "--seed", "11", "--drift", "0", "--sales-reports",
        reports?.url.path ?? "",
    ])

    private struct Planted: Decodable, Hashable {
        var kind: String
        var productID: String
        var day: String
        var field: String

        enum CodingKeys: String, CodingKey {
            case kind, day, field
            case productID = "product_id"
        }
    }

    private var folder: URL { Self.reports?.url ?? URL(fileURLWithPath: "/") }

    /// The reports, all of them or those of the newest day.
    private func files(newestOnly: Bool = false) throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasPrefix("Subs") }.sorted()
        let newest = names.compactMap { $0.dropLast(4).split(separator: "_").last }.max() ?? ""
        return names.filter { !newestOnly || $0.contains(newest) }
            .map { folder.appendingPathComponent($0).path }
    }

    /// A workplace with the rows, the periods and the settings that the simulator wrote.
    private func place(runs: Bool = true) throws -> Workplace {
        let place = try Workplace(on: try #require(Self.simulator))
        try place.writeJob(
            "nightly", "settle: 0s\nhistory: always", steps: "[walk]",
            guards: "max_changes: 10000, max_change_share: 1, max_same_direction_share: 1")
        let mapping = try String(
            contentsOf: folder.appendingPathComponent("products.yaml"), encoding: .utf8)
        try place.folder.write(mapping + place.folder.text("trueup.yaml"), to: "trueup.yaml")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", #require(place.simulator.ready.tableFile)).status == 0)
        if runs {
            let run = try place.run("run", "nightly")
            try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        }
        return place
    }

    private func summary(_ result: BuiltExecutable.Result) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    private func totals(_ result: BuiltExecutable.Result) throws -> [String: Int] {
        try #require(try summary(result)["totals"] as? [String: Int])
    }

    private func compare(
        _ place: Workplace, _ files: [String], _ options: String...
    ) throws -> BuiltExecutable.Result {
        try place.run(["compare", "app-store-connect"] + files + ["--json"] + options)
    }

    private func found(_ place: Workplace) throws -> [Planted] {
        try place.folder.text("reports/compare/latest/differences.jsonl").split(separator: "\n")
            .map { try JSONDecoder().decode(Planted.self, from: Data($0.utf8)) }
    }

    @Test func `finds every planted difference and invents none`() throws {
        let place = try place()
        let database = place.folder.url.appendingPathComponent("trueup.sqlite")
        let before = try SHA256.hash(data: Data(contentsOf: database))
        let compared = try compare(place, files())
        #expect([2, 3].contains(compared.status), "\(compared.errors)")
        #expect(try SHA256.hash(data: Data(contentsOf: database)) == before)
        let planted = try JSONDecoder().decode(
            [Planted].self, from: Data(contentsOf: folder.appendingPathComponent("planted.json")))
        #expect(planted.count == 7)
        let found = try found(place)
        #expect(Set(found) == Set(planted))
        #expect(found.count == planted.count)
        let totals = try totals(compared)
        let lines = try files().reduce(0) { sum, file in
            try sum + String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count - 1
        }
        #expect(totals["lines"] == lines)
        #expect(totals["only_theirs"] == 1)
        #expect(totals["matched"] ?? 0 > lines / 2)
        let reasons = try #require(try summary(compared)["not_compared"] as? [String: Int])
        #expect(reasons["product_not_mapped"] == 1)
        #expect(
            totals["lines"]
                == ["matched", "different", "only_theirs", "not_compared"]
                .reduce(0) { $0 + (totals[$1] ?? 0) })
        let page = try place.folder.text("reports/compare/latest/report.html")
        #expect(page.contains("App Store Connect compared with what Apple signed"))
        #expect(page.contains("Risk: customers that no run can see"))
        #expect(page.contains("<svg"))
        #expect(!page.contains("<script"))
        let verified = try place.run("verify", "reports/compare")
        #expect(verified.status == 0, "\(verified.output)")
        // A list that was cut no longer ties out.
        let path = "reports/compare/latest/differences.jsonl"
        let whole = try place.folder.text(path)
        try place.folder.write(
            whole.split(separator: "\n").dropLast().joined(separator: "\n") + "\n", to: path)
        #expect(try place.run("verify", "reports/compare").status == 7)
    }

    @Test func `explains with the other zone, and remembers the days before`() throws {
        let place = try place()
        let all = try files()
        let newest = try files(newestOnly: true)
        let older = all.filter { !newest.contains($0) }
        #expect(try [0, 3].contains(compare(place, older).status))
        let compared = try compare(place, newest, "--time-zone", "UTC")
        #expect([2, 3].contains(compared.status), "\(compared.errors)")
        let text = try place.folder.text("reports/compare/latest/differences.jsonl")
        #expect(text.contains("time_zone="), "\(text)")
        #expect(text.contains("\"history\":\"20"), "\(text)")
        let days = try place.folder.text("reports/compare/latest/days.csv")
        #expect(days.hasPrefix("day,measure,theirs,apple,unexplained,product_id\r\n"))
        let people = try place.run(["compare", "app-store-connect"] + newest)
        #expect(people.output.contains("is not explained"), "\(people.output)")
        // A report without a line lacks what signed statements have.
        let states = try #require(
            newest.first { $0.contains("/Subscription_") && !$0.contains("_Event_") })
        let header = try String(contentsOfFile: states, encoding: .utf8).prefix { $0 != "\n" }
        let name = URL(fileURLWithPath: states).lastPathComponent
        try place.folder.write(header + "\n", to: name)
        let none = try place.run("compare", "app-store-connect", name)
        #expect(none.status == 2, "\(none.output)\(none.errors)")
        #expect(none.output.contains("the files have no line, and "), "\(none.output)")
        #expect(try place.run("verify", "reports/compare").status == 0)
    }

    @Test func `does not call rows without a statement different`() throws {
        let place = try place(runs: false)
        let compared = try compare(place, files(newestOnly: true))
        #expect(compared.status == 3, "\(compared.errors)")
        let reasons = try #require(try summary(compared)["not_compared"] as? [String: Int])
        #expect(reasons["rows_unchecked"] ?? 0 > 0)
    }

    @Test func `refuses a file that it cannot use and names its first bad lines`() throws {
        let place = try place(runs: false)
        let header = "Event Date\tEvent\tSubscription Apple ID\tQuantity\n"
        let bad = String(repeating: "2026-11-20\tRenew\t64\tx\n", count: 30)
        try place.folder.write(header + bad, to: "bad.txt")
        let refused = try place.run("compare", "app-store-connect", "bad.txt")
        #expect(refused.status == 65)
        #expect(refused.errors.contains("bad.txt:21: Quantity"), "\(refused.errors)")
        #expect(!refused.errors.contains("bad.txt:22: "))
        #expect(refused.errors.contains("30 bad lines"))
        try place.folder.write("Event\tQuantity\n", to: "lacking.txt")
        let lacking = try place.run("compare", "app-store-connect", "lacking.txt")
        #expect(lacking.status == 65)
        #expect(lacking.errors.contains("\"Subscription Apple ID\""), "\(lacking.errors)")
        try place.folder.write(header, to: "empty.txt")
        #expect(try place.run("compare", "app-store-connect", "empty.txt").status == 5)
        let file = try #require(try files().first)
        let twice = try place.run("compare", "app-store-connect", file, file)
        #expect(twice.status == 65)
        #expect(twice.errors.contains("Name each report once"), "\(twice.errors)")
        for wrong in [["--time-zone", "CET"], ["--ask"]] {
            #expect(try place.run(["compare", "app-store-connect", file] + wrong).status == 64)
        }
    }
}
