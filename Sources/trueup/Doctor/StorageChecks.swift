import FoundationEssentials
import Glibc
import Reconciliation
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// Checks of database, disk, report folder and lock; they only read.
extension LocalChecks {
    /// The opened store as well, for checks that need a stored id.
    func storage() async -> (diagnoses: [Diagnosis], store: SQLiteStore?) {
        let (database, store) = await self.database()
        let disk = await disk(of: store)
        return ([database, disk, reports(of: store), lock], store)
    }

    private func database() async -> (Diagnosis, SQLiteStore?) {
        let path = settings.databasePath
        let place = FileSystemFacts.realPath(FileSystemFacts.nearestExisting(path))
        if let network = MountTable.current().networkFileSystem(of: place) {
            return (
                .failed(
                    "database", nil,
                    "\(path) lies on \(network), where SQLite's WAL mode does not work and data can be "
                        + "lost",
                    fix: "move it to a local disk and correct \(settings.databaseKey)", .config),
                nil
            )
        }
        // Looked for before the database is opened here, as the kernel's rule for such locks asks.
        let foreign = await SQLiteStore.foreignLock(onDatabaseAt: path)
        if let foreign, foreign.excludesReaders { return (held(by: foreign), nil) }
        let store: SQLiteStore
        let mode: String
        do {
            let books = try Books(settings)
            if let place = books.place, let obstacle = try books.obstacle(mayWrite: true) {
                let diagnosis = Diagnosis.failed(
                    "database", nil, "trueup's database in \(place): \(obstacle)",
                    fix: "correct it; no run begins before, and nothing is changed", .config)
                return (diagnosis, nil)
            }
            store = try books.openToRead(at: now)
            mode = try await store.journalMode()
        } catch {
            return (.failed("database", nil, error), nil)
        }
        do {
            try store.refuseDamaged()
        } catch {
            return (.failed("database", nil, error), store)
        }
        if let foreign { return (held(by: foreign), store) }
        return (writing(inMode: mode), store)
    }

    private func held(by lock: ForeignLock) -> Diagnosis {
        let program = lock.program.map { " (\($0))" } ?? ""
        let holder = lock.process.map { "process \($0)\(program)" } ?? "another program"
        let what = lock.excludesReaders ? "no other user can read it" : "no run could write"
        return .failed(
            "database", nil,
            "\(holder) has kept \(settings.databasePath) locked for "
                + "\(lock.patience.components.seconds) s, as long as a run waits; \(what)",
            fix: "have it end its transaction, or end it", .busy)
    }

    /// Whether a run, which writes, would find what it needs.
    private func writing(inMode mode: String) -> Diagnosis {
        let path = settings.databasePath
        if let reason = FileSystemFacts.obstacle(toWriting: path) {
            return .failed(
                "database", nil, "\(path) cannot be written: \(reason)",
                fix: FileObstacle.fix(ofUnwritable: path, holdsRows: true), .output)
        }
        let folder = SettingsPath.directory(of: path)
        if let reason = FileSystemFacts.obstacle(toWriting: folder) {
            return .failed(
                "database", nil, "\(folder) cannot be written: \(reason)",
                fix: "give the user of the job the right to write there (chown USER \(folder))",
                .output)
        }
        guard mode == "wal" else {
            return .warning(
                "database", nil,
                "\(path) is in journal mode \(mode): readers and the job would block each other",
                fix: "nothing: the next run turns WAL on")
        }
        let place = (try? Books(settings))?.place.map { ", a copy of \($0)" } ?? ""
        return .ok(
            "database", nil,
            "\(path) opens, schema and end of the ledger as expected, WAL" + place)
    }

    private func reports(of store: SQLiteStore?) -> Diagnosis {
        let directory = settings.reportDirectory
        let identity = try? store?.databaseIdentity()
        do throws(ReportError) {
            try ReportFolder.refuse(
                directory,
                for: identity.map {
                    ReportingDatabase(identity: $0, path: settings.booksURL)
                }, at: now)
        } catch {
            if case .busy = error, runGoesOn {
                return .ok("reports", nil, "\(directory): the active run writes there")
            }
            guard case .cannotCreate(let text) = error else {
                return .failed("reports", nil, error)
            }
            return .failed(
                "reports", nil, text,
                fix: "move away what is there, give this user the right to write there, or change "
                    + "report.directory", .cannotCreate)
        }
        // A run says so as well, and continues. Next to a table of the company's own stands a
        // ledger to compare with.
        if let store, settings.company.table == nil,
            (try? Restoration.lostHead(of: store, provenIn: directory)) != nil
        {
            return .warning(
                "reports", nil,
                "the ledger in \(settings.booksURL) lacks the entry with which the newest report in "
                    + "\(directory) ends: the next run checks every row again",
                fix:
                    "if the database was restored from a backup, declare it with \"trueup restored "
                    + "--reason TEXT\"; until then \"trueup verify\" reports tampering")
        }
        let isThere = FileSystemFacts.exists(directory)
        return .ok("reports", nil, directory + (isThere ? " can be written" : " can be created"))
    }

