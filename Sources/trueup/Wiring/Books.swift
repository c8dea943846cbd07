import PostgresDatabase
import Reconciliation
import ReportAudit
import ServerConnections
import SubscriptionStore
import Subscriptions

/// The job's own books where the settings put them: in a file, or on a server, of whose books the
/// file is a copy to work on.
struct Books {
    private let path: String
    /// The setting that names the file.
    private let setting: String
    private let server: PostgresBooks?
    private let catalogue: ProductCatalogue?

    /// - Parameters:
    ///   - settings: Where the books are.
    ///   - holder: Who works with them, for a caller that is refused.
    /// - Throws: `StoreError.schema` where this build has no such server.
    init(
        _ settings: Settings,
        holder: String = RunningUser.lockHolder(doing: "reading trueup's database")
    ) throws(StoreError) {
        path = settings.databasePath
        setting = settings.databaseKey
        catalogue = settings.catalogue?.products
        guard let name = settings.company.booksName,
            case .postgresql(let address) = settings.company.source
        else {
            server = nil
            return
        }
        server = PostgresBooks(
            try .libpq(address),
            schema: BooksSchema(newest: Migration.newest, tables: BooksTable.made(byVersion:)),
            name: name, holder: holder, machine: Self.place(ofCopyAt: path))
    }

    /// Tells this machine's copy from every other one: containers may have a name and a path in
    /// common, but not the folder.
    private static func place(ofCopyAt path: String) -> String {
        let folder = SettingsPath.directory(of: path)
        return RunningUser.host + ":" + FileSystemFacts.realPath(folder) + "/"
            + (path.split(separator: "/").last ?? "")
            + (FileSystemFacts.number(of: folder).map { " (\($0))" } ?? "")
    }

    private var copy: BooksCopy? { copy { _ in true } }

    private func copy(whileAllowed mayContinue: @escaping @Sendable (Int64) -> Bool) -> BooksCopy? {
        server.map { BooksCopy(path: path, server: $0, whileAllowed: mayContinue) }
    }

    /// Opens the books of which nothing is changed; a copy of those on a server is made first,
    /// where it is not of their state.
    ///
    /// - Parameter now: Since when the lock is held, for others to read.
    /// - Returns: The books.
    /// - Throws: `StoreError`.
    func openToRead(at now: Timestamp) throws -> SQLiteStore {
        if let copy, try !copy.isCurrent() { try bring(copy, upToDateAt: now) }
        return try SQLiteStore.open(
            at: path, access: .readOnly, catalogue: catalogue, namedBy: setting)
    }

    /// Opens the books to write; the caller has brought them up to date.
    ///
    /// - Parameters:
    ///   - naming: Names the event of a correction; `nil` where no receiver is configured.
    ///   - company: The company's own table.
    /// - Returns: The books.
    /// - Throws: `StoreError.busy` where the books on a server are another's.
    func openToWrite(
        naming: EventNaming? = nil, company: CompanyLink? = nil
    ) throws(StoreError) -> SQLiteStore {
        try server?.claim()
        return try SQLiteStore.open(
            at: path, access: .readWrite, naming: naming, company: company,
            mirror: server.map { BooksMirror($0) }, catalogue: catalogue, namedBy: setting)
    }

    /// Brings books of an earlier version up to this one, and a copy to the state of its server.
    ///
    /// - Parameters:
    ///   - lock: Held by the caller.
    ///   - mayContinue: Called with how many rows were read from the server so far; `false` stops.
    /// - Throws: `StoreError`; `.stopped` where it may not continue.
    func bringUpToDate(
        under lock: borrowing RunLock,
        whileAllowed mayContinue: @escaping @Sendable (Int64) -> Bool = { _ in true }
    ) throws(StoreError) {
        guard let copy = copy(whileAllowed: mayContinue), let server else {
            return try SQLiteStore.bringUpToDate(at: path, under: lock)
        }
        try server.claim()
        let state = try copy.bringUpToDate(under: lock)
        // Not the file's own version: it may have been brought up to date and not been placed.
        guard state.schema < Migration.newest else { return }
        try SQLiteStore.bringUpToDate(at: path, under: lock)
        try copy.place(under: lock)
    }

