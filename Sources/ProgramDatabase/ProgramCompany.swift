import JSONWebSignature
package import Subscriptions
import Synchronization

/// The company's rows in a database that a program of the company's own reads and writes.
///
/// The program is foreign: whatever it answers is checked, and it is ended at the first answer that
/// breaks the protocol. A unit has one correction, because entries are chained by their hashes: the
/// program may leave a row of a unit out, and the entries behind it would not follow any more.
package final class ProgramCompany: Sendable {
    let command: ProgramCommand
    /// The greeting of its first start.
    package let greeting: ProgramGreeting
    package let mapping: TableMapping
    private let messages = ProgramMessages()
    let state: Mutex<State>

    struct State: Sendable {
        var process: ProgramProcess?
        /// The number of the last request.
        var lastRequest: Int64 = 0
        /// Whether the program was told that rows will be written.
        var writes: Bool
        /// Whether it was told that its table will be filled and emptied.
        var isScratch = false
        /// The reason for which the program was ended; every later request ends with it.
        var failure: StoreError?
        /// Whether the program was lost over a write: it may be started again to read its entries.
        var isWriteOpen = false
        /// Set where the program said nothing in time: what it had committed still counts, and the run
        /// ends with this.
        var lateness: StoreError?
        /// The open transaction: what is sent when it commits.
        var unit: (change: CompanyChange?, entry: CompanyLedgerEntry?)?
        var walk = Walk()
        var starts = 0
    }

    /// Where the reading of all rows is.
    struct Walk: Sendable {
        /// The hashes of the cursors that were given out.
        var cursors: Set<Int> = []
        var emptyPages = 0
        /// Apps that were met and not asked for, as many as are ever named one by one.
        var otherApps: Set<[String]> = []
    }

    /// Starts the program and lets it say what it keeps.
    ///
    /// - Parameters:
    ///   - command: Which program.
    ///   - writes: Whether rows will be written.
    ///   - isScratch: Whether its table will be filled and emptied.
    /// - Throws: `.unavailable` where it does not answer, `.schema` where it answers what is no
    ///   greeting.
    package init(
        _ command: ProgramCommand, writes: Bool = false, isScratch: Bool = false
    ) throws(StoreError) {
        self.command = command
        var state = State(writes: writes, isScratch: isScratch)
        greeting = try Self.start(command, &state, hearing: messages)
        mapping = greeting.mapping
        self.state = Mutex(state)
    }

    deinit { end() }

    /// Says goodbye and ends the program.
    package func end() {
        state.withLock { state in
            guard state.process != nil else { return }
            _ = try? send(.bye, [:], &state) { _ in }
            state.process?.end(within: Self.grace)
            state.process = nil
        }
    }

    private static let grace = Duration.seconds(2)

    /// Hands on each line of the program's standard error, those before this call first.
    package func hear(_ hearer: @escaping @Sendable (String) -> Void) { messages.hear(hearer) }

    /// How often the program was started.
    package var starts: Int { state.withLock(\.starts) }
}

/// The requests, by their names in the protocol.
enum ProgramRequest: String, Sendable {
    case hello, page, rows, write, entries, bye
}

extension ProgramCompany {
    private static func start(
        _ command: ProgramCommand, _ state: inout State, hearing messages: ProgramMessages
    ) throws(StoreError) -> ProgramGreeting {
        if let name = command.missingVariable {
            throw .schema(
                "`store.environment` names the variable \(name) for the store program \(command.name), "
                    + "and it is not set. Nothing was read or written. Set it for the job, or take its "
                    + "name out.")
        }
        do {
            state.process = try ProgramProcess(command, hear: messages.take)
        } catch {
            throw .unavailable(
                "The store program \(command.name) \(words(of: error, command)). Nothing was read "
                    + "or written. Correct `store.url`.")
        }
        state.starts += 1
        state.lastRequest = 0
        var members: [String: CanonicalJSON] = [
            "protocol": .integer(1), "writes": .boolean(state.writes),
        ]
        if state.isScratch { members["scratch"] = .boolean(true) }
        return try exchange(command, .hello, members, &state) {
            answer throws(ProgramProcess.Fault) in try ProgramGreeting(answer)
        }
    }

