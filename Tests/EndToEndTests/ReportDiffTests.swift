import Foundation
import TestSupport
import Testing

/// `trueup report diff`: what two runs say, side by side.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `The difference of two reports` {
    private static let simulator = try? RunningSimulator([
        "--customers", "40", "--seed", "31", "--drift", "0",
    ])

    /// A table that agrees with Apple, in which three rows are then made to differ.
    private func place() throws -> (place: Workplace, ids: [String]) {
        let place = try Workplace(on: try #require(Self.simulator))
        try place.writeJob("nightly", "settle: 0s", steps: "[walk]", mode: "check")
        try #require(place.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(try place.run("import", table).status == 0)
        let ids = try place.rows().values.compactMap { $0["original_transaction_id"] }
        return (place, Array(ids.sorted().prefix(3)))
    }

    private func wrong(_ id: String, by days: Int, in place: Workplace) throws {
        try place.sql(
            "UPDATE subscriptions SET expires_date = expires_date + \(days) * 86400000 "
                + "WHERE original_transaction_id = '\(id)'")
    }

    private func check(_ place: Workplace) throws -> String {
        try #require([0, 2].contains(try place.run("check", "nightly").status))
        return try #require(try place.summary()["run_id"] as? String)
    }

    @Test func `lists what is new, gone and changed, and ties out`() throws {
        let (place, ids) = try place()
        try wrong(ids[0], by: 1, in: place)
        try wrong(ids[1], by: 1, in: place)
        let first = try check(place)
        try wrong(ids[0], by: -1, in: place)
        try wrong(ids[1], by: 1, in: place)
        try wrong(ids[2], by: 1, in: place)
        let second = try check(place)

        let shown = try place.run("report", "diff", first, second)
        #expect(shown.status == 0, "\(shown.errors)")
        let lines = shown.output.split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasPrefix("- high expiry \(ids[0]) ") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("~ high expiry \(ids[1]) ") && $0.contains("→") })
        #expect(lines.contains { $0.hasPrefix("+ high expiry \(ids[2]) ") })
        #expect(lines.contains("1 new, 1 gone, 1 changed, 0 alike."))
        #expect(!shown.output.contains("may still be open"))

        let json = try place.run("report", "diff", first, second, "--json")
        let objects = try json.output.split(separator: "\n").map {
            try #require(
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(objects.count == 4)
        let changed = try #require(objects.first { $0["change"] as? String == "changed" })
        #expect(changed["differs"] as? [String] == ["local_value"])
        let sides = ["before", "after"].map { changed[$0] as? [String: Any] }
        #expect(sides.map { $0?["run_id"] as? String } == [first, second])
        #expect(sides[0]?["finding_id"] as? String == sides[1]?["finding_id"] as? String)
        #expect(objects.last?["change"] as? String == "totals")
        #expect(objects.last?["to_checks_all"] as? Bool == true)
    }

    @Test func `of a run with itself is nothing, backwards it is the inverse`() throws {
        let (place, ids) = try place()
        let first = try check(place)
        try wrong(ids[0], by: 1, in: place)
        let second = try check(place)
        let same = try place.run("report", "diff", second, second)
        #expect(same.output.contains("0 new, 0 gone, 0 changed, 1 alike."))
        let back = try place.run("report", "diff", second, first)
        #expect(back.output.contains("0 new, 1 gone, 0 changed, 0 alike."))
    }

    @Test func `says that a run for some rows does not list every finding`() throws {
        let (place, ids) = try place()
        try wrong(ids[0], by: 1, in: place)
        let first = try check(place)
        try place.folder.write(ids[1] + "\n", to: "ids")
        try #require(try place.run("check", "nightly", "--ids-file", "ids").status == 0)
        let part = try #require(try place.summary()["run_id"] as? String)
        let shown = try place.run("report", "diff", first, part)
        #expect(shown.output.contains("Run \(part) left out rows"), "\(shown.output)")
        #expect(shown.output.contains("may still be open"))
    }

    @Test(arguments: [
        ["diff"], ["diff", "latest"], ["diff", "a", "b", "c"], ["diff", "no", "such"],
    ])
    func `refuses other arguments`(arguments: [String]) throws {
        let (place, _) = try place()
        _ = try check(place)
        #expect(try place.run(["report"] + arguments).status == 64)
    }
}
