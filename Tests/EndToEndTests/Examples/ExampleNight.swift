import Foundation
import TestSupport
import Testing

/// A night over our own table, and the same over the tables of the examples.
struct ExampleNight {
    /// The rows of a table by the value that no correction changes, each value as the database has it.
    typealias Snapshot = [String: [String: String]]

    let job: String
    let simulator: RunningSimulator
    let rows: [SeedRow]
    let ours: Workplace

    /// Runs the job on our own table.
    init(_ job: String) throws {
        self.job = job
        simulator = try RunningSimulator(["--customers", "75", "--drift", "0.2", "--seed", "5"])
        rows = try SeedRow.all(
            of: #require(simulator.ready.tableFile), isBare: job == "backfill")
        ours = try Self.place(on: simulator, job)
        try #require(ours.run("init").status == 0)
        try ours.folder.write(SeedRow.file(of: rows), to: "rows.csv")
        try #require(ours.run("import", "rows.csv").status == 0)
        let run = try ours.run("run", job)
        try #require(run.status == 2, "\(run.errors)")
    }

    private static func place(on simulator: RunningSimulator, _ job: String) throws -> Workplace {
        let place = try Workplace(on: simulator)
        try place.writeJob("backfill", steps: "[walk]")
        return place
    }

    /// Where the job runs on an example's table.
    func place(
        for example: MappingExample, url: String, books: String = "books: sqlite:trueup.sqlite"
    ) throws -> Workplace {
        let place = try Self.place(on: simulator, job)
        try place.folder.write(
            "apps:\n" + simulator.appYAML() + example.store(url: url, books: books)
                + "report:\n  directory: reports\n", to: "trueup.yaml")
        try #require(place.run("init").status == 0)
        return place
    }

    /// Runs the job on an example's table, and compares with our own.
    func compare(
        _ example: MappingExample, in place: Workplace, _ table: () throws -> Snapshot
    ) throws {
        let before = try table()
        let run = try place.run("run", job)
        try #require(run.status == 2, "\(example.name): \(run.errors)")

        let judgement = ExampleJudgement(example: example, otherApps: otherApps)
        let expected = try judgement.corrections(of: ours, isReference: true)
        try #require(!expected.isEmpty)
        let written = try judgement.corrections(of: place)
        #expect(written == expected, "\(example.name) \(job)")
        let findings = try judgement.findings(of: place)
        #expect(
            try findings == judgement.findings(of: ours, isReference: true),
            "\(example.name) \(job)")

        let after = try table()
        let corrected = try Set(
            place.reportLines("corrections.jsonl").compactMap {
                $0["original_transaction_id"] as? String
            })
        for (identity, row) in before {
            guard let now = after[identity] else {
                Issue.record("\(example.name): the row \(identity) is gone")
                continue
            }
            let isCorrected = corrected.contains(row[example.original] ?? "")
            let written = isCorrected ? example.written : []
            for (column, value) in row where !written.contains(column) {
                #expect(now[column] == value, "\(example.name) \(identity) \(column)")
            }
        }
        #expect(example.takesInserts || after.count == before.count, "\(example.name)")
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)")
        let again = try place.run("run", job)
        #expect(again.status == 2, "\(again.errors)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty, "\(example.name) \(job)")
        #expect(try table() == after, "\(example.name) \(job)")
    }

    /// Rows of another app, which a table of one app cannot tell apart.
    private var otherApps: Set<String> {
        Set(
            rows.filter { $0["bundle_id"] != simulator.ready.bundleID }
                .map { $0["original_transaction_id"] })
    }
}

/// What two runs found and wrote, of the columns that an example keeps and in the forms that it has.
struct ExampleJudgement {
    let example: MappingExample
    let otherApps: Set<String>

    /// - Parameters:
    ///   - place: Where the run was.
    ///   - isReference: Whether it was on our own table, which can hold what the example cannot.
    /// - Returns: A line for each value.
    /// - Throws: When there is no such report.
    func corrections(of place: Workplace, isReference: Bool = false) throws -> Set<String> {
        var lines: Set<String> = []
        for line in try place.reportLines("corrections.jsonl") {
            let id = text(line["original_transaction_id"])
            let action = text(line["action"])
            guard text(line["table"]) == "subscriptions", isCompared(id) else { continue }
            if isReference, action == "insert", !example.takesInserts { continue }
            if isReference, wouldNotBeLatest(line) { continue }
            let before = line["before"] as? [String: Any] ?? [:]
            for (field, value) in line["after"] as? [String: Any] ?? [:]
            where example.kept.contains(field) {
                if isReference, example.readOnly.contains(field) { continue }
                let was = kept(before[field], in: field)
                let becomes = kept(value, in: field)
                guard was != becomes else { continue }
                lines.insert("\(id) \(action) \(field): \(was) → \(becomes)")
            }
        }
        return lines
    }

    /// What was found; a kind of finding is compared only where the company's words tell it apart.
    func findings(of place: Workplace, isReference: Bool = false) throws -> Set<String> {
        let refused = try Set(
            place.reportLines("corrections.jsonl").filter(wouldNotBeLatest)
                .map { text($0["original_transaction_id"]) })
        var lines: Set<String> = []
        for line in try place.reportLines("discrepancies.jsonl") {
            let id = text(line["original_transaction_id"])
            let field = text(line["field"])
            guard isCompared(id), field.isEmpty || example.kept.contains(field) else { continue }
            let local = kept(line["local_value"], in: field)
            let apple = kept(line["apple_value"], in: field)
            guard field.isEmpty || local != apple else { continue }
            var action = text(line["action"])
            if isReference, !example.takesInserts, action == "inserted" { action = "refused" }
            if isReference, example.readOnly.contains(field), action == "corrected" {
                action = "none"
            }
            if isReference, refused.contains(id), action == "corrected" { action = "refused" }
            let kind = example.statuses.isEmpty ? text(line["kind"]) : ""
            lines.insert("\(id) \(kind) \(field): \(local), \(apple): \(action)")
        }
        return lines
    }

    /// Whether a correction would be a further row of a transaction that ends no later than the one
    /// that stands, so that the wrong one would still count.
    private func wouldNotBeLatest(_ line: [String: Any]) -> Bool {
        let before = line["before"] as? [String: Any] ?? [:]
        let after = line["after"] as? [String: Any] ?? [:]
        guard example.hasRowsOfTransactions, text(line["action"]) == "update",
            after["latest_transaction_id"] != nil
        else { return false }
        return after["expires_date"] == nil
            || text(after["expires_date"]) <= text(before["expires_date"])
    }

    private func isCompared(_ id: String) -> Bool {
        !example.isOfOneApp || !otherApps.contains(id)
    }

    /// A value as the example reads it back.
    private func kept(_ value: Any?, in field: String) -> String {
        let text = text(value)
        if field == "status" { return example.statuses[text] ?? text }
        let isCut = ["expires_date", "revocation_date"].contains(field) && example.keepsSeconds
        return isCut ? String(text.prefix(19)) : text
    }

    private func text(_ value: Any?) -> String {
        guard let value, !(value is NSNull) else { return "" }
        return "\(value)"
    }
}
