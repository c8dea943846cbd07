import Foundation
import TestSupport
import Testing

/// Commands one after another in an order of chance, as schedules and people mix them over weeks:
/// whatever came before, the reports stay intact, and one full scan brings every row to Apple's word.
@Suite(.timeLimit(.minutes(30))) struct `Commands in turns` {
    private static let job = """
        history: always
        settle: 0s
        fail_on: none
        max_outage: 2s
        guards: {max_changes: 2000, max_change_share: 1, max_same_direction_share: 1,
          max_own_fault: none, max_excluded_share: 1, max_not_found_share: 1, max_shrink_share: 1}

        """

    private enum Step: CaseIterable {
        case nightly, full, some, plan, killed, undo, export, erase, delete, change, outage
    }

    /// A place whose clock of runs and of Apple is moved on by the test.
    private struct Weeks {
        let place: Workplace
        var now = Date(timeIntervalSince1970: 1_741_575_600)
        var random: SeededGenerator

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            let simulator = try RunningSimulator([
                "--customers", "25", "--drift", "0", "--seed", "\(seed)",
                "--now", now.ISO8601Format(),
            ])
            place = try Workplace(on: simulator)
            try place.folder.write(Commands.job, to: "jobs/nightly.yaml")
            try place.folder.write(Commands.job + "coverage: full\n", to: "jobs/full.yaml")
            try #require(place.run("init", "-q").status == 0)
            let table = try #require(simulator.ready.tableFile)
            try #require(place.run("import", table).status == 0)
        }

        var time: [String] { ["--now", now.ISO8601Format()] }

        mutating func pass() async throws {
            now += Double([400, 3600, 86_400, 86_400, 259_200].randomElement(using: &random) ?? 0)
            try await place.simulator.control(
                "/_simulator/advance", method: "POST", body: "{\"to\": \"\(now.ISO8601Format())\"}")
        }

        func answer(with fault: String) async throws {
            try await place.simulator.control(
                "/_simulator/faults", method: "POST", body: "{\"faults\": [\(fault)]}")
        }

        /// Some rows of the table, for a statement of SQL.
        func rows(_ count: Int) -> String {
            """
            original_transaction_id IN (SELECT original_transaction_id FROM subscriptions
                ORDER BY substr(original_transaction_id * \(now.timeIntervalSince1970), -6)
                LIMIT \(count))
            """
        }

        mutating func take(_ step: Step) async throws {
            switch step {
            case .nightly: try place.run(["run", "nightly"] + time)
            case .full: try place.run(["run", "full"] + time)
            case .some: try place.run(["run", "full", "--limit", "7"] + time)
            case .plan:
                try place.run(["check", "full"] + time)
                try place.sql("UPDATE subscriptions SET status = 5 WHERE \(rows(1))")
                try place.run("apply", "reports/latest", "--dry-run")
                try place.run("apply", "reports/latest")
            case .killed:
                let running = try BuiltExecutable("trueup").start(
                    ["run", "full"] + time, in: place.folder.url)
                usleep(.random(in: 100_000...900_000, using: &random))
                running.send(signal: [SIGKILL, SIGTERM].randomElement(using: &random) ?? SIGKILL)
                _ = running.wait()
            case .undo:
                let runs = try place.stored(
                    "SELECT run_id FROM trueup_runs WHERE mode = 'apply' AND ended IS NOT NULL")
                guard let run = runs.randomElement(using: &random)?.first else { return }
                try place.run("undo", run, "--execute")
            case .export:
                try place.folder.write(place.run("export").output, to: "rows.csv")
                try place.run("import", "rows.csv")
            case .erase:
                let customers = try place.stored(
                    "SELECT DISTINCT customer_id FROM subscriptions WHERE customer_id <> ''")
                guard let customer = customers.randomElement(using: &random)?.first else { return }
                try place.run("erase", customer, "--execute")
            case .delete: try place.sql("DELETE FROM subscriptions WHERE \(rows(2))")
            case .change:
                let changes = [
                    "status = 2", "expires_date = expires_date - 86400000", "product_id = NULL",
                    "latest_transaction_id = NULL", "revocation_date = 1",
                ]
                let change = changes.randomElement(using: &random) ?? "status = 2"
                try place.sql("UPDATE subscriptions SET \(change) WHERE \(rows(3))")
            case .outage:
                let endpoint = ["history", "statuses"].randomElement(using: &random) ?? "history"
                try await answer(
                    with: #"{"endpoint": "\#(endpoint)", "fault": "status", "status": 503}"#)
                try place.run(["run", "nightly"] + time)
                try await answer(with: "")
            }
        }
    }

    private typealias Commands = `Commands in turns`

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `leave intact reports, and rows that a full scan makes true`(seed: UInt64) async throws {
        var weeks = try Weeks(seed: seed)
        let place = weeks.place
        var taken: [Step] = []
        // Every step at least once, in an order of chance, and after those of another order.
        let steps =
            Step.allCases.shuffled(using: &weeks.random)
            + Step.allCases.shuffled(using: &weeks.random)
        for step in steps {
            try await weeks.pass()
            try await weeks.take(step)
            taken.append(step)
            guard try !place.stored("SELECT 1 FROM trueup_runs").isEmpty else { continue }
            let verified = try place.run("verify", "--database")
            try #require(verified.status == 0, "\(taken)\n\(verified.output)\(verified.errors)")
        }
        try await weeks.pass()
        let last = try place.run(["run", "full"] + weeks.time)
        #expect(last.status == 0, "\(taken)\n\(last.output)\(last.errors)")
        // Apple's clock stands still, so nothing is new.
        weeks.now += 60
        let check = try place.run(["check", "full"] + weeks.time)
        #expect(check.status == 0, "\(taken)\n\(check.output)\(check.errors)")
        let totals = try #require(try place.summary()["totals"] as? [String: Any])
        #expect(totals["discrepant"] as? Int == 0, "\(taken)\n\(check.output)")
        #expect(totals["undecided"] as? Int == 0, "\(taken)\n\(check.output)")
        #expect(totals["matched"] as? Int == totals["in_scope"] as? Int, "\(taken)")
        #expect(try #require(totals["in_scope"] as? Int) > 20)
    }
}