    /// Sends a request and reads its answer; the program is ended where that fails.
    private static func exchange<Value: Sendable>(
        _ command: ProgramCommand, _ request: ProgramRequest, _ members: [String: CanonicalJSON],
        _ state: inout State, _ read: (ProgramObject) throws(ProgramProcess.Fault) -> Value
    ) throws(StoreError) -> Value {
        guard state.process != nil else { throw state.failure ?? stopped(command) }
        let line = line(of: request, members, &state)
        let refusal: (ProgramObject.Refusal, String)?
        do {
            let answered = try state.process?.exchange(
                line, within: command.timeoutMilliseconds)
            let answer = try ProgramObject(answer: answered ?? [], to: state.lastRequest)
            refusal = try answer.refusal()
            if refusal == nil { return try read(answer) }
        } catch {
            state.process?.end(within: .zero)
            state.process = nil
            let failure = failure(error, request, command)
            state.failure = failure
            if case .late = error { state.lateness = failure }
            throw failure
        }
        throw self.error(refusal, request, command)
    }

    /// The line of the next request, which gets the next number.
    static func line(
        of request: ProgramRequest, _ members: [String: CanonicalJSON], _ state: inout State
    ) -> [UInt8] {
        state.lastRequest += 1
        var members = members
        members["id"] = .integer(state.lastRequest)
        members["op"] = .string(request.rawValue)
        var line: [UInt8] = []
        CanonicalJSON.object(members).append(to: &line)
        return line
    }

    private static func stopped(_ command: ProgramCommand) -> StoreError {
        .unavailable(
            "The store program \(command.name) was ended before. Nothing of this step was written. "
                + "Run the job again: it continues where it stopped.")
    }

    private static func words(of fault: ProgramProcess.Fault, _ command: ProgramCommand) -> String {
        switch fault {
        case .ended(let how): how
        case .late:
            "did not answer for \(command.timeoutMilliseconds / 1000) s (`store.timeout`) and was ended"
        case .violation(let how): how
        }
    }

    private static func failure(
        _ fault: ProgramProcess.Fault, _ request: ProgramRequest, _ command: ProgramCommand
    ) -> StoreError {
        let words = words(of: fault, command)
        if case .violation = fault, request == .hello {
            return .schema(
                "The store program \(command.name) \(words) when it was greeted (`hello`). Nothing "
                    + "was read or written. Correct the program, or `store.url` "
                    + "(\(DocumentationPage.storePrograms)).")
        }
        let fix =
            if case .violation = fault {
                "The program was ended. Correct it (\(DocumentationPage.storePrograms)), and run the "
                    + "job again: it continues where it stopped."
            } else {
                "What it wrote to standard error is in the log of the run. Run the job again: it "
                    + "continues where it stopped."
            }
        return .unavailable(
            "The store program \(command.name) \(words), when it was asked to answer "
                + "`\(request.rawValue)`. Nothing of this step was written. " + fix)
    }

    private static func error(
        _ refusal: (ProgramObject.Refusal, String)?, _ request: ProgramRequest,
        _ command: ProgramCommand
    ) -> StoreError {
        let kind = refusal?.0 ?? .internal
        let said = String((refusal?.1 ?? "").prefix(500))
        let words =
            "The store program \(command.name) answered `\(request.rawValue)` with the error "
            + "\(kind.rawValue): \(said). Nothing of this step was written. "
        return switch kind {
        case .unavailable:
            .unavailable(words + "Run the job again when its database is back.")
        case .busy: .busy(words + "Run the job again later.")
        case .config: .schema(words + "Correct the settings of the program.")
        case .internal:
            .inconsistent(
                words + "The fault is in that program, not in trueup: read what it wrote to "
                    + "standard error, in the log of the run.")
        }
    }

    func send<Value: Sendable>(
        _ request: ProgramRequest, _ members: [String: CanonicalJSON], _ state: inout State,
        _ read: (ProgramObject) throws(ProgramProcess.Fault) -> Value
    ) throws(StoreError) -> Value {
        try Self.exchange(command, request, members, &state, read)
    }

