/// One night as it went.
struct NightRecord: Codable {
    var night: Int
    var seconds: Double
    var status: Int32
    /// Requests by endpoint, as the simulated App Store counted them.
    var calls: [String: Int]
    var rows: Int
    var differingBefore: Int
    var differingAfter: Int
    /// Rows that the run changed.
    var corrected: Int
    /// Values that the run wrote and that are not Apple's.
    var falseCorrections: Int
    /// What the run itself says, where it says it.
    var coverage: DaySummary.Coverage?
    /// Differing rows that no reason but the sample could have found: those left, and the
    /// sample's own.
    var unnoticed: Int
    /// Whether the stated bound is no smaller than that; `nil` where none is stated.
    var boundHolds: Bool?

    var allCalls: Int { calls.values.reduce(0, +) }

    enum CodingKeys: String, CodingKey {
        case night, seconds, status, calls, rows, corrected, coverage, unnoticed
        case differingBefore = "differing_before"
        case differingAfter = "differing_after"
        case falseCorrections = "false_corrections"
        case boundHolds = "bound_holds"
    }
}

/// All nights of one job.
struct JobRecord: Codable {
    var coverage: String
    /// From the second night on: the first one asks about everybody in any case.
    var callsANight = 0.0
    /// The same nights; `nil` where nothing was corrected.
    var callsPerCorrection: Double?
    var falseCorrections = 0
    var nights: [NightRecord] = []
    var drift: [String: ClassOutcome] = [:]

    init(coverage: String) { self.coverage = coverage }

    /// Sums up the nights.
    mutating func summarize() {
        let later = nights.dropFirst()
        let calls = Double(later.reduce(0) { $0 + $1.allCalls })
        let corrected = later.reduce(0) { $0 + $1.corrected }
        callsANight = later.isEmpty ? 0 : calls / Double(later.count)
        callsPerCorrection = corrected > 0 ? calls / Double(corrected) : nil
        falseCorrections = nights.reduce(0) { $0 + $1.falseCorrections }
    }

    enum CodingKeys: String, CodingKey {
        case coverage, nights, drift
        case callsANight = "calls_a_night"
        case callsPerCorrection = "calls_per_correction"
        case falseCorrections = "false_corrections"
    }
}

/// The whole rehearsal; `rehearsal.json`.
struct RehearsalRecord: Codable {
    var customers: Int
    var seed: UInt64
    var rows: Int
    var naive: JobRecord
    var delta: JobRecord
    /// How many times fewer calls a night, from the second night on.
    var saving: Double
    /// The goals that were missed, one sentence each.
    var missedGoals: [String] = []

    init(options: RehearsalOptions, naive: JobRecord, delta: JobRecord) {
        customers = options.customers
        seed = options.seed
        rows = delta.nights.last?.rows ?? 0
        self.naive = naive
        self.delta = delta
        saving = delta.callsANight > 0 ? naive.callsANight / delta.callsANight : 0
        missedGoals = RehearsalGoals.missed(by: self)
    }

    enum CodingKeys: String, CodingKey {
        case customers, seed, rows, naive, delta, saving
        case missedGoals = "missed_goals"
    }
}