    /// Whether a run that reports its progress holds the lock.
    private var runGoesOn: Bool {
        let path = settings.databasePath
        guard let holder = SQLiteStore.lockHolder(ofDatabaseAt: path) else { return false }
        return LiveRunFile(besideDatabaseAt: path).read(heldBy: holder) != nil
    }

    private var lock: Diagnosis {
        if let obstacle = SQLiteStore.obstacle(besideDatabaseAt: settings.databasePath) {
            return .failed("lock", nil, obstacle.text, fix: obstacle.fix, .output)
        }
        let here = SQLiteStore.lockHolder(ofDatabaseAt: settings.databasePath)
        // Where the server does not answer, the database's own line says so.
        guard let holder = here ?? (try? Books(settings).holderElsewhere()).flatMap(\.self) else {
            return .ok("lock", nil, "free")
        }
        let since = holder.since.map { ", since \($0.rfc3339)" } ?? ""
        // Elsewhere none but a run keeps the books.
        guard here != nil, !runGoesOn else {
            return .warning(
                "lock", nil, "a run is active: \(holder.holder)\(since)",
                fix: "nothing; the next run begins when this one has ended")
        }
        return .failed(
            "lock", nil, "held by \(holder.holder)\(since)",
            fix: "wait for it to end; a killed process frees it by itself", .busy)
    }
}

/// The room that a run is expected to take in the database and in the report folder.
///
/// The figures were measured on a backfill, and on the runs after it, from ids alone.
package struct SpaceForecast: Sendable {
    /// Rows of which nothing is known yet: each is filled in.
    package var firstFills = 0
    /// Periods of each that are taken in: none where no history is read.
    package var periods = 0.0
    /// Other rows that are checked; nearly all of them agree.
    package var known = 0
    /// Rows whose notifications are read for the first time, which are those of a month.
    package var firstRecovered = 0
    /// Whether nothing is written to rows: then there is no ledger, and no way back.
    package var isCheck = false
    /// The report of the last run that filled nothing in: its size and the run's questions.
    package var lastReport: (bytes: Int64, questions: Int)?

    package init() {}

    /// A row filled in: two payloads, the plan, the ledger and what is noted about the row.
    private static let databaseBytesOfFill = 6_200.0
    private static let reportBytesOfFill = 1_300.0
    /// A period: its payload, its row, the plan and the ledger.
    private static let databaseBytesOfPeriod = 3_550.0
    private static let reportBytesOfPeriod = 950.0
    /// The space that a check of empty rows takes, as a share of the space for filling them in.
    private static let shareOfCheck = 0.6
    /// A row that agrees, and one in twenty that is corrected.
    private static let databaseBytesOfKnown = 600.0
    private static let reportBytesOfKnown = 400.0
    /// A month's notifications about a row.
    private static let bytesOfRecovered = 2_400.0
    /// The page, the workbook and the other files of every report.
    private static let reportBytesOfFiles = 200_000.0

    private var filledIn: Double {
        Double(max(0, firstFills)) * (isCheck ? Self.shareOfCheck : 1)
    }
    private var periodsTakenIn: Double { filledIn * max(0, periods) }
    private var bytesOfRecovery: Double {
        Double(max(0, firstRecovered)) * Self.bytesOfRecovered
    }

    package var databaseBytes: Int64 {
        Self.bytes(
            filledIn * Self.databaseBytesOfFill + periodsTakenIn * Self.databaseBytesOfPeriod
                + Double(max(0, known)) * Self.databaseBytesOfKnown + bytesOfRecovery)
    }

    package var reportBytes: Int64 {
        let known = Double(max(0, known))
        var report = known * Self.reportBytesOfKnown + bytesOfRecovery
        if let last = lastReport, last.questions > 0 {
            report =
                max(0, Double(last.bytes) - Self.reportBytesOfFiles) / Double(last.questions)
                * known
        }
        return Self.bytes(
            Self.reportBytesOfFiles + filledIn * Self.reportBytesOfFill
                + periodsTakenIn * Self.reportBytesOfPeriod + report)
    }

    /// Of both together.
    package var bytes: Int64 { databaseBytes &+ reportBytes }

    private static func bytes(_ count: Double) -> Int64 { Int64(min(1e18, max(0, count))) }
}