    /// Brings trueup's database up to date for commands that may work next to a run, which has it
    /// up to date already.
    ///
    /// - Parameters:
    ///   - now: Since when the lock is held, for others to read.
    ///   - patience: How long to wait for a run before an earlier version is changed.
    /// - Throws: `StoreError`, or `RunLockError` where a run of an earlier version is active.
    func bringUpToDate(at now: Timestamp, waitMilliseconds patience: Int) throws {
        if let copy, try !copy.isCurrent() { try bring(copy, upToDateAt: now) }
        guard try SQLiteStore.needsBringingUpToDate(at: path) else { return }
        let lock = try RunLock.acquire(
            forDatabaseAt: path,
            holder: RunningUser.lockHolder(doing: "bringing the database up to date"), now: now,
            waitMilliseconds: patience)
        try bringUpToDate(under: lock)
        _ = consume lock
    }

    /// Makes the books where there are none; those of a file are put on the server that the
    /// settings name, where none are there.
    ///
    /// - Parameter lock: Held by the caller.
    /// - Returns: What was put back of the schema of books that are there, in words; and whether
    ///   they are new on their server, `nil` for those of a file.
    /// - Throws: `StoreError`.
    func create(
        under lock: borrowing RunLock
    ) throws(StoreError) -> (restored: [String], isNewOnServer: Bool?) {
        guard let copy, let server else { return (try SQLiteStore.create(at: path), nil) }
        try server.claim()
        defer { server.release() }
        guard try !copy.hasBooksOnServer() else {
            try bringUpToDate(under: lock)
            return ([], false)
        }
        let restored = try SQLiteStore.create(at: path)
        try copy.place(under: lock)
        return (restored, true)
    }

    /// Returns what keeps a run from working with trueup's database on a server as it is.
    ///
    /// - Parameter mayWrite: Whether it would write them.
    /// - Returns: A sentence for who runs it; `nil` for nothing.
    /// - Throws: `StoreError` where no one answers.
    func obstacle(mayWrite: Bool) throws(StoreError) -> String? {
        try server?.obstacle(mayWrite: mayWrite)
    }

    /// Who writes the books on a server from another machine now; `nil` for none.
    ///
    /// - Throws: `StoreError` where no one answers.
    func holderElsewhere() throws(StoreError) -> (holder: String, since: Timestamp?)? {
        try server?.holderElsewhere()
    }

    /// Where the books are on a server, in words.
    var place: String? { server?.place }

    /// Says every third of a holder's life that this one is there, until the task is cancelled.
    func renewUntilCancelled() async {
        guard let server else { return }
        await LeaseFence.renewUntilCancelled { try server.claim() }
    }

    /// Lets other machines write the books on a server; for the holder of the lock of the copy.
    func release() { server?.release() }

    /// Releases trueup's database for commands that may work next to a run of this machine, which
    /// keeps it.
    func releaseUnlessRunGoesOn() {
        guard let server, SQLiteStore.lockHolder(ofDatabaseAt: path) == nil else { return }
        server.release()
    }

    /// An active run of this machine has the copy as the books are, or is about to.
    private func bring(_ copy: BooksCopy, upToDateAt now: Timestamp) throws {
        do {
            let lock = try RunLock.acquire(
                forDatabaseAt: path,
                holder: RunningUser.lockHolder(doing: "reading trueup's database"),
                now: now, waitMilliseconds: 0)
            try copy.bringUpToDate(under: lock)
            _ = consume lock
        } catch RunLockError.held(let holder, _) {
            guard FileSystemFacts.exists(path) else {
                throw StoreError.busy(
                    "\(holder) is reading trueup's database into \(path). Nothing was changed. Wait for "
                        + "it to end.")
            }
        } catch RunLockError.cannotLock(let text) {
            throw StoreError.notWritten(text)
        } catch RunLockError.noFolder(let text) {
            throw StoreError.unavailable(text)
        }
    }
}

extension PostgresBooks: BooksServer {
    func reading<Value>(_ body: (any BooksReading) throws -> Value) throws -> Value {
        try reading { (reading: PostgresBooksReading) in try body(reading) }
    }
}

extension PostgresBooksReading: BooksReading {}

/// Books of the company's own table that were put back to an earlier state: the corrections since
/// then are adopted from the ledger next to the table, and the reports show what became of them.
///
/// An entry that a report shows is not reported again, and the payloads that it rests on come back
/// from that report. What no report shows is reported by the next run; where its payloads are gone
/// with the books, tombstones say so.
struct BooksBehind {
    private static let entriesPerPage = 100

    let settings: Settings

    /// The counts of what was found.
    private struct Counts {
        var shown: ClosedRange<Int64>?
        var lastRun: String?
        var lostPayloads = 0
    }

