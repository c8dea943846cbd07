import FoundationEssentials
import SubscriptionStore
import Subscriptions

/// The room that a run is expected to take: what Apple signs, kept as evidence, and its report.
package struct SpaceForecast: Hashable, Sendable {
    /// A transaction and a renewal for each subscription.
    private static let statementsPerQuestion: Int64 = 2
    /// Compressed as evidence is kept, with digest and index; used before the first run tells.
    private static let usualStatementBytes: Int64 = 2_000
    /// The lines of a row with a finding, in all files of the report.
    private static let usualReportBytes: Int64 = 4_000
    /// What is written stands in SQLite's log, too, until it is taken over.
    private static let copies: Int64 = 2

    package var databaseBytes: Int64
    package var reportBytes: Int64

    /// - Parameters:
    ///   - questions: How many subscriptions the run asks about.
    ///   - bytesPerStatement: What a statement took in earlier runs; `nil` before the first.
    ///   - lastReport: How large the last report of the job was, and for how many questions.
    package init(
        questions: Int, bytesPerStatement: Int64?, lastReport: (bytes: Int64, questions: Int)?
    ) {
        let questions = Double(max(0, questions))
        let statement = Double(bytesPerStatement ?? Self.usualStatementBytes)
        databaseBytes = Self.bytes(
            questions * Double(Self.statementsPerQuestion * Self.copies) * statement)
        var perQuestion = Double(Self.usualReportBytes)
        if let lastReport, lastReport.questions > 0 {
            perQuestion = Double(lastReport.bytes) / Double(lastReport.questions)
        }
        reportBytes = Self.bytes(questions * perQuestion)
    }

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
        let most = needs.max { $0.2 < $1.2 }
        let expected = most.map { "; \($0.0) is expected to need \(max(1, $0.2 >> 20)) MiB" } ?? ""
        return .ok("disk", nil, detail + expected)
    }

    /// By the scan of the table that `trueup estimate` makes.
    private func forecast(of job: JobSettings, in store: SQLiteStore) async throws -> SpaceForecast
    {
        let run = try await RunForecast(of: job, settings: settings, at: now, in: store)
        var lastReport: (bytes: Int64, questions: Int)?
        if let past = run.questions.pastRuns.first, let coverage = past.coverage {
            let folder = "\(settings.reportDirectory)/\(past.started.utcDay)/\(past.runID)"
            let asked = coverage.askedRows
            lastReport = FileSystemFacts.bytes(ofFilesIn: folder).map { ($0, asked) }
        }
        return SpaceForecast(
            questions: run.questions.questions.values.reduce(0, +),
            bytesPerStatement: try await store.bytesPerStatement(), lastReport: lastReport)
    }

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
