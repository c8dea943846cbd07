import Foundation
import TestSupport
import Testing

/// One subscription, from a wrong row to its correction.
@Suite struct `An explanation` {
    private func explain(_ id: String, in place: Workplace) throws -> [String: Any] {
        let file = place.folder.url.appendingPathComponent("trueup.sqlite")
        let before = try Data(contentsOf: file)
        let result = try place.run("explain", id, "--json")
        try #require(result.status == 0, "\(result.errors)")
        #expect(try Data(contentsOf: file) == before)
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        let subscriptions = (object as? [String: Any])?["subscriptions"] as? [[String: Any]]
        #expect(subscriptions?.count == 1)
        return try #require(subscriptions?.first)
    }

    @Test(.timeLimit(.minutes(30)))
    func `tells row, check, finding, correction and why it was asked`() throws {
        let simulator = try RunningSimulator(["--customers", "30", "--drift", "0", "--seed", "11"])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        try place.folder.write(
            """
            steps: [walk]
            mode: apply
            coverage: delta
            settle: 0s
            sample: 0
            guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1}

            """, to: "jobs/delta.yaml")
        let ids = try place.stored("SELECT min(original_transaction_id) FROM subscriptions")
        let id = try #require(ids.first?.first)

        let unjudged = try explain(id, in: place)
        #expect(unjudged["last_check"] is NSNull)
        #expect(unjudged["row"] is [String: Any])
        #expect((unjudged["nights"] as? [Any])?.isEmpty == true)
        #expect((unjudged["next_question"] as? [String: Any])?["reason"] as? String == "never")

        try #require(place.run("run", "delta").status == 0)
        let judged = try explain(id, in: place)
        let nights = try #require(judged["nights"] as? [[String: Any]])
        #expect(nights.map { $0["look"] as? String } == ["judged"])
        #expect((judged["corrections"] as? [Any])?.isEmpty == true)

        try place.sql(
            "UPDATE subscriptions SET product_id = 'x' WHERE original_transaction_id = '\(id)'")
        let written = try explain(id, in: place)
        let check = try #require(written["last_check"] as? [String: Any])
        #expect(check["row_written_since"] as? Bool == true)
        #expect((written["next_question"] as? [String: Any])?["reason"] as? String == "changed")

        try #require(place.run("run", "delta").status == 0)
        let mended = try explain(id, in: place)
        let findings = try #require(mended["findings"] as? [[String: Any]])
        #expect(findings.map { $0["kind"] as? String } == ["product"])
        #expect(findings.first?["state"] as? String == "corrected")
        #expect(findings.first?["local_value"] as? String == "x")
        let corrections = try #require(mended["corrections"] as? [[String: Any]])
        #expect(corrections.count == 1)
        #expect(corrections.first?["evidence"] as? String != nil)
        let last = try #require((mended["nights"] as? [[String: Any]])?.last)
        #expect(last["look"] as? String == "asked")
        #expect(last["asked_because"] as? String == "changed")

        let text = try place.run("explain", id)
        #expect(text.status == 0)
        #expect(text.output.contains("product_id x → "), "\(text.output)")
        #expect(text.output.contains("asked, because of \"changed\""), "\(text.output)")
        #expect(text.output.contains("nothing is pending"))
        #expect(
            text.output.contains("product (high) first reported: product_id, stored x, Apple's "))
        #expect(text.output.contains("by the rules of product"), "\(text.output)")
        #expect(text.output.contains("next check"), "\(text.output)")
        let lines = text.output.components(separatedBy: "\nTime line\n").last ?? ""
        let times = lines.split(separator: "\n").compactMap { $0.split(separator: " ").first }
        #expect(times == times.sorted())
    }

    @Test(.timeLimit(.minutes(30)))
    func `of an unknown id guesses nothing`() throws {
        let simulator = try RunningSimulator(["--customers", "3", "--drift", "0", "--seed", "11"])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let result = try place.run("explain", "4711")
        #expect(result.status == 65)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("trueup knows nothing of 4711"), "\(result.errors)")
    }
}
