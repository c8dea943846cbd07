import Glibc
import ProgramDatabase
import Reconciliation
import ReconciliationRun
package import SubscriptionStore
import Subscriptions

/// Looks at the company's own table as a run would find it; reads only.
struct CompanyChecks {
    let company: CompanySettings
    /// Whether some job writes: then rights to write are needed as well.
    let writes: Bool

    static let rowsShown = 3

    /// Table and types, keys and indexes, rights, rows as they are understood, and the two ledgers.
    ///
    /// - Parameter books: `nil` where they cannot be opened.
    /// - Returns: One line for each; none without a table.
    func all(beside books: SQLiteStore?) async -> [Diagnosis] {
        guard let table = company.table else { return [] }
        if case .program(let command) = table.source {
            return await lines(of: command, beside: books)
        }
        do {
            let lines = try await onBackgroundThread { try self.lines(of: table) }
            guard let books, let path = company.booksPath,
                let link = try company.link(booksAt: path)
            else { return lines }
            return lines + [try await ledgers(of: link, books)]
        } catch {
            return [.failed("table", nil, error)]
        }
    }

    /// Whether the two ledgers agree, or what a run would do about it.
    private func ledgers(
        of link: CompanyLink, _ books: SQLiteStore
    ) async throws(StoreError) -> Diagnosis {
        do {
            try await books.checkOwner(is: link)
        } catch {
            return .failed("table", nil, error)
        }
        if let gap = try await books.gap(inLedgerOf: link) {
            return .failed("table", nil, gap, fix: nil, .config)
        }
        guard let entry = try await books.entryToAdopt(from: link) else {
            return .ok("table", nil, "the ledger there has the newest entry of trueup's database")
        }
        return .warning(
            "table", nil,
            "trueup's database lacks the ledger there from entry \(entry) on: a run was killed, or "
                + "trueup's database was restored to an earlier state",
            fix: "nothing: the next run that writes imports the missing entries, and says so")
    }

    /// Starts the store program as a run does, and shows what it says.
    private func lines(
        of command: ProgramCommand, beside books: SQLiteStore?
    ) async -> [Diagnosis] {
        do {
            let program = try await onBackgroundThread {
                try ProgramCompany(command, writes: writes)
            }
            defer { program.end() }
            let greeting = program.greeting
            let isKept = { greeting.columns.contains(.subscription($0)) }
            let kept = SubscriptionField.stated.filter(isKept).map(\.rawValue)
            let left = SubscriptionField.stated.filter { !isKept($0) }.map(\.rawValue)
            let facts = [
                greeting.keepsMilliseconds ? "times in milliseconds" : "times in seconds",
                greeting.hasVersions ? "rows with a version" : "rows without a version",
                greeting.takesInserts ? "rows may be inserted" : "no row is inserted",
            ]
            var lines = [
                Diagnosis.ok(
                    "table", nil,
                    "the store program \(command.name) answers as \"\(greeting.name)\": "
                        + facts.joined(separator: ", ")),
                .ok(
                    "table", nil,
                    "it keeps " + kept.joined(separator: ", ")
                        + (left.isEmpty ? "" : "; not checked: " + left.joined(separator: ", "))),
            ]
            lines += try await onBackgroundThread {
                try rows(of: program, program.mapping)
            }
            guard let books else { return lines }
            return lines + [
                try await ledgers(of: CompanyLink(program, mapping: program.mapping), books)
            ]
        } catch {
            return [.failed("table", nil, error)]
        }
    }

