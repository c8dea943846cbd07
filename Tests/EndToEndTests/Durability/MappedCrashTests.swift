import Foundation
import GRDB
import TestSupport
import Testing

/// A job that corrects a company's own SQLite file is killed, or a disk fills, at the durable steps of
/// that file and at some of its other steps; the next run ends where an undisturbed one ends.
///
/// `TRUEUP_EVERY_STEP=1` tries every step and not only some.
@Suite(.timeLimit(.minutes(30))) struct `Between a company's own file and the books` {
    private static let company = "shop.sqlite"
    private static let stepsTried = 4

    private let steps: DurableSteps

    init() throws {
        steps = try DurableSteps()
    }

    /// A night and what it leaves behind where nothing disturbs it.
    private struct Night {
        let night: MappedNight
        let state: MappedState
        let status: Int32
        /// Syncs, renames and removals of the company's files.
        let companySteps: Int

        var origin: PreparedPlace { night.prepared }
    }

    private func undisturbed(_ journal: String) throws -> Night {
        let night = try MappedNight(customers: 6, url: "sqlite:\(Self.company)")
        let path = night.place.folder.url.appendingPathComponent(Self.company).path
        let shop = try DatabaseQueue(path: path)
        try shop.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = \(journal)")
            try db.execute(sql: night.sql(for: .sqlite))
        }
        try shop.close()
        let copy = try night.prepared.copy()
        defer { copy.remove() }
        let (count, result) = try steps.count(
            .sync, at: Self.company, of: MappedNight.command, in: copy.folder)
        try #require([0, 2].contains(result.status), "\(result.errors)")
        let state = try state(of: copy)
        try #require(!state.ledgerThere.isEmpty && !state.told.isEmpty)
        try #require(!state.entitlementsThere.isEmpty)
        #expect(!state.isAhead("undisturbed"))
        return Night(
            night: night, state: state, status: result.status, companySteps: count)
    }

    private func state(of place: PreparedPlace) throws -> MappedState {
        let path = place.folder.appendingPathComponent(Self.company).path
        let shop = try DatabaseQueue(path: path)
        defer { try? shop.close() }
        return try shop.read { db in
            try MappedState(
                of: place,
                table: MappedState.lines(db, MappedState.rows)
                    + MappedState.lines(db, MappedState.orders),
                entitlements: MappedState.lines(db, MappedState.entitlements(in: "rights")),
                ledger: db.tableExists("trueup_corrections")
                    ? MappedState.lines(
                        db, "SELECT entry, digest FROM trueup_corrections ORDER BY entry") : [])
        }
    }

    @Test(arguments: ["delete", "wal"])
    func `a killed night is finished by the next one`(journal: String) throws {
        let night = try undisturbed(journal)
        var wereAhead = 0
        for step in 1...night.companySteps {
            let when = "killed behind step \(step) of \(night.companySteps) (\(journal))"
            let isAhead = try disturb(night, when, [137]) { folder in
                try steps.disturbed(
                    by: .kill, after: step, at: Self.company, MappedNight.command, in: folder)
            }
            wereAhead += isAhead ? 1 : 0
        }
        // Where the company's database had committed and the books had not.
        #expect(wereAhead > 0)
        let copy = try night.origin.copy()
        defer { copy.remove() }
        let all = try steps.count(.sync, of: MappedNight.command, in: copy.folder).steps
        for step in Self.some(of: all) {
            try disturb(night, "killed at step \(step) of \(all) (\(journal))", [137]) { folder in
                try steps.killed(at: step, MappedNight.command, in: folder)
            }
        }
    }

    @Test func `a disk of the books that fills behind the company's commit loses nothing`() throws {
        let night = try undisturbed("delete")
        var wereAhead = 0
        let last = night.companySteps
        for step in max(1, last - Self.stepsTried + 1)...last {
            let isAhead = try disturb(night, "full behind step \(step) of \(last)", [73, 74]) {
                folder in
                let full = try steps.disturbed(
                    by: .full, after: step, at: Self.company, MappedNight.command, in: folder)
                let said = full.output + full.errors
                #expect(full.status == night.status || said.contains("full"), "\(said)")
                return full
            }
            wereAhead += isAhead ? 1 : 0
        }
        #expect(wereAhead > 0)
    }

    @Test func `a disk of the company's that fills leaves its rows as they were`() throws {
        let night = try undisturbed("delete")
        let copy = try night.origin.copy()
        defer { copy.remove() }
        let all = try steps.count(
            .write, at: Self.company, of: MappedNight.command, in: copy.folder
        ).steps
        for step in Self.some(of: all) {
            try disturb(night, "full at step \(step) of \(all)", [74]) { folder in
                try steps.withFullDisk(
                    from: step, at: Self.company, MappedNight.command, in: folder)
            }
        }
    }

    /// Steps from a seed, one of each part of a run.
    private static func some(of all: Int) -> [Int] {
        guard ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] == nil else {
            return Array(1...max(1, all))
        }
        var generator = SeededGenerator(seed: 16)
        let width = max(1, all / stepsTried)
        return stride(from: 1, through: all, by: width).map {
            Int.random(in: $0...min(all, $0 + width - 1), using: &generator)
        }
    }

    /// Disturbs a night, looks at what is left, and runs it again.
    ///
    /// - Returns: Whether the books lacked something that the company's database has.
    @discardableResult
    private func disturb(
        _ night: Night, _ when: String, _ statuses: [Int32],
        _ run: (URL) throws -> BuiltExecutable.Result
    ) throws -> Bool {
        let copy = try night.origin.copy()
        defer { copy.remove() }
        let disturbed = try run(copy.folder)
        // Which steps there are can differ by a few from run to run.
        #expect(
            (statuses + [night.status]).contains(disturbed.status),
            "\(when): \(disturbed.status) \(disturbed.errors)")
        let isAhead = try state(of: copy).isAhead(when)
        let again = try copy.run(MappedNight.command)
        #expect([0, night.status].contains(again.status), "\(when): \(again.errors)")
        let differences = try state(of: copy).differences(from: night.state)
        #expect(differences.isEmpty, "\(when): \(differences)")
        let verified = try copy.run(["verify", "--database"])
        #expect(verified.status == 0, "\(when): \(verified.output)\(verified.errors)")
        return isAhead
    }
}
