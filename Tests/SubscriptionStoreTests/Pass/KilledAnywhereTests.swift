import SubscriptionStore
import Subscriptions
import Testing

/// Invariant: killed at any instant, the next run ends in the same state as an uninterrupted one.
@Suite struct `Killed anywhere` {
    private static let ids = ["1", "2", "3", "4", "5"]

    /// The steps of a night; a run that goes on does again what is not settled.
    private static let steps: [@Sendable (Night) async throws -> Void] = [
        { night in
            for id in try await night.ids() where ["1", "2"].contains(id) {
                try await night.stage(drift(id), through: id)
            }
        },
        { night in try await night.stage(outcome("1", .match), missing("9")) },
        { night in
            for id in try await night.ids() where ["3", "4", "5"].contains(id) {
                try await night.stage(
                    id == "4" ? drift(id) : outcome(id, .match), through: id)
            }
        },
        { night in try await take(1, night) },
        { night in try await take(2, night) },
        { night in try await night.apply() },
        { night in try await night.conclude() },
    ]

    private static func take(_ count: Int, _ night: Night) async throws {
        _ = try await night.store.applyPlanned(
            limit: count, in: night.pass, run: night.run, at: night.run.started)
    }

    private func state(_ database: TemporaryDatabase) throws -> [[String]] {
        try database.rows("SELECT * FROM subscriptions")
            + database.rows("SELECT entry, original_transaction_id, changes FROM trueup_ledger")
            + database.rows("SELECT finding_id, state FROM trueup_findings")
            + database.rows("SELECT verdict, reason, rows FROM trueup_run_totals")
    }

    /// Runs nights that are killed after the given numbers of steps, then one that is not.
    private func run(killedAfter kills: [Int]) async throws -> [[String]] {
        let database = try TemporaryDatabase()
        do {
            let store = try database.open()
            try store.load(Self.ids.map { subscription($0) })
        }
        for (number, kill) in (kills + [Self.steps.count]).enumerated() {
            let store = try database.open()
            let night = try await Night.begin(store, Night.header("run-\(number)"))
            for step in Self.steps.prefix(kill) { try await step(night) }
            try store.close()
        }
        return try state(database)
    }

    @Test func `after any step, once or twice`() async throws {
        let expected = try await run(killedAfter: [])
        #expect(expected.count > 10)
        for first in 0..<(Self.steps.count - 1) {
            #expect(try await run(killedAfter: [first]) == expected, "killed after \(first)")
            let second = Self.steps.count - 2 - first / 2
            #expect(
                try await run(killedAfter: [first, second]) == expected,
                "killed after \(first) and \(second)")
        }
    }

    /// The trigger makes the last transaction of a conclusion fail, as a kill would.
    @Test func `in the middle of its conclusion`() async throws {
        let expected = try await run(killedAfter: [])
        let database = try TemporaryDatabase()
        do {
            let store = try database.open()
            try store.load(Self.ids.map { subscription($0) })
            let night = try await Night.begin(store, Night.header("run-0"))
            for step in Self.steps.dropLast() { try await step(night) }
            try database.execute(
                """
                CREATE TRIGGER fault BEFORE UPDATE ON trueup_runs
                BEGIN SELECT RAISE(ABORT, 'killed'); END
                """)
            await #expect(throws: StoreError.self) { try await night.conclude() }
            try database.execute("DROP TRIGGER fault")
            try store.close()
        }
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-1"))
        for step in Self.steps { try await step(night) }
        #expect(try state(database) == expected)
    }

    /// A run that starts too late to resume the killed one still asks what that one owed.
    @Test func `in the middle of its conclusion, and resumed by no run`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(Self.ids.map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-0"))
        for id in try await night.ids() where id != "3" {
            try await night.stage(outcome(id, .match), through: id)
        }
        var (drifted, absent) = (drift("3"), missing("9"))
        drifted.corrections = []
        absent.corrections = []
        try await night.stage(drifted, absent)
        try database.execute(
            """
            INSERT OR REPLACE INTO trueup_agenda (
                bundle_id, environment, original_transaction_id, reason, turn, since)
            SELECT bundle_id, environment, original_transaction_id, 0, 0, 0 FROM trueup_pass_rows
            WHERE original_transaction_id IN ('3', '9')
            """)
        try database.execute(
            """
            CREATE TRIGGER fault BEFORE UPDATE ON trueup_runs
            BEGIN SELECT RAISE(ABORT, 'killed'); END
            """)
        await #expect(throws: StoreError.self) { try await night.conclude() }
        try database.execute("DROP TRIGGER fault")
        let agenda = "SELECT original_transaction_id FROM trueup_agenda ORDER BY 1"
        // What has no correction was taken off; the findings are not remembered.
        #expect(try database.rows(agenda).isEmpty)
        var late = Night.header("run-1")
        late.started = late.started.adding(milliseconds: 25 * Milliseconds.perHour)
        _ = try await Night.begin(store, late)
        #expect(try database.rows(agenda) == [["3"], ["9"]])
    }
}