    private func lines(
        of table: (source: CompanySource, mapping: TableMapping)
    ) throws -> [Diagnosis] {
        let mapping = table.mapping
        // Whose the ledger is can be told as soon as there are books.
        let books = company.booksPath.flatMap { path in
            (try? SQLiteStore.identity(ofDatabaseAt: path)).map { _ in path }
        }
        let database = try table.source.database(mapping, booksAt: books)
        try database.check(mayWrite: false)
        let tables = try database.tables()
        var lines = mapping.all.flatMap { self.lines(of: $0, among: tables) }
        if let entitlements = mapping.entitlements {
            let obstacle = try database.obstacleToEntitlements(mayWrite: writes)
            lines.append(
                obstacle.map { .failed("table", nil, $0, fix: nil, statusOfRights) }
                    ?? .ok(
                        "table", nil,
                        "\(entitlements) has the columns and the key of store.entitlements"
                            + (writes ? "; every run that writes keeps it" : "; no job writes")))
        }
        lines += try database.facts().map { .ok("table", nil, $0) }
        if let limits = company.brake {
            let excess = try CompanyBrake(limits).excess(in: database)
            lines.append(
                excess.map {
                    .warning(
                        "table", nil, "a run would pause now, because \($0)",
                        fix: "wait, or raise the limit in the settings")
                } ?? .ok("table", nil, "the database is within the limits above which runs pause"))
        }
        lines += cut(by: database.precision)
        if writes, let obstacle = try database.obstacleToLedger() {
            lines.append(
                .failed(
                    "table", nil, "no ledger can be kept next to \(mapping.table): \(obstacle)",
                    fix: "do that, or set mode: check", .config))
        }
        for mapping in mapping.all { lines += try rows(of: database, mapping) }
        return lines
    }

    private func lines(
        of mapping: TableMapping, among tables: [CompanyTableDescription]
    ) -> [Diagnosis] {
        let found = tables.first {
            $0.name.name == mapping.table.name
                && (mapping.table.schema == nil || $0.name.schema == mapping.table.schema)
        }
        let line = Diagnosis.ok(
            "table", nil,
            "\(mapping.table) has the \(mapping.namedColumns.count) columns of "
                + "\(mapping.kind.setting), in the forms stated there")
        return [line] + (found.map { [index(of: $0, mapping), rights(on: $0, mapping)] } ?? [])
    }

    private func cut(by precision: TimePrecision) -> [Diagnosis] {
        MappedTable.allCases.flatMap(\.fields).compactMap { field in
            guard let digits = precision.digits[field] else { return nil }
            let kept = digits == 0 ? "whole seconds" : "\(digits) of a second's 3 digits"
            return .ok(
                "table", nil,
                "the column for \(field.name) keeps \(kept): Apple's times are cut to that, never "
                    + "rounded, to compare and to write")
        }
    }

    private func index(of table: CompanyTableDescription, _ mapping: TableMapping) -> Diagnosis {
        let key = mapping.keyColumns.map(\.column)
        let words = key.joined(separator: ", ")
        guard !table.isView else {
            return .warning(
                "table", nil,
                "\(mapping.table) is a view; whether an index serves \(words) is not "
                    + "known", fix: "make sure that the table behind it has one")
        }
        guard table.isWalkable(by: key) else {
            return .warning(
                "table", nil,
                "\(mapping.table) has no index that begins with \(words): each page of the walk in "
                    + "key order reads the whole table",
                fix: "create an index on \(mapping.table) (\(words))")
        }
        return .ok("table", nil, "an index serves the walk in the order of \(words)")
    }

    private func rights(
        on table: CompanyTableDescription, _ mapping: TableMapping
    ) -> Diagnosis {
        guard table.rights.maySelect else {
            return .failed(
                "table", nil, "\(mapping.table) may not be read", fix: "grant SELECT", .config)
        }
        guard writes else { return .ok("table", nil, "may be read; no job writes") }
        if let obstacle = mapping.obstacleToWriting(to: table) {
            return .failed("table", nil, "\(mapping.table): \(obstacle)", fix: nil, .config)
        }
        let refused = mapping.updatedColumns.subtracting(table.rights.updatable).sorted()
        guard refused.isEmpty else {
            return .failed(
                "table", nil,
                "\(refused.joined(separator: ", ")) of \(mapping.table) may not be changed",
                fix: "grant UPDATE of exactly these columns, or set mode: check", statusOfRights)
        }
        let lacking = mapping.insertedColumns.subtracting(table.rights.insertable).sorted()
        guard lacking.isEmpty else {
            return .failed(
                "table", nil,
                "no row with \(lacking.joined(separator: ", ")) may be inserted into "
                    + "\(mapping.table)", fix: "grant INSERT, or write insert: no", statusOfRights)
        }
        let unset = unsetColumns(of: table, mapping)
        guard unset.isEmpty else {
            return .failed(
                "table", nil,
                "an inserted row would lack \(unset.joined(separator: ", ")), which may not be "
                    + "NULL and has no default",
                fix: "give them values under \(mapping.kind.setting).insert, or write insert: no",
                .config)
        }
        return .ok(
            "table", nil,
            "may be read; \(mapping.updatedColumns.count) columns may be changed"
                + (mapping.inserts == nil ? "; no row is inserted" : "; rows may be inserted"))
    }