    private func ask<Value: Sendable>(
        _ request: ProgramRequest, _ members: [String: CanonicalJSON],
        _ read: (ProgramObject) throws(ProgramProcess.Fault) -> Value
    ) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in
            try send(request, members, &state, read)
        }
    }

    /// Starts the program again, and requires that it keeps the same as before.
    func restart(_ state: inout State) throws(StoreError) {
        state.process?.end(within: Self.grace)
        state.process = nil
        let found = try Self.start(command, &state, hearing: messages)
        guard found == greeting else {
            state.process?.end(within: .zero)
            state.process = nil
            let failure = StoreError.schema(
                "The store program \(command.name) says something else of itself than when it was "
                    + "started before. Nothing of this step was written. Run the job again.")
            state.failure = failure
            throw failure
        }
        state.failure = nil
    }
}

extension ProgramCompany {
    /// Tells the program that rows will be written, where it was started without.
    ///
    /// - Parameter mayWrite: Whether they will be.
    /// - Throws: `StoreError` where the program cannot be started for that.
    package func check(mayWrite: Bool) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard mayWrite, !state.writes else { return }
            _ = try? send(.bye, [:], &state) { _ in }
            state.writes = true
            try restart(&state)
        }
    }

    /// Rows from one cursor on, in the program's order.
    ///
    /// - Parameters:
    ///   - table: Of subscriptions; a program keeps no other.
    ///   - cursor: The program's; `nil` from the beginning.
    ///   - limit: How many at most.
    ///   - apps: Whose rows; the others are left out here.
    /// - Returns: The page.
    /// - Throws: `StoreError` where it cannot be read.
    package func rows(
        of table: MappedTable = .subscriptions, after cursor: CompanyCursor?, limit: Int,
        of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> CompanyPage {
        try state.withLock { state throws(StoreError) in
            if cursor == nil { state.walk = Walk() }
            var walk = state.walk
            let members: [String: CanonicalJSON] = [
                "after": .text(cursor?.first), "limit": .integer(Int64(limit)),
            ]
            var page = try send(.page, members, &state) {
                answer throws(ProgramProcess.Fault) in
                try self.page(answer, limit: limit, &walk)
            }
            state.walk = walk
            guard let apps else { return page }
            let wanted = Set(apps.map { [$0.bundleID, $0.environment.rawValue] })
            for row in page.rows where state.walk.otherApps.count < Self.appsNamed {
                let app = [row.key.bundleID, row.key.environment]
                if !wanted.contains(app) { state.walk.otherApps.insert(app) }
            }
            page.rows.removeAll { !wanted.contains([$0.key.bundleID, $0.key.environment]) }
            return page
        }
    }

    private static let appsNamed = 500
    private static let emptyPagesAllowed = 10_000

    private func page(
        _ answer: ProgramObject, limit: Int, _ walk: inout Walk
    ) throws(ProgramProcess.Fault) -> CompanyPage {
        let list = try answer.list("rows")
        guard list.count <= limit else {
            throw .violation("wrote a page of \(list.count) rows, and \(limit) were asked for")
        }
        let rows = try self.rows(list)
        guard let value = answer["next"] else { return CompanyPage(rows: rows, next: nil) }
        guard let next = value.text, !next.isEmpty else {
            throw .violation("wrote a page with a next that is not a text")
        }
        guard walk.cursors.insert(next.hashValue).inserted else {
            throw .violation("gave the same cursor twice, so that its pages have no end")
        }
        walk.emptyPages = rows.isEmpty ? walk.emptyPages + 1 : 0
        guard walk.emptyPages < Self.emptyPagesAllowed else {
            throw .violation("wrote \(Self.emptyPagesAllowed) pages without a row")
        }
        return CompanyPage(rows: rows, next: [next])
    }

    private func rows(_ list: [JSONValue]) throws(ProgramProcess.Fault) -> [CompanyRow] {
        var keys: Set<SubscriptionKey> = []
        var rows: [CompanyRow] = []
        for value in list {
            let row = try greeting.row(value)
            guard keys.insert(row.key).inserted else {
                throw .violation(
                    "wrote the row of \(row.key.originalTransactionID.prefix(40)) twice in one answer"
                )
            }
            rows.append(row)
        }
        return rows
    }

    /// The rows of these keys that are there.
    ///
    /// - Parameter keys: At most as many as a page has.
    /// - Returns: In the program's order.
    /// - Throws: `StoreError` where they cannot be read.
    package func rows(of keys: [SubscriptionKey]) throws(StoreError) -> [CompanyRow] {
        guard !keys.isEmpty else { return [] }
        return try ask(.rows, ["keys": .array(keys.map(\.json))]) {
            answer throws(ProgramProcess.Fault) in
            let rows = try self.rows(try answer.list("rows"))
            guard Set(keys).isSuperset(of: rows.map(\.key)) else {
                throw .violation("wrote a row that was not asked for")
            }
            return rows
        }
    }

    /// The row of a key as it is; `nil` for none.
    ///
    /// - Parameter key: In trueup's form.
    /// - Returns: The row.
    /// - Throws: `StoreError` where it cannot be read.
    package func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow? {
        try rows(of: [key]).first
    }

    /// Every row has a key.
    package func keylessRows(
        of table: MappedTable, of apps: [AppIdentity]?
    ) throws(StoreError) -> KeylessRows { KeylessRows() }

    /// The other apps that the last reading of all rows met.
    package func apps(besides apps: [AppIdentity]) throws(StoreError) -> [[String?]] {
        state.withLock { state in state.walk.otherApps.sorted { $0.lexicographicallyPrecedes($1) } }
    }

    /// The rows with an original transaction id under some apps.
    ///
    /// - Parameters:
    ///   - id: The original transaction id.
    ///   - apps: As `apps(besides:)` found them.
    /// - Returns: The rows.
    /// - Throws: `StoreError` where they cannot be read.
    package func rows(
        holding id: String, in apps: [[String?]]
    ) throws(StoreError) -> [CompanyRow] {
        try rows(
            of: apps.compactMap { app in
                guard app.count == 2, let bundle = app[0], let environment = app[1] else {
                    return nil
                }
                return SubscriptionKey(
                    bundleID: bundle, environment: environment, originalTransactionID: id)
            })
    }

    /// A program has no tables to propose a mapping from.
    package func tables() throws(StoreError) -> [CompanyTableDescription] { [] }

    /// The program prepares its ledger itself.
    package func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? { nil }

    /// A program keeps no entitlements.
    package func obstacleToEntitlements(mayWrite: Bool) throws(StoreError) -> String? { nil }

    package func entitlements(
        _ select: (EntitlementStatements) -> MappedStatement
    ) throws(StoreError) -> [CompanyEntitlement] { [] }
}