/// The free space of the disks that a run writes to, against what the jobs are expected to need.
extension LocalChecks {
    struct Disk {
        let device: UInt64
        let place: String
        let free: UInt64
        /// Whether the database is on it.
        var database = false
        var reports = false

        func bytes(of forecast: SpaceForecast) -> UInt64 {
            UInt64(clamping: database ? forecast.databaseBytes : 0)
                + UInt64(clamping: reports ? forecast.reportBytes : 0)
        }

        /// The bytes for what is on it, in words.
        func parts(of forecast: SpaceForecast) -> String {
            let (rows, report) = (forecast.databaseBytes, forecast.reportBytes)
            return [
                database ? "\(LocalChecks.mebibytes(rows)) for the database" : nil,
                reports ? "\(LocalChecks.mebibytes(report)) for its report" : nil,
            ].compactMap(\.self).joined(separator: " and ")
        }
    }

    /// A warning where a run would fill a disk; it names the job that needs most there.
    static func shortage(
        of forecasts: [(job: String, space: SpaceForecast)], on disks: [Disk]
    ) -> Diagnosis? {
        let needs = forecasts.flatMap { forecast in
            disks.map { (forecast: forecast, disk: $0, bytes: $0.bytes(of: forecast.space)) }
        }
        let most = needs.filter { $0.bytes >= $0.disk.free }.max { $0.bytes < $1.bytes }
        return most.map { need in
            .warning(
                "disk", nil,
                "\(need.disk.free >> 20) MiB free at \(need.disk.place), and a run of "
                    + "\(need.forecast.job) is expected to need "
                    + need.disk.parts(of: need.forecast.space), fix: "make room before that run")
        }
    }

    private func disk(of store: SQLiteStore?) async -> Diagnosis {
        let disks = self.disks
        guard let least = disks.min(by: { $0.free < $1.free }) else {
            return .skipped("disk", nil, "the free space could not be read")
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
        if let shortage = Self.shortage(of: forecasts, on: disks) { return shortage }
        // A pass keeps its findings and evidence next to the rows until it is concluded.
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
        // A forecast is at most 1e18, which times ten is too much.
        let tenths = (min(bytes, .max >> 4) * 10 + (1 << 20) - 1) >> 20
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) MiB" : "\(tenths / 10) MiB"
    }

    /// By the scan of the table that `trueup estimate` makes.
    private func forecast(of job: JobSettings, in store: SQLiteStore) async throws -> SpaceForecast
    {
        let run = try await RunForecast(of: job, settings: settings, at: now, in: store)
        let questions = run.questions
        let asked = questions.questions.values.reduce(0, +)
        var space = SpaceForecast()
        space.isCheck = job.mode == .check
        space.firstFills = questions.firstFills
        space.known = max(0, asked + questions.judgedByStoppedRun - questions.firstFills)
        if job.history == .always, settings.company.source == nil {
            space.periods = try await store.periodsPerSubscription() ?? Self.usualPeriods
        }
        if job.steps.contains(.recover), questions.pastRuns.isEmpty {
            space.firstRecovered = questions.rows
        }
        if let past = run.questions.pastRuns.first, let coverage = past.coverage,
            try store.corrections(writtenByRun: past.runID) == 0
        {
            let folder = "\(settings.reportDirectory)/\(past.started.utcDay)/\(past.runID)"
            let asked = coverage.askedRows
            space.lastReport = FileSystemFacts.bytes(ofFilesIn: folder).map { ($0, asked) }
        }
        return space
    }

    /// Of a subscription of half a year, where no stored period tells.
    private static let usualPeriods = 6.0

    private var disks: [Disk] {
        var disks: [Disk] = []
        for (path, part) in [
            (settings.databasePath, \Disk.database), (settings.reportDirectory, \Disk.reports),
        ] {
            let place = FileSystemFacts.nearestExisting(path)
            guard let device = FileSystemFacts.device(of: place),
                let free = FileSystemFacts.freeBytes(at: place)
            else { continue }
            let index = disks.firstIndex { $0.device == device } ?? disks.endIndex
            if index == disks.endIndex {
                disks.append(Disk(device: device, place: place, free: free))
            }
            disks[index][keyPath: part] = true
        }
        return disks
    }
}

/// Facts of the operating system about the place of a file; nothing is created or changed.
enum FileSystemFacts {
    /// With less than the first `doctor` fails, with less than the second it warns: evidence,
    /// reports and SQLite's log all grow during a run.
    static let leastFreeBytes: UInt64 = 100 << 20
    static let comfortableFreeBytes: UInt64 = 1 << 30