    /// The exit status of a run for a missing right: that of a file, or one of a server.
    private var statusOfRights: ExitStatus {
        if case .sqlite = company.table?.source { .output } else { .config }
    }

    /// Columns that an inserted row must have and would not get.
    private func unsetColumns(
        of table: CompanyTableDescription, _ mapping: TableMapping
    ) -> [String] {
        guard mapping.inserts != nil else { return [] }
        let set = Set(mapping.namedColumns)
        // SQLite numbers the rows of a whole-number key by itself.
        let numbered = table.primaryKey.count == 1 ? Set(table.primaryKey) : []
        return table.columns
            .filter {
                !$0.isNullable && !$0.hasDefault && !$0.isGenerated && !set.contains($0.name)
            }
            .map(\.name).filter { !numbered.contains($0) }
    }

    private func rows(
        of database: any CompanyDatabase, _ mapping: TableMapping
    ) throws -> [Diagnosis] {
        let page = try database.rows(
            of: mapping.kind, after: nil, limit: Self.rowsShown, of: nil)
        guard !page.rows.isEmpty else {
            return [.ok("table", nil, "\(mapping.table) holds no row with a key yet")]
        }
        return page.rows.map { row in
            let values = mapping.kind.fields.compactMap { field -> String? in
                guard let value = row.values[field], value != .null else { return nil }
                return "\(field.name) \(value.plainText)"
            }
            let detail =
                "understood: \(row.key.bundleID) \(row.key.environment) "
                + "\(row.key.originalTransactionID): " + values.joined(separator: ", ")
            guard let (field, shown) = row.unreadable.min(by: { $0.key.name < $1.key.name })
            else { return .ok("table", nil, detail) }
            return .warning(
                "table", nil, detail + "; \(field.name) \"\(shown)\" is not understood",
                fix: "add the word, or state the column's form, in \(mapping.kind.setting)")
        }
    }
}

/// Compares the stored rows with the configured apps: of other apps only a few rows are asked.
extension LocalChecks {
    /// One line for each app and environment that the rows name.
    func rows(of store: SQLiteStore) async -> [Diagnosis] {
        let apps = settings.identities
        let table: [AppRows]
        do {
            table = try await store.rowsByApp()
        } catch {
            return [.failed("rows", nil, error)]
        }
        let all = table.reduce(0) { $0 + $1.rows }
        guard all > 0 else {
            return [
                .ok(
                    "rows", nil,
                    settings.company.table != nil
                        ? "none in trueup's database yet; a run reads your table"
                        : "none yet; \"trueup import\" loads them")
            ]
        }
        let judged = table.filter { rows in apps.contains { rows.belong(to: $0) } }
        let unconfigured = all - judged.reduce(0) { $0 + $1.rows }
        let stopped = jobs.filter { $0.isStopped(byRowsOfNoApp: unconfigured, of: all) }
        return table.map { rows in
            let detail = "\(rows.rows) of \(all) rows are of \(rows.bundleID) \(rows.environment)"
            guard !apps.contains(where: { rows.belong(to: $0) }) else {
                return .ok("rows", nil, detail)
            }
            let fix =
                "add that app to apps in \(settings.file), or correct its bundle_id or "
                + "environment there or in the rows"
            guard !judged.isEmpty else {
                // Such a run ends also but only once Apple has accepted the key.
                return .failed(
                    "rows", nil, detail + ", which is not configured; no row can be checked",
                    fix: fix, stopped.isEmpty ? .incomplete : .guarded)
            }
            guard !stopped.isEmpty else {
                return .warning(
                    "rows", nil,
                    detail + ", which is not configured; no guard stops a run for that",
                    fix: fix)
            }
            let names = stopped.map { "\($0.name) (\($0.guards.maxExcludedShare))" }
            return .failed(
                "rows", nil,
                detail
                    + ", which is not configured; \(unconfigured) such rows are more than the guard "
                    + "max_excluded_share allows: it stops \(names.joined(separator: ", "))",
                fix: fix, .guarded)
        }
    }
}

