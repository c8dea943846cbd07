import Foundation
import Subscriptions
import TestSupport

/// Runs the same nights with one job: the same customers, losses and mistakes for each job.
struct Rehearsal {
    let options: RehearsalOptions
    let coverage: String
    let nights: Int

    /// One notification in so many, and one a night at least, is not applied by the company.
    private static let lossOneIn = 50
    /// A mistake a night in each so many rows, and at least two.
    private static let rowsPerMistake = 4_000
    /// What changed so recently may be in flight (`settle`): no mistake is written there, and the
    /// company applies what it was told.
    private static let inFlightMilliseconds: Int64 = 60 * 60 * 1000

    func run() async throws -> JobRecord {
        let world = RehearsedWorld(
            customers: options.customers, nights: options.nights, seed: options.seed)
        let folder = try TemporaryFolder()
        let scenario = try folder.write(world.scenario, to: "scenario.yaml")
        let simulator = try RunningSimulator(
            [
                "--folder", folder.url.appendingPathComponent("appstore").path,
                "--scenario", scenario, "--seed", String(options.seed), "--drift", "0",
            ], executable: BuiltExecutable("appstore-simulator", in: options.programs))
        let store = RehearsedStore(simulator: simulator)
        try await store.liftLimits()
        var truth = try await store.truth()
        let company = try RehearsedCompany(
            store: simulator, job: job(rows: truth.rows.count),
            trueup: BuiltExecutable("trueup", in: options.programs))
        var record = JobRecord(coverage: coverage)
        var watch = DriftWatch()
        guard var now = Timestamp(rfc3339: RehearsedWorld.start) else { return record }
        for night in 1...nights {
            let before = now
            now = now.adding(milliseconds: Milliseconds.perDay)
            try await store.advance(to: now)
            let notified = try await store.notified(after: before, until: now)
            let next = try await store.truth()
            let day = try spoil(
                company, from: truth, to: next, notified: notified, night: night, now: now)
            truth = next
            let table = try company.table()
            watch.beforeRun(
                night: night, at: now, differing: table.differing(from: truth),
                missed: day.missed, mistaken: day.mistaken, table: table)
            try await store.forgetRequests()
            let begun = ContinuousClock.now
            let result = try company.run(at: now)
            let seconds = begun.duration(to: .now) / .seconds(1)
            let after = try company.table()
            let left = after.differing(from: truth)
            watch.afterRun(night: night, differing: left)
            let coverage = try? company.summary().coverage
            let unnoticed = left.count + (coverage?.sample?.differ ?? 0)
            record.nights.append(
                NightRecord(
                    night: night, seconds: seconds, status: result.status,
                    calls: try await store.requests(), rows: after.rows.count,
                    differingBefore: table.differing(from: truth).count,
                    differingAfter: left.count, corrected: after.differing(from: table).count,
                    falseCorrections: Self.falseCorrections(from: table, to: after, truth: truth),
                    coverage: coverage, unnoticed: unnoticed,
                    boundHolds: coverage?.sample?.bound.map { $0 >= unnoticed }))
            progress(record.nights.last, result)
        }
        watch.end(night: nights)
        record.drift = Dictionary(
            uniqueKeysWithValues: watch.outcomes.map { ($0.key.rawValue, $0.value) })
        record.summarize()
        return record
    }

    private func progress(_ night: NightRecord?, _ result: BuiltExecutable.Result) {
        guard let night else { return }
        var line = "coverage \(coverage), night \(night.night): \(night.allCalls) calls,"
        line += " \(night.corrected) corrected, \(night.differingAfter) left,"
        line += " \(RehearsalGoals.tenths(night.seconds)) s\n"
        if night.status != 0 { line += result.output + result.errors }
        FileHandle.standardError.write(Data(line.utf8))
    }

    private func job(rows: Int) -> String {
        var lines = [
            "coverage: \(coverage)", "fail_on: none",
            "guards: {max_changes: 1000000, max_change_share: 1, max_same_direction_share: 1, "
                + "max_own_fault: none}",
        ]
        if coverage == "delta" {
            lines += [
                "sweep_days: \(RehearsalGoals.sweepDays)",
                "sweep_ended_days: \(RehearsalGoals.sweepEndedDays)",
                "sample: \(options.sampleShare(rows: rows))",
            ]
            let keys = options.jobLines.map { $0.prefix { $0 != ":" } }
            lines.removeAll { line in keys.contains(line.prefix { $0 != ":" }) }
            lines += options.jobLines
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A day in the company: most notifications are applied, some are not, and somebody errs.
    private func spoil(
        _ company: RehearsedCompany, from old: TableRows, to new: TableRows,
        notified: [String: Timestamp], night: Int, now: Timestamp
    ) throws -> (missed: Set<String>, mistaken: Set<String>) {
        var generator = SeededGenerator(seed: options.seed &* 1_000_003 &+ UInt64(night))
        // The company's app tells of a purchase itself.
        let told = new.differing(from: old).sorted().compactMap { id in
            (notified[id] ?? (old.rows[id] == nil ? now : nil)).map { (id: id, at: $0) }
        }
        let settled = now.adding(milliseconds: -Self.inFlightMilliseconds)
        let known = told.filter { old.rows[$0.id] != nil && $0.at < settled }.map(\.id)
        var missed = Set(
            known.filter { _ in Int.random(in: 0..<Self.lossOneIn, using: &generator) == 0 })
        // A small fleet misses something every night, too.
        if missed.isEmpty, let one = known.randomElement(using: &generator) { missed = [one] }
        let applied = told.filter { !missed.contains($0.id) }.compactMap { told in
            new.rows[told.id].map { Array($0.dropLast()) + [String(told.at.unixMilliseconds)] }
        }
        try company.write(applied)
        return (missed, try mistake(company, new, notified, now: now, &generator))
    }

    private func mistake(
        _ company: RehearsedCompany, _ truth: TableRows, _ notified: [String: Timestamp],
        now: Timestamp, _ generator: inout SeededGenerator
    ) throws -> Set<String> {
        let settled = now.adding(milliseconds: -Self.inFlightMilliseconds)
        // Where a row is wrong already, the mistake could be what stands there, or put it right.
        let wrong = try company.table().differing(from: truth)
        let ids = truth.rows.keys.filter { id in
            (notified[id] ?? .init(unixMilliseconds: 0)) < settled && !wrong.contains(id)
        }.sorted()
        let count = max(2, ids.count / Self.rowsPerMistake)
        let chosen = ids.shuffled(using: &generator).prefix(count)
        for (number, id) in chosen.enumerated() {
            switch number % 3 {
            case 0:
                let status = truth.value("status", of: id) == "1" ? "2" : "1"
                try company.write(status, to: "status", of: id)
            case 1:
                // Neither a whole number of hours nor a factor of 1,000, which guards look for.
                let end = Int64(truth.value("expires_date", of: id)) ?? 0
                try company.write(String(end + 3_200_407_000), to: "expires_date", of: id)
            default:
                let renews = truth.value("auto_renew_status", of: id) == "1" ? "0" : "1"
                try company.write(renews, to: "auto_renew_status", of: id)
            }
        }
        return Set(chosen)
    }

    /// Values that a run changed to something that is not Apple's.
    private static func falseCorrections(
        from before: TableRows, to after: TableRows, truth: TableRows
    ) -> Int {
        var count = 0
        for (id, row) in after.rows {
            let old = before.rows[id]
            let right = truth.rows[id]
            for column in TableRows.compared
            where row[column] != old?[column] && row[column] != right?[column] {
                count += 1
            }
        }
        return count
    }
}