extension ProgramCompany {
    /// Begins a transaction.
    ///
    /// - Throws: `StoreError` where the program was ended.
    package func begin() throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            if let lateness = state.lateness { throw lateness }
            if state.process == nil { throw state.failure ?? Self.stopped(command) }
            state.unit = (nil, nil)
        }
    }

    /// Takes the one change of the transaction; whether its row is as it was read, the commit tells.
    ///
    /// - Parameter change: In our columns and forms.
    /// - Returns: Its fate, as far as it is known before it is sent.
    /// - Throws: `.inconsistent` for a second change.
    package func write(_ change: CompanyChange) throws(StoreError) -> CompanyWriteFate {
        guard change.action != .insert || greeting.takesInserts else {
            return .refused("the store program takes no inserted rows (\"inserts\":false)")
        }
        // A text with a NUL would not be read again.
        guard greeting.members(change.before, by: mapping) != nil,
            greeting.members(change.after, by: mapping) != nil,
            !change.after.values.contains(where: { $0.plainText.utf8.contains(0) })
        else { return .refused("its columns cannot hold the value") }
        return try state.withLock { state throws(StoreError) in
            guard state.unit != nil, state.unit?.change == nil else {
                throw .inconsistent("A unit of a store program has one correction.")
            }
            state.unit?.change = change
            return .applied(version: nil)
        }
    }

    /// Adds the entry of the change.
    ///
    /// - Parameter entry: As the books have it.
    /// - Throws: `.inconsistent` outside of a transaction.
    package func append(_ entry: CompanyLedgerEntry) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit != nil, state.unit?.entry == nil else {
                throw .inconsistent("A unit of a store program has one entry.")
            }
            state.unit?.entry = entry
        }
    }

    /// Gives the transaction up: nothing of it was sent.
    package func rollBack() { state.withLock { $0.unit = nil } }

    /// Sends the change with its entry, and reads the entry back.
    ///
    /// - Returns: `.unknown` where the program was lost, cannot tell, or answered something else
    ///   than a fate: only its ledger tells.
    /// - Throws: The error that the program answered.
    package func commit(
        keeping entitlements: [CompanyEntitlementChange] = []
    ) throws(StoreError) -> CommitOutcome {
        try state.withLock { state throws(StoreError) in
            let unit = state.unit
            state.unit = nil
            guard let change = unit?.change, let entry = unit?.entry else { return .committed }
            let fate: ProgramFate?
            do throws(StoreError) {
                fate = try write([(change, entry)], &state)?.first
            } catch {
                guard state.process == nil else { throw error }
                state.isWriteOpen = true
                return .unknown
            }
            switch fate {
            case .stale: return .stale
            case .refused(let reason): return .refused(reason)
            case nil:
                _ = try? send(.bye, [:], &state) { _ in }
                state.process?.end(within: Self.grace)
                state.process = nil
                state.isWriteOpen = true
                return .unknown
            case .applied: return try verify(entry, &state)
            }
        }
    }

    func item(_ change: CompanyChange, _ entry: CompanyLedgerEntry) -> CanonicalJSON {
        var item: [String: CanonicalJSON] = [
            "entry": entry.json, "action": .string(change.action.rawValue), "key": change.key.json,
            "before": greeting.members(change.before, by: mapping) ?? .null,
            "after": greeting.members(change.after, by: mapping) ?? .null,
        ]
        if let version = change.version { item["version"] = .integer(version) }
        return .object(item)
    }

    /// Sends the rows of a unit with their entries.
    ///
    /// - Returns: Their fates; `nil` where the program cannot tell.
    func write(
        _ unit: [(change: CompanyChange, entry: CompanyLedgerEntry)], _ state: inout State
    ) throws(StoreError) -> [ProgramFate]? {
        let items = unit.map { item($0.change, $0.entry) }
        return try send(.write, ["unit": .array(items)], &state) {
            answer throws(ProgramProcess.Fault) in
            try ProgramFate.all(of: answer, count: items.count)
        }
    }

    /// Nothing counts as committed that the ledger there does not have.
    private func verify(
        _ entry: CompanyLedgerEntry, _ state: inout State
    ) throws(StoreError) -> CommitOutcome {
        let found: [CompanyLedgerEntry]
        do throws(StoreError) {
            found = try entries(after: entry.number &- 1, limit: 1, &state)
        } catch {
            guard state.process == nil else { throw error }
            state.isWriteOpen = true
            return .unknown
        }
        guard found.first?.number == entry.number, found.first?.digest == entry.digest else {
            throw .unavailable(
                "The store program \(command.name) said that it has committed the ledger entry "
                    + "\(entry.number), and its entries lack it. The correction does not count as "
                    + "written. Correct the program (\(DocumentationPage.storePrograms)), and run the "
                    + "job again: it reads every row again.")
        }
        return .committed
    }

    /// Entries with higher numbers, in order.
    ///
    /// After a write without an answer the program is started again before it is asked.
    ///
    /// - Parameters:
    ///   - number: The last number that is known.
    ///   - limit: How many at most.
    /// - Returns: The entries.
    /// - Throws: `StoreError` where the program does not answer.
    package func entries(
        after number: Int64, limit: Int
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        try state.withLock { state throws(StoreError) in
            if state.process == nil, state.isWriteOpen {
                state.isWriteOpen = false
                try restart(&state)
            }
            return try entries(after: number, limit: limit, &state)
        }
    }

    func entries(
        after number: Int64, limit: Int, _ state: inout State
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        let members: [String: CanonicalJSON] = [
            "after": .integer(number), "limit": .integer(Int64(limit)),
        ]
        return try send(.entries, members, &state) { answer throws(ProgramProcess.Fault) in
            let list = try answer.list("entries")
            guard list.count <= limit else {
                throw .violation(
                    "wrote \(list.count) entries, and \(limit) were asked for")
            }
            var entries: [CompanyLedgerEntry] = []
            for value in list {
                let entry = try CompanyLedgerEntry(value)
                guard entry.number > entries.last?.number ?? number else {
                    throw .violation("wrote entries that are not in the order of their numbers")
                }
                entries.append(entry)
            }
            return entries
        }
    }
}
