/// What a rehearsal must show; docs/delta.md gives the reasons.
enum RehearsalGoals {
    /// From so many customers on the saving counts: the sample does not shrink with the table.
    static let customersForSaving = 10_000
    static let leastSaving = 20.0
    /// `sweep_days` of the rehearsed job.
    static let sweepDays = 30
    static let sweepEndedDays = 180

    /// The goals that were missed, one sentence each.
    static func missed(by record: RehearsalRecord) -> [String] {
        var missed: [String] = []
        if record.customers >= customersForSaving, record.saving < leastSaving {
            missed.append(
                "\(tenths(record.saving)) times fewer calls, \(tenths(leastSaving)) wanted")
        }
        for (name, outcome) in record.delta.drift.sorted(by: { $0.key < $1.key }) {
            guard let kind = DriftClass(rawValue: name) else { continue }
            let days = longestDelay(of: kind)
            let late = (outcome.delays + outcome.open).filter { $0 > days }
            guard !late.isEmpty else { continue }
            let limit = days == 0 ? "the first night" : "\(days) nights"
            missed.append("drift of class \(name): \(late.count) not found within \(limit)")
        }
        for job in [record.naive, record.delta] {
            if job.falseCorrections > 0 {
                missed.append("coverage \(job.coverage): \(job.falseCorrections) false corrections")
            }
            for night in job.nights where night.status != 0 {
                missed.append(
                    "coverage \(job.coverage): night \(night.night) ended with \(night.status)")
            }
        }
        let stated = record.delta.nights.compactMap(\.boundHolds)
        let broken = stated.filter { !$0 }.count
        if broken * 20 > max(20, stated.count) {
            missed.append("the stated bound was too small on \(broken) of \(stated.count) nights")
        }
        return missed
    }

    private static func longestDelay(of kind: DriftClass) -> Int {
        switch kind {
        case .notification, .ownTable, .clock: 0
        case .silent: sweepDays
        case .silentEnded: sweepEndedDays
        }
    }

    static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
