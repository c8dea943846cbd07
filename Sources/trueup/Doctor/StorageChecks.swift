import FoundationEssentials
import Reports
import SubscriptionStore
import Subscriptions

/// Checks of database, disk, report folder and lock; they only read.
struct StorageChecks {
    let settings: Settings
    let jobs: [JobSettings]
    let now: Timestamp

    /// The opened store too, for whoever needs a stored id.
    func all() async -> (diagnoses: [Diagnosis], store: SQLiteStore?) {
        let (database, store) = await self.database()
        let disk = await SpaceChecks(settings: settings, jobs: jobs, now: now).diagnosis(of: store)
        return ([database, disk, reports(of: store), lock], store)
    }

    private func database() async -> (Diagnosis, SQLiteStore?) {
        let path = settings.databasePath
        let place = FileSystemFacts.realPath(FileSystemFacts.nearestExisting(path))
        if let network = MountTable.current().networkFileSystem(of: place) {
            let diagnosis = Diagnosis.failed(
                "database", nil,
                "\(path) lies on \(network), where SQLite's WAL mode does not work and data can be "
                    + "lost", fix: "move it to a local disk and correct store.url", .config)
            return (diagnosis, nil)
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
                    "database", nil, "the books in \(place): \(obstacle)",
                    fix: "mend it; no run begins before, and nothing is changed", .config)
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
        let what = lock.excludesReaders ? "nobody else can even read it" : "no run could write"
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
            try ReportFolderCheck.refuse(
                directory,
                for: identity.map {
                    ReportingDatabase(identity: $0, path: settings.booksURL)
                }, at: now)
        } catch {
            if case .busy = error, runGoesOn {
                return .ok("reports", nil, "\(directory): the run that is going on writes there")
            }
            guard case .cannotCreate(let text) = error else {
                return .failed("reports", nil, error)
            }
            return .failed(
                "reports", nil, text,
                fix: "move away what is there, give this user the right to write there, or change "
                    + "report.directory", .cannotCreate)
        }
        // A run says so, too, and goes on. Beside a table of the company's own stands a ledger to compare with.
        if let store, settings.company.table == nil,
            (try? Restoration.lostHead(of: store, provenIn: directory)) != nil
        {
            return .warning(
                "reports", nil,
                "the ledger in \(settings.booksURL) does not hold the entry that the newest "
                    + "report in \(directory) ends with: the next run looks at every row again",
                fix:
                    "if the database was restored from a backup, declare it with \"trueup restored "
                    + "--reason TEXT\"; until then \"trueup verify\" takes it for tampering")
        }
        let isThere = FileSystemFacts.exists(directory)
        return .ok("reports", nil, directory + (isThere ? " can be written" : " can be created"))
    }

    /// Whether a run that tells of itself holds the lock.
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
                "lock", nil, "a run is going on: \(holder.holder)\(since)",
                fix: "nothing; the next run begins when this one has ended")
        }
        return .failed(
            "lock", nil, "held by \(holder.holder)\(since)",
            fix: "wait for it to end; a killed process frees it by itself", .busy)
    }
}
