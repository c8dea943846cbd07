/// What a run found, counted once and kept when the lists of its report are past their retention.
package struct RunFigures: Hashable, Sendable, Codable {
    /// Findings by kind.
    package var kinds: [String: Int]
    package var money: [MoneyTotal]

    package init(kinds: [String: Int], money: [MoneyTotal]) {
        self.kinds = kinds
        self.money = money
    }
}

/// A run of the same job and mode that began before another one, for the history in its report.
package struct EarlierRun: Hashable, Sendable {
    package var runID: String
    package var started: Timestamp
    /// `nil` where the process was killed.
    package var exitStatus: ExitStatus?
    /// Whether only a part of the job was to be judged.
    package var isNarrowed: Bool
    package var totals: RunTotals
    /// All calls to Apple.
    package var calls: Int
    package var coverage: RunCoverage?
    /// `nil` for runs of versions that did not keep them.
    package var figures: RunFigures?
    /// Calls to Apple by endpoint.
    package var callsByEndpoint: [String: Int] = [:]
    /// `nil` for runs of versions that did not measure them.
    package var measures: RunMeasures?

    package init(
        runID: String, started: Timestamp, exitStatus: ExitStatus?, isNarrowed: Bool,
        totals: RunTotals, calls: Int, coverage: RunCoverage? = nil, figures: RunFigures? = nil
    ) {
        self.runID = runID
        self.started = started
        self.exitStatus = exitStatus
        self.isNarrowed = isNarrowed
        self.totals = totals
        self.calls = calls
        self.coverage = coverage
        self.figures = figures
    }
}
