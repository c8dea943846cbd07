import FoundationEssentials
import Reconciliation
import SubscriptionStore
import Subscriptions

/// The room that a run is expected to take in the database and in the report folder.
///
/// The figures were measured on a backfill, and on the runs after it, from ids alone.
package struct SpaceForecast: Hashable, Sendable {
    /// What decides how much a run writes.
    package struct Work: Sendable {
        /// Rows of which nothing is known yet: each is filled in.
        package var firstFills = 0
        /// Periods of each that are taken in: none where no history is read.
        package var periods = 0.0
        /// Other rows that are asked about; nearly all of them agree.
        package var known = 0
        /// Rows whose notifications are read for the first time, which are those of a month.
        package var firstRecovered = 0
        /// Whether nothing is written to rows: then there is no ledger, and no way back.
        package var isCheck = false
        /// What the last run that filled nothing in took; `nil` where there is none.
        package var lastReport: (bytes: Int64, questions: Int)?

        package init() {}
    }

    /// A row filled in: two payloads, the plan, the ledger and what is noted about the row.
    private static let databaseBytesOfFill = 6_200.0
    private static let reportBytesOfFill = 1_300.0
    /// A period: its payload, its row, the plan and the ledger.
    private static let databaseBytesOfPeriod = 3_550.0
    private static let reportBytesOfPeriod = 950.0
    /// What a check that would fill rows in takes of what the filling takes.
    private static let shareOfCheck = 0.6
    /// A row that agrees, and one in twenty that is corrected.
    private static let databaseBytesOfKnown = 600.0
    private static let reportBytesOfKnown = 400.0
    /// A month's notifications about a row.
    private static let bytesOfRecovered = 2_400.0
    /// The page, the workbook and the other files of every report.
    private static let reportBytes = 200_000.0

    package var databaseBytes: Int64
    package var reportBytes: Int64

    package init(of work: Work) {
        let fills = Double(max(0, work.firstFills)) * (work.isCheck ? Self.shareOfCheck : 1)
        let periods = fills * max(0, work.periods)
        let known = Double(max(0, work.known))
        let recovered = Double(max(0, work.firstRecovered)) * Self.bytesOfRecovered
        databaseBytes = Self.bytes(
            fills * Self.databaseBytesOfFill + periods * Self.databaseBytesOfPeriod
                + known * Self.databaseBytesOfKnown + recovered)
        var report = known * Self.reportBytesOfKnown + recovered
        if let last = work.lastReport, last.questions > 0 {
            report = max(0, Double(last.bytes) - Self.reportBytes) / Double(last.questions) * known
        }
        reportBytes = Self.bytes(
            Self.reportBytes + fills * Self.reportBytesOfFill + periods * Self.reportBytesOfPeriod
                + report)
    }

    /// Of both together.
    package var bytes: Int64 { databaseBytes &+ reportBytes }

    private static func bytes(_ count: Double) -> Int64 { Int64(min(1e18, max(0, count))) }
}

/// The free space of the disks that a run writes to, against what the jobs are expected to need.
struct SpaceChecks {
    let settings: Settings
    let jobs: [JobSettings]
    let now: Timestamp

    private struct Disk {
        let place: String
        let free: UInt64
        /// What it holds of ours.
        var database = false
        var reports = false

        func bytes(of forecast: SpaceForecast) -> UInt64 {
            UInt64(clamping: database ? forecast.databaseBytes : 0)
                + UInt64(clamping: reports ? forecast.reportBytes : 0)
        }
    }

    func diagnosis(of store: SQLiteStore?) async -> Diagnosis {
        let disks = self.disks
        guard let least = disks.min(by: { $0.free < $1.free }) else {
            return .skipped("disk", nil, "the free space could not be learned")
        }
        let detail = "\(least.free >> 20) MiB free at \(least.place)"
        if least.free < FileSystemFacts.leastFreeBytes {
            return .failed("disk", nil, detail, fix: "make room before the next run", .output)
        }
        var forecasts: [(job: String, space: SpaceForecast)] = []
        if let store {
            for job in jobs {
                if let space = try? await forecast(of: job, in: store) {
                    forecasts.append((job.name, space))
                }
            }
        }
        let needs = forecasts.flatMap { forecast in
            disks.map { (forecast.job, $0, $0.bytes(of: forecast.space)) }
        }
        if let (job, disk, bytes) = needs.first(where: { $0.2 >= $0.1.free }) {
            return .warning(
                "disk", nil,
                "\(disk.free >> 20) MiB free at \(disk.place), and a run of \(job) is expected to "
                    + "need \(bytes >> 20) MiB", fix: "make room before that run")
        }
        // A pass keeps its findings and evidence beside the rows until it is concluded.
        let attributes = try? FileManager.default.attributesOfItem(atPath: settings.databasePath)
        let database = (attributes?[.size] as? UInt64) ?? 0
        if least.free < max(FileSystemFacts.comfortableFreeBytes, database) {
            return .warning("disk", nil, detail, fix: "make room soon")
        }
        let most = forecasts.max { $0.space.bytes < $1.space.bytes }
        let expected =
            most.map {
                "; a run of \($0.job) is expected to need \(Self.mebibytes($0.space.databaseBytes)) "
                    + "for the database and \(Self.mebibytes($0.space.reportBytes)) for its report"
            } ?? ""
        return .ok("disk", nil, detail + expected)
    }

    /// Such as `0.4 MiB` or `1240 MiB`.
    private static func mebibytes(_ bytes: Int64) -> String {
        let tenths = (bytes * 10 + (1 << 20) - 1) >> 20
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) MiB" : "\(tenths / 10) MiB"
    }

    /// By the scan of the table that `trueup estimate` makes.
    private func forecast(of job: JobSettings, in store: SQLiteStore) async throws -> SpaceForecast
    {
        let run = try await RunForecast(of: job, settings: settings, at: now, in: store)
        let questions = run.questions
        let asked = questions.questions.values.reduce(0, +)
        var work = SpaceForecast.Work()
        work.isCheck = job.mode == .check
        work.firstFills = questions.firstFills
        work.known = max(0, asked + questions.judgedByStoppedRun - questions.firstFills)
        if job.history == .always {
            work.periods = try await store.periodsPerSubscription() ?? Self.usualPeriods
        }
        if job.steps.contains(.recover), questions.pastRuns.isEmpty {
            work.firstRecovered = questions.rows
        }
        if let past = run.questions.pastRuns.first, let coverage = past.coverage,
            try store.corrections(writtenByRun: past.runID) == 0
        {
            let folder = "\(settings.reportDirectory)/\(past.started.utcDay)/\(past.runID)"
            let asked = coverage.askedRows
            work.lastReport = FileSystemFacts.bytes(ofFilesIn: folder).map { ($0, asked) }
        }
        return SpaceForecast(of: work)
    }

    /// Of a subscription of half a year, where no stored period tells.
    private static let usualPeriods = 6.0

    private var disks: [Disk] {
        var disks: [(device: UInt64, disk: Disk)] = []
        for (path, isDatabase) in [
            (settings.databasePath, true), (settings.reportDirectory, false),
        ] {
            let place = FileSystemFacts.nearestExisting(path)
            guard let device = FileSystemFacts.device(of: place),
                let free = FileSystemFacts.freeBytes(at: place)
            else { continue }
            let index =
                disks.firstIndex { $0.device == device }
                ?? {
                    disks.append((device, Disk(place: place, free: free)))
                    return disks.count - 1
                }()
            if isDatabase {
                disks[index].disk.database = true
            } else {
                disks[index].disk.reports = true
            }
        }
        return disks.map(\.disk)
    }
}
