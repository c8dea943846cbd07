import Foundation
import TestSupport
import Testing

/// The process is killed, or the disk fills, at every durable step of a command; whoever runs the
/// command again ends where an undisturbed run ends.
///
/// Of a kill every third step is tried, of a disk that fills one in so many, and from day to day others:
/// all come around. `TRUEUP_EVERY_STEP=1` tries them all at once.
@Suite struct `At every durable step` {
    private let steps: DurableSteps
    private static let stepsOfFullDisk = 16
    private static let isThorough =
        ProcessInfo.processInfo.environment["TRUEUP_EVERY_STEP"] != nil

    /// The steps of today.
    private static func sample(of total: Int, every stride: Int) -> StrideThrough<Int> {
        let stride = isThorough ? 1 : max(1, stride)
        let day = Int(Date().timeIntervalSince1970) / 86_400
        return Swift.stride(from: 1 + day % stride, through: total, by: stride)
    }

    init() throws {
        steps = try DurableSteps()
    }

    /// A database with planted drift and missed notifications, and the simulator that answers.
    private func prepared() throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "6", "--drift", "0.6", "--seed", "5",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        return place
    }

    private func imported() throws -> Workplace {
        let place = try prepared()
        let table = try #require(place.simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        return place
    }

    @Test(.timeLimit(.minutes(30)))
    func `a killed import loads all of a file or nothing, and the next one the rest`() throws {
        let place = try prepared()
        let table = try #require(place.simulator.ready.tableFile)
        try killEverywhere(["import", table], in: place) { killed, undisturbed in
            #expect(killed.rows.isEmpty || killed.rows == undisturbed.rows)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a killed run is finished by the next one`() throws {
        let place = try imported()
        try killEverywhere(["run", "nightly"], in: place) { killed, _ in
            // Row and ledger entry are written together or not at all.
            #expect(killed.ledger.count == killed.ledgerNumbers.count)
            #expect(killed.ledgerNumbers == Array(1..<(killed.ledgerNumbers.count + 1)))
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a killed apply is finished by giving it again`() throws {
        let place = try imported()
        #expect(try place.run("check", "nightly").status == 2)
        // The link `latest` moves with every run: the plan is named by its own folder.
        let plan = try FileManager.default.destinationOfSymbolicLink(
            atPath: place.folder.url.appendingPathComponent("reports/latest").path)
        try killEverywhere(["apply", "reports/" + plan], in: place) { killed, _ in
            #expect(killed.ledgerNumbers == Array(1..<(killed.ledgerNumbers.count + 1)))
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a killed undo is finished by giving it again`() throws {
        let place = try imported()
        #expect(try [0, 2].contains(place.run("run", "nightly").status))
        let run = try FileManager.default.destinationOfSymbolicLink(
            atPath: place.folder.url.appendingPathComponent("reports/latest").path)
        let runID = try #require(run.split(separator: "/").last)
        try killEverywhere(["undo", String(runID), "--execute"], in: place) { killed, _ in
            #expect(killed.ledgerNumbers == Array(1..<(killed.ledgerNumbers.count + 1)))
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a disk that fills during a run gives 74 and loses nothing`() throws {
        let place = try imported()
        try fillEverywhere(["run", "nightly"], in: place)
    }

    @Test(.timeLimit(.minutes(30)))
    func `a disk that fills during an import gives 74 and loses nothing`() throws {
        let place = try prepared()
        let table = try #require(place.simulator.ready.tableFile)
        try fillEverywhere(["import", table], in: place)
    }

    /// Kills the command before each of its steps, looks at what is left, and runs it again.
    private func killEverywhere(
        _ command: [String], in place: Workplace,
        looking: (PreparedPlace.State, PreparedPlace.State) throws -> Void
    ) throws {
        let origin = PreparedPlace(folder: place.folder.url)
        let reference = try origin.copy()
        defer { reference.remove() }
        let (total, expected) = try steps.count(.sync, of: command, in: reference.folder)
        let undisturbed = try reference.state()
        #expect(total > 5)
        for step in Self.sample(of: total, every: 3) {
            let copy = try origin.copy()
            defer { copy.remove() }
            let killed = try steps.killed(at: step, command, in: copy.folder)
            // Which steps there are can differ by a few from run to run (a log that is cut off).
            guard killed.status == 137 else {
                #expect(killed.status == expected.status, "step \(step): \(killed.errors)")
                continue
            }
            try looking(try copy.state(), undisturbed)
            // No row is ever newer than what services read of it, once the table was filled in. A first
            // import fills it in behind its rows: until then entitlements are missing, and none is wrong.
            let isFilled = try copy.entitlementsAreFilled()
            #expect(
                try copy.entitlementProblems().allSatisfy { !isFilled && $0.hasSuffix(", NULL") },
                "killed at step \(step) of \(total)")
            let again = try copy.run(command)
            #expect(
                [expected.status, 0].contains(again.status),
                "after step \(step) of \(total): \(again.errors)")
            #expect(
                try copy.state().differences(from: undisturbed) == [],
                "after step \(step) of \(total)")
            #expect(try copy.entitlementProblems() == [], "after step \(step) of \(total)")
            try verify(copy, "after step \(step) of \(total)")
        }
    }

    /// Fills the disk at each step (or at some of them), looks at what is left, and runs it again.
    private func fillEverywhere(_ command: [String], in place: Workplace) throws {
        let origin = PreparedPlace(folder: place.folder.url)
        let before = try origin.state()
        let reference = try origin.copy()
        defer { reference.remove() }
        let (total, expected) = try steps.count(.write, of: command, in: reference.folder)
        let undisturbed = try reference.state()
        for step in Self.sample(of: total, every: total / Self.stepsOfFullDisk) {
            let copy = try origin.copy()
            defer { copy.remove() }
            let full = try steps.withFullDisk(from: step, command, in: copy.folder)
            #expect(
                [73, 74, expected.status].contains(full.status),
                "step \(step) of \(total): \(full.status) \(full.errors)")
            if full.status != expected.status {
                #expect(
                    ["full", "No space left"].contains(where: full.errors.contains),
                    "step \(step): \(full.errors)")
            }
            let left = try copy.state()
            #expect(left.rows.count >= before.rows.count)
            let again = try copy.run(command)
            #expect([expected.status, 0].contains(again.status), "\(again.errors)")
            #expect(
                try copy.state().differences(from: undisturbed) == [],
                "after step \(step) of \(total)")
            try verify(copy, "after step \(step) of \(total)")
        }
    }

    private func verify(_ place: PreparedPlace, _ when: String) throws {
        let reports = place.folder.appendingPathComponent("reports")
        guard FileManager.default.fileExists(atPath: reports.appendingPathComponent("latest").path)
        else { return }
        let verified = try place.run(["verify"])
        #expect(verified.status == 0, "\(when): \(verified.output)\(verified.errors)")
    }
}