extension JobSettings {
    /// Whether the guard `max_excluded_share` stops a run for rows of no configured app alone.
    func isStopped(byRowsOfNoApp unconfigured: Int, of all: Int) -> Bool {
        guard mode == .apply, steps.contains(.walk) else { return false }
        return unconfigured >= max(1, guards.minChanges) && guards.maxExcludedShare < 1
            && Double(unconfigured) > guards.maxExcludedShare * Double(all)
    }
}

/// Whether stored times look as if a local time had been taken for UTC.
///
/// Apple's answer alone tells whether a row's `expires_date` is right. What shows without it is a
/// row that is a time zone away from its own period in `transactions`, in most of such cases by the
/// same offset; the run is protected by the guard `max_own_fault`.
extension Diagnosis {
    /// Fewer rows may differ by chance, as after an extension of some hours.
    private static let leastRows = 5

    /// - Parameters:
    ///   - differences: What the rows and their periods say; `nil` where they could not be read.
    ///   - offsets: How far this machine's clock on the wall is ahead of UTC, in milliseconds, over
    ///     the year.
    /// - Returns: A warning at most.
    package static func ofTimeZone(
        _ differences: ExpiryDifferences?, offsets: Set<Int64>
    ) -> Diagnosis {
        let zone =
            offsets == [0]
            ? "this machine's is UTC"
            : "this machine's is "
                + offsets.sorted().map(Self.offset).joined(separator: " or ")
        guard let differences else {
            return .skipped("timezone", nil, "\(zone); the rows could not be read")
        }
        let all = differences.rows.values.reduce(0, +)
        guard let most = differences.rows.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }),
            most.value >= leastRows, most.value > all / 2
        else {
            let compared =
                differences.compared > 0
                ? "; expires_date of \(differences.compared) rows was compared with their periods"
                : "; no row's period is stored to compare its expires_date with"
            return .ok("timezone", nil, zone + compared)
        }
        let isOwn = offsets.contains(most.key) || offsets.contains(-most.key)
        let whose = isOwn ? ", as far as this machine's local time is from UTC" : ""
        return .warning(
            "timezone", nil,
            "expires_date of \(most.value) rows is \(offset(most.key).drop { $0 == "+" }) off the "
                + "end of their own period in transactions\(whose); \(zone)",
            fix: "have what writes these times write UTC; the guard max_own_fault stops a run that "
                + "would correct them one by one")
    }

    /// `+2 h`, `-3 h 30 min`.
    private static func offset(_ milliseconds: Int64) -> String {
        let minutes = (milliseconds / 60_000).magnitude
        let parts = [
            minutes >= 60 || minutes == 0 ? "\(minutes / 60) h" : nil,
            minutes % 60 > 0 ? "\(minutes % 60) min" : nil,
        ].compactMap(\.self)
        return (milliseconds < 0 ? "-" : "+") + parts.joined(separator: " ")
    }

    /// The offsets of this machine's local time now and half a year from now.
    static func offsetsOfThisMachine(at now: Timestamp) -> Set<Int64> {
        tzset()
        let half: Int64 = 182 * 86_400
        let offsets = [0, half].map { ahead -> Int64 in
            var second = time_t(now.unixMilliseconds / 1000 + ahead)
            var parts = unsafe tm()
            guard unsafe localtime_r(&second, &parts) != nil else { return 0 }
            return unsafe Int64(parts.tm_gmtoff) * 1000
        }
        return Set(offsets)
    }
}
