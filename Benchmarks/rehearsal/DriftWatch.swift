import Subscriptions

/// How a row came to differ from Apple, and so how soon it must be found.
enum DriftClass: String, Codable, CaseIterable {
    /// Apple sent a notification that the company did not apply: to be found the first night.
    case notification
    /// A mistake was written into the company's own table: to be found the first night.
    case ownTable = "own_table"
    /// Apple told nobody, and the end that our row states has passed: the first night after that.
    case clock
    /// Apple told nobody, and our row has not ended: within `sweep_days`.
    case silent
    /// The same about a row that has ended: within `sweep_ended_days`.
    case silentEnded = "silent_ended"

    var mustBeFoundFirstNight: Bool {
        switch self {
        case .notification, .ownTable, .clock: true
        case .silent, .silentEnded: false
        }
    }
}

/// What became of the drift of one class.
struct ClassOutcome: Codable {
    /// Rows that came to differ.
    var appeared = 0
    /// Of those: found and corrected by a run.
    var found = 0
    /// Of those: put right by a later notification or mistake before a run found them.
    var overtaken = 0
    /// Nights that ended with the row still wrong, for each found row; 0 is the first night.
    var delays: [Int] = []
    /// The same for the rows that are still wrong at the end.
    var open: [Int] = []

    /// Of `delays`, at the end; `nil` where nothing was found.
    var median: Int?
    var worst: Int?

    mutating func summarize() {
        delays.sort()
        median = delays.isEmpty ? nil : delays[delays.count / 2]
        worst = delays.last
    }
}

/// Follows every row that differs from Apple, from the night on which it came to differ.
struct DriftWatch {
    private struct Open {
        var kind: DriftClass
        var since: Int
    }

    private var open: [String: Open] = [:]
    private(set) var outcomes = Dictionary(
        uniqueKeysWithValues: DriftClass.allCases.map { ($0, ClassOutcome()) })

    /// Takes note of what differs before a run.
    ///
    /// `missed` are the rows whose notification the company did not apply since the last night,
    /// `mistaken` those into which a mistake was written.
    mutating func beforeRun(
        night: Int, at now: Timestamp, differing: Set<String>, missed: Set<String>,
        mistaken: Set<String>, table: TableRows
    ) {
        for id in open.keys where !differing.contains(id) { overtake(id) }
        for id in differing {
            let known = open[id]?.kind
            let kind: DriftClass =
                if mistaken.contains(id) {
                    .ownTable
                } else if missed.contains(id) {
                    .notification
                } else if let known, known.mustBeFoundFirstNight {
                    known
                } else {
                    Self.silentClass(of: id, in: table, at: now)
                }
            guard kind != known else { continue }
            if known != nil { overtake(id) }
            open[id] = Open(kind: kind, since: night)
            outcomes[kind]?.appeared += 1
        }
    }

    private mutating func overtake(_ id: String) {
        guard let drift = open.removeValue(forKey: id) else { return }
        outcomes[drift.kind]?.overtaken += 1
    }

    private static func silentClass(
        of id: String, in table: TableRows, at now: Timestamp
    ) -> DriftClass {
        let status = table.value("status", of: id)
        guard status == "1" || status == "4" else { return .silentEnded }
        let end =
            Int64(table.value("grace_period_expires_date", of: id))
            ?? Int64(table.value("expires_date", of: id))
        guard let end else { return .silent }
        return end <= now.unixMilliseconds ? .clock : .silent
    }

    /// Takes note of what a run has put right.
    mutating func afterRun(night: Int, differing: Set<String>) {
        for (id, drift) in open where !differing.contains(id) {
            outcomes[drift.kind]?.found += 1
            outcomes[drift.kind]?.delays.append(night - drift.since)
            open[id] = nil
        }
    }

    /// Counts what is still open after the last night, and sums up.
    mutating func end(night: Int) {
        for drift in open.values {
            outcomes[drift.kind]?.open.append(night + 1 - drift.since)
        }
        for kind in DriftClass.allCases { outcomes[kind]?.summarize() }
    }
}