    /// Notes what reports show of entries that the books do not know to be reported.
    ///
    /// - Parameters:
    ///   - store: The books, which have adopted what the company's ledger has.
    ///   - started: When the run began, by its own clock; `nil` outside of a run.
    /// - Returns: What a run says of it; `nil` where the books lacked nothing.
    /// - Throws: `StoreError` when the books cannot be read or written.
    func catchUp(_ store: SQLiteStore, at started: Timestamp?) async throws -> String? {
        var page = try await store.unreportedEntries(after: nil, limit: Self.entriesPerPage)
        guard let first = page.first?.entry.number else { return nil }
        let head = ReportedLedger.newestHead(in: settings.reportDirectory)
        let shownThrough = try head.flatMap { try store.ledgerEntry(withHash: $0) } ?? 0
        // All reports are read in that case only.
        let reports =
            first <= shownThrough ? try? ReportedLedger(settings.reportDirectory) : nil
        var counts = Counts()
        var noticed = started ?? Timestamp(unixMilliseconds: 0)
        while let last = page.last?.entry.number {
            // Not before a correction was written: then its payload was still there. And by no
            // other clock than the run's, whose report is held against it.
            noticed = page.map(\.entry.writtenAt).reduce(noticed, max)
            let time = noticed
            let recovered = page.compactMap { unreported in
                let shown = unreported.entry.number <= shownThrough
                return recover(unreported, from: shown ? reports : nil, at: time, &counts)
            }
            if !recovered.isEmpty { try await store.keep(recovered) }
            page = try await store.unreportedEntries(after: last, limit: Self.entriesPerPage)
        }
        try await store.noteDeclarationsShown()
        return notice(of: counts)
    }

    /// Recovers what is known of an entry; `nil` where there is nothing to keep.
    ///
    /// `reports` are given for an entry up to which all were reported.
    private func recover(
        _ unreported: (entry: LedgerEntry, lacking: [EvidenceDigest]),
        from reports: ReportedLedger?, at time: Timestamp, _ counts: inout Counts
    ) -> RecoveredEntry? {
        let entry = unreported.entry
        guard reports != nil || !unreported.lacking.isEmpty else { return nil }
        let shower = reports?.report(showingEntry: entry.number, hash: entry.hash)
        // A report that retention has removed was most likely that of the run that wrote it.
        var recovered = RecoveredEntry(
            entry: entry, shownBy: reports == nil ? nil : shower?.runID ?? entry.runID)
        if reports != nil {
            let start = counts.shown?.lowerBound ?? entry.number
            counts.shown = start...max(start, entry.number)
            counts.lastRun = shower?.runID ?? counts.lastRun
        }
        for digest in unreported.lacking {
            let found = shower.flatMap { reports?.payload(digest.hexadecimal, shownBy: $0) }
            switch found {
            case .jws(let jws): recovered.payloads.append(SignedPayload(digest: digest, jws: jws))
            case .erased(let time): recovered.tombstones.append(tombstone(digest, at: time))
            case nil:
                counts.lostPayloads += 1
                recovered.tombstones.append(tombstone(digest, at: time))
            }
        }
        return recovered
    }

    private func tombstone(_ digest: EvidenceDigest, at time: Timestamp) -> EvidenceTombstone {
        EvidenceTombstone(digest: digest, erasedAt: time, reason: SQLiteStore.lostEvidence)
    }

    private func notice(of counts: Counts) -> String? {
        let lost =
            counts.lostPayloads == 0
            ? ""
            : " \(counts.lostPayloads) signed payloads of the imported corrections are lost, because no "
                + "report has them: \"trueup verify\" counts them as erased."
        guard let shown = counts.shown else {
            return lost.isEmpty
                ? nil
                : "trueup's database \(settings.booksURL) was restored to an earlier state than the "
                    + "ledger next to your table.\(lost)"
        }
        let entries =
            shown.count == 1
            ? "entry \(shown.lowerBound) of the ledger"
            : "entries \(shown.lowerBound) to \(shown.upperBound) of the ledger"
        let through = counts.lastRun.map { ", the last one that of run \($0)" } ?? ""
        return
            "trueup's database \(settings.booksURL) was restored to an earlier state. This run imported "
            + "\(shown.count == 1 ? "1 correction" : "\(shown.count) corrections") (\(entries)) "
            + "from the ledger next to your table and from reports\(through). It does not report them "
            + "again.\(lost) Runs find later findings again, and read Apple's notification history again. "
            + "Acknowledge again what was acknowledged since. \(Restoration.aboutImports)"
    }
}

extension ReportedLedger {
    /// Returns the lines of entries as the reports show them; the reports are read with the first
    /// question.
    static func lines(in directory: String) -> (_ number: Int64) -> String? {
        lazy var ledger = try? ReportedLedger(directory)
        return { ledger?.line(ofEntry: $0) }
    }
}