    /// Bytes that this user may still write there.
    static func freeBytes(at path: String) -> UInt64? {
        var facts = statvfs()
        guard unsafe statvfs(path, &facts) == 0 else { return nil }
        let (bytes, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(
            by: UInt64(facts.f_frsize))
        return overflow ? .max : bytes
    }

    /// Reads a path's facts from the kernel, links followed; `nil` where nothing is, and `errno` tells
    /// why.
    private static func facts(of path: String) -> stat? {
        var facts = stat()
        return unsafe stat(path, &facts) == 0 ? facts : nil
    }

    /// Which file system holds it; `nil` where nothing is.
    static func device(of path: String) -> UInt64? { facts(of: path).map { UInt64($0.st_dev) } }

    /// Whether two paths name one file, by whatever links; `false` where one of them names none.
    static func isSameFile(_ one: String, _ other: String) -> Bool {
        guard let number = number(of: one) else { return false }
        return number == self.number(of: other)
    }

    /// Returns the identity of a file or folder on this machine, containers included: the numbers of
    /// its file system and of its inode; `nil` where there is none.
    static func number(of path: String) -> String? {
        facts(of: path).map { "\($0.st_dev):\($0.st_ino)" }
    }

    /// The size of the files of one folder; `nil` where there is none.
    static func bytes(ofFilesIn folder: String) -> Int64? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            return nil
        }
        return names.reduce(0) { sum, name in
            guard let facts = facts(of: folder + "/" + name) else { return sum }
            let (total, overflow) = sum.addingReportingOverflow(Int64(facts.st_size))
            return overflow ? .max : total
        }
    }

    /// Returns why files cannot be made in a folder; `nil` when they can.
    static func obstacle(toFilesIn folder: String) -> String? {
        guard let facts = facts(of: folder) else { return SettingsFile.reason(errno) }
        guard facts.st_mode & S_IFMT == S_IFDIR else { return SettingsFile.reason(ENOTDIR) }
        return unsafe access(folder, W_OK | X_OK) == 0 ? nil : SettingsFile.reason(errno)
    }

    /// Returns why the path cannot be written; `nil` when it can.
    static func obstacle(toWriting path: String) -> String? {
        unsafe access(path, W_OK) == 0 ? nil : SettingsFile.reason(errno)
    }

    /// Absolute, without symbolic links; the path itself when that cannot be learned.
    static func realPath(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Whether something other than a file is there.
    static func isNoFile(_ path: String) -> Bool {
        facts(of: path).map { $0.st_mode & S_IFMT != S_IFREG } ?? false
    }

    static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Whether there is nothing at a path: `false` where the system does not let this user look.
    static func isMissing(_ path: String) -> Bool { facts(of: path) == nil && errno == ENOENT }

    /// The path itself, or the nearest folder above it that exists.
    static func nearestExisting(_ path: String) -> String {
        var path = path
        while !exists(path) {
            let above = SettingsPath.directory(of: path)
            guard above != path else { break }
            path = above
        }
        return path
    }
}

/// Which file system holds a path, from the kernel's own table.
///
/// Source: proc_pid_mountinfo(5).
package struct MountTable {
    private let mounts: [(place: String, type: String)]

    /// - Parameter text: The contents of `/proc/self/mountinfo`.
    package init(mountinfo text: String) {
        mounts = text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 6, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
            else { return nil }
            return (Self.unescaped(fields[4]), String(fields[dash + 1]))
        }
    }

    /// The table of this machine; empty where there is none.
    static func current() -> MountTable {
        let data = FileManager.default.contents(atPath: "/proc/self/mountinfo")
        return MountTable(mountinfo: String(decoding: data ?? Data(), as: UTF8.self))
    }

    /// The type of the network file system that holds an absolute path; `nil` for a local one.
    package func networkFileSystem(of path: String) -> String? {
        // Of two mounts at one place the later one hides the earlier.
        var best: (place: String, type: String)?
        for mount in mounts where Self.holds(mount.place, path) {
            if mount.place.utf8.count >= best?.place.utf8.count ?? 0 { best = mount }
        }
        return best.flatMap { Self.isNetwork($0.type) ? $0.type : nil }
    }

    private static func holds(_ place: String, _ path: String) -> Bool {
        place == "/" || path == place || path.hasPrefix(place + "/")
    }

    private static func isNetwork(_ type: String) -> Bool {
        let known: Set<String> = [
            "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "coda", "lustre", "ncpfs",
            "glusterfs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone",
        ]
        return known.contains(type)
    }

    /// Blanks are in the table as three octal digits.
    private static func unescaped(_ field: Substring) -> String {
        var text = String(field)
        for (escape, character) in [("\\040", " "), ("\\011", "\t"), ("\\134", "\\")] {
            text = text.split(separator: escape, omittingEmptySubsequences: false)
                .joined(separator: character)
        }
        return text
    }
}
