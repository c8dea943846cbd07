import RowFiles
import SubscriptionStore
import Subscriptions

/// The lines of a file that is being imported: what is taken, and what is wrong with the others.
struct ImportIntake {
    var log: BadLineLog
    let skipsBadRows: Bool
    /// Lines that were taken.
    private(set) var lines = 0
    /// What became of the rows.
    var counts = LoadCounts()

    init(log: BadLineLog, skipsBadRows: Bool) {
        self.log = log
        self.skipsBadRows = skipsBadRows
    }

    /// Loads a line, or notes what is wrong with it.
    mutating func take<Row: Sendable>(
        _ line: RowLine<Row>, in invocation: Invocation,
        _ add: (Row) throws -> LineOutcome
    ) throws {
        switch line {
        case .bad(let bad): try log.note(bad, in: invocation)
        case .row(let row, let number):
            switch try add(row) {
            case .accepted: lines += 1
            case .duplicateKey:
                try log.note(
                    BadLine(line: number, reason: "has the same key as an earlier line"),
                    in: invocation)
            }
        }
    }

    /// Refuses the file where it has bad lines, unless these are to be skipped.
    func refuse() throws(CommandFailure) {
        guard log.count > 0, !skipsBadRows else { return }
        try log.finish()
        throw log.refusal
    }
}

/// What an import says at its end.
struct ImportOutcome {
    let intake: ImportIntake
    let isDryRun: Bool

    init(_ intake: ImportIntake, isDryRun: Bool) {
        self.intake = intake
        self.isDryRun = isDryRun
    }

    /// The result in one line.
    var text: String {
        let counts = intake.counts
        let lines = "\(intake.lines) \(intake.lines == 1 ? "line" : "lines")"
        let changes =
            "\(counts.inserted) inserted, \(counts.updated) updated, "
            + "\(counts.unchanged) unchanged, \(counts.skippedAsOlder) skipped as older"
        guard isDryRun else { return "\(lines) loaded: \(changes)" }
        return "\(lines) would be loaded: \(changes). Nothing was written"
    }

    /// How many bad lines were left out; `nil` for none.
    var leftOut: String? {
        let bad = intake.log.count
        guard bad > 0 else { return nil }
        return "\(bad) bad \(bad == 1 ? "line" : "lines") \(isDryRun ? "would be " : "")left out"
    }

    var json: CanonicalJSON {
        let counts = intake.counts
        let members: [String: Int] = [
            "accepted": intake.lines, "inserted": counts.inserted, "updated": counts.updated,
            "unchanged": counts.unchanged, "skipped_as_older": counts.skippedAsOlder,
            "bad": intake.log.count,
        ]
        var object = members.mapValues { CanonicalJSON.integer(Int64($0)) }
        object["dry_run"] = .boolean(isDryRun)
        return .object(object)
    }
}
