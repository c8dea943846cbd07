import FoundationEssentials
import SubscriptionStore
import Subscriptions

/// Checks of database, disk, report folder and lock; they only read.
struct StorageChecks {
    let settings: Settings

    /// The opened store too, for whoever needs a stored id.
    func all() async -> (diagnoses: [Diagnosis], store: SQLiteStore?) {
        let (database, store) = await self.database()
        return ([database, disk, reports, lock], store)
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
        let store: SQLiteStore
        let mode: String
        do {
            store = try SQLiteStore.open(at: path, access: .readOnly)
            mode = try await store.journalMode()
        } catch {
            return (.failed("database", nil, error), nil)
        }
        do {
            try store.refuseDamaged()
        } catch {
            return (.failed("database", nil, error), store)
        }
        for place in [path, SettingsPath.directory(of: path)] {
            guard let reason = FileSystemFacts.obstacle(toWriting: place) else { continue }
            let diagnosis = Diagnosis.failed(
                "database", nil, "\(place) cannot be written: \(reason)",
                fix: "give this user the right to write there", .output)
            return (diagnosis, store)
        }
        guard mode == "wal" else {
            let diagnosis = Diagnosis.warning(
                "database", nil,
                "\(path) is in journal mode \(mode): readers and the job would block each other",
                fix: "nothing: the next run turns WAL on")
            return (diagnosis, store)
        }
        return (
            .ok("database", nil, "\(path) opens, schema and end of the ledger as expected, WAL"),
            store
        )
    }

    private var disk: Diagnosis {
        let places = [settings.databasePath, settings.reportDirectory]
            .map(FileSystemFacts.nearestExisting)
        let free = places.compactMap { place in
            FileSystemFacts.freeBytes(at: place).map { (place: place, bytes: $0) }
        }
        guard let least = free.min(by: { $0.bytes < $1.bytes }) else {
            return .skipped("disk", nil, "the free space could not be learned")
        }
        let detail = "\(least.bytes >> 20) MiB free at \(least.place)"
        if least.bytes < FileSystemFacts.leastFreeBytes {
            return .failed("disk", nil, detail, fix: "make room before the next run", .output)
        }
        // A pass keeps its findings and evidence beside the rows until it is concluded.
        let attributes = try? FileManager.default.attributesOfItem(atPath: settings.databasePath)
        let database = (attributes?[.size] as? UInt64) ?? 0
        if least.bytes < max(FileSystemFacts.comfortableFreeBytes, database) {
            return .warning("disk", nil, detail, fix: "make room soon")
        }
        return .ok("disk", nil, detail)
    }

    private var reports: Diagnosis {
        let place = FileSystemFacts.nearestExisting(settings.reportDirectory)
        if let reason = FileSystemFacts.obstacle(toWriting: place) {
            return .failed(
                "reports", nil, "\(place) cannot be written: \(reason)",
                fix: "give this user the right to write there, or change report.directory",
                .cannotCreate)
        }
        return .ok(
            "reports", nil,
            settings.reportDirectory
                + (place == settings.reportDirectory ? " can be written" : " can be created"))
    }

    private var lock: Diagnosis {
        guard let holder = SQLiteStore.lockHolder(ofDatabaseAt: settings.databasePath) else {
            return .ok("lock", nil, "free")
        }
        let since = holder.since.map { ", since \($0.rfc3339)" } ?? ""
        return .warning(
            "lock", nil, "held by \(holder.holder)\(since)",
            fix: "wait for it to end; a killed process frees it by itself")
    }
}

/// Compares the stored rows with the configured apps: of other apps only a few rows are asked.
struct RowChecks {
    let apps: [AppIdentity]
    let settingsFile: String

    /// One line for each app and environment that the rows name.
    func all(of store: SQLiteStore) async -> [Diagnosis] {
        let table: [AppRows]
        do {
            table = try await store.rowsByApp()
        } catch {
            return [.failed("rows", nil, error)]
        }
        let all = table.reduce(0) { $0 + $1.rows }
        guard all > 0 else {
            return [.ok("rows", nil, "none yet; \"trueup import\" loads them")]
        }
        let judged = table.filter { rows in apps.contains { rows.belong(to: $0) } }
        return table.map { rows in
            let detail = "\(rows.rows) of \(all) rows are of \(rows.bundleID) \(rows.environment)"
            guard !apps.contains(where: { rows.belong(to: $0) }) else {
                return .ok("rows", nil, detail)
            }
            let fix =
                "add that app to apps in \(settingsFile), or correct its bundle_id or "
                + "environment there or in the rows"
            guard judged.isEmpty else {
                return .warning("rows", nil, detail + ", which is not configured", fix: fix)
            }
            return .failed(
                "rows", nil, detail + ", which is not configured; no row can be judged", fix: fix,
                .config)
        }
    }
}
