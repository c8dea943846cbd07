import Subscriptions
import Synchronization

/// The promises of docs/store-programs.md, tried against a program whose table may be filled and
/// emptied.
package struct StoreContract {
    /// One promise, with what was found.
    package struct Finding: Hashable, Sendable {
        package let promise: String
        package let outcome: Outcome
        /// Figures, or what is wrong.
        package let detail: String

        package enum Outcome: String, Hashable, Sendable {
            case kept, broken
            /// The program does not keep what is needed to try it.
            case notTried = "not tried"
        }
    }

    /// A promise that the program breaks.
    private struct Broken: Error {
        let words: String
    }

    private let company: ProgramCompany
    private let app = (bundle: "com.example.store-check", environment: "Production")
    /// The keys of the rows that are tried; the key of each differs from the others in more than its
    /// letter case.
    private var keys: [SubscriptionKey] = []
    private var nextEntry: Int64 = 1
    private let texts: [MappedField]
    private let times: [MappedField]
    /// Whether the rows are this command's own.
    private let fills: Bool

    private static let rowsTried = 25
    private static let killsTried = 24

    /// - Parameter company: Started for writing, and confirmed as scratch.
    package init(_ company: ProgramCompany) {
        self.company = company
        let columns = company.greeting.columns
        fills = company.greeting.takesInserts
        texts = MappedTable.subscriptions.fields.filter { columns.contains($0) && $0.form == .text }
        times = MappedTable.subscriptions.fields.filter { columns.contains($0) && $0.form == .time }
    }

    /// Tries every promise.
    ///
    /// - Parameter tell: Gets each finding as soon as it is known.
    /// - Returns: Whether the program keeps all promises that were tried.
    package mutating func holds(_ tell: (Finding) -> Void) -> Bool {
        let promises: [(String, (inout StoreContract) throws -> String?)] = [
            ("rows can be inserted", { try $0.fill() }),
            ("pages have every row once", { try $0.pages() }),
            ("pages lose no row while others change", { try $0.pagesUnderChange() }),
            ("rows has those that exist", { try $0.rowsThatExist() }),
            ("a change is made, with its entry", { try $0.change() }),
            ("compare-and-set in every combination", { try $0.combinations() }),
            ("a missing row is stale", { try $0.missingRow() }),
            ("large and odd texts are kept", { try $0.oddTexts() }),
            ("texts are compared by their bytes", { try $0.letterCase() }),
            ("times are kept exactly", { try $0.extremeTimes() }),
            ("an entry number is unique", { try $0.uniqueNumbers() }),
            ("entries are in order", { try $0.order() }),
            ("a unit leaves out only its stale rows", { try $0.mixedUnit() }),
            ("a unit of the greatest size is written", { try $0.greatestUnit() }),
            ("killed between two lines, nothing is lost", { try $0.kills() }),
            ("killed over a write, row and entry agree", { try $0.killedWrites() }),
            ("rows can be deleted", { try $0.empty() }),
        ]
        var holds = true
        for (name, promise) in promises {
            let finding: Finding
            do {
                // A promise before may have ended the program.
                try company.revive()
                let detail = try promise(&self)
                finding = Finding(
                    promise: name, outcome: detail == nil ? .notTried : .kept, detail: detail ?? "")
            } catch {
                holds = false
                let words = (error as? Broken)?.words ?? (error as? StoreError)?.description
                finding = Finding(
                    promise: name, outcome: .broken, detail: words ?? "an error")
            }
            tell(finding)
            // Without rows nothing else can be tried.
            if name == promises[0].0, !holds || keys.isEmpty { return false }
        }
        return holds
    }
}

// MARK: - Steps

extension StoreContract {
    private mutating func entry() -> CompanyLedgerEntry {
        defer { nextEntry += 1 }
        return Self.entry(nextEntry)
    }

    private static func entry(_ number: Int64, _ text: String = "") -> CompanyLedgerEntry {
        let hash = String(repeating: "0", count: 40) + String(number)
        let content = CanonicalJSON.object([
            "ledger_entry": .integer(number), "ledger_hash": .string(hash),
            "reason": .string(text),
        ])
        return CompanyLedgerEntry(
            number: number, digest: hash, run: "store-check", content: content.rendered,
            writtenAt: Timestamp(unixMilliseconds: 0))
    }

    private func row(_ key: SubscriptionKey) throws -> CompanyRow {
        guard let row = try company.row(key) else {
            throw Broken(words: "the row of \(key.originalTransactionID) is not there")
        }
        return row
    }

    /// A change of some columns from what they hold now.
    private func update(
        _ row: CompanyRow, _ after: [MappedField: FieldValue]
    ) -> CompanyChange {
        CompanyChange(
            action: .update, key: row.key,
            before: after.reduce(into: [:]) { $0[$1.key] = row.values[$1.key] ?? .null },
            after: after, version: row.version)
    }

    /// A change of the status to 2, or from there to 1.
    private func otherStatus(of row: CompanyRow) -> CompanyChange {
        update(row, [.status: .integer(row.values[.status] == .integer(1) ? 2 : 1)])
    }

    private func write(
        _ unit: [(change: CompanyChange, entry: CompanyLedgerEntry)]
    ) throws -> [ProgramFate] {
        let fates = try company.state.withLock { state throws(StoreError) in
            try company.write(unit, &state)
        }
        guard let fates else {
            throw Broken(words: "committed is unknown, and nothing disturbed it")
        }
        return fates
    }

    /// Writes one change and requires that row and entry say the same as its fate.
    private mutating func write(
        _ change: CompanyChange, expecting isApplied: Bool, _ what: String
    ) throws {
        let before = try company.row(change.key)
        let entry = entry()
        let fate = try write([(change, entry)])[0]
        let found = try company.entries(after: entry.number - 1, limit: 1).first
        if case .applied(let version) = fate {
            guard isApplied else { throw Broken(words: "\(what) was applied, and must not be") }
            guard found?.number == entry.number, found?.content == entry.content else {
                throw Broken(
                    words: "\(what) was applied, and its entry is not there as it was given")
            }
            try requireApplied(change, what, version)
        } else {
            // The number was not used.
            nextEntry = entry.number
            guard !isApplied else { throw Broken(words: "\(what) was not applied: \(fate)") }
            guard found == nil else {
                throw Broken(words: "\(what) was not applied, and its entry is there")
            }
            guard try company.row(change.key) == before else {
                throw Broken(words: "\(what) was not applied, and its row has changed")
            }
        }
    }

    private func requireApplied(
        _ change: CompanyChange, _ what: String, _ version: Int64?
    ) throws {
        let after = try company.row(change.key)
        guard change.action != .delete else {
            guard after == nil else { throw Broken(words: "\(what) left its row") }
            return
        }
        guard let after else { throw Broken(words: "\(what) has no row") }
        for (field, value) in change.after {
            let found = after.values[field] ?? .null
            guard found == value || (found.isEmpty && value.isEmpty) else {
                throw Broken(
                    words:
                        "\(what): \(field.name) is \(found.plainText.prefix(40).debugDescription), "
                        + "and \(value.plainText.prefix(40).debugDescription) was written")
            }
        }
        guard company.greeting.hasVersions else { return }
        if let old = change.version, after.version == old {
            throw Broken(words: "\(what) did not raise the version of its row")
        }
        if let version, version != after.version {
            throw Broken(words: "\(what): the fate and the row have different versions")
        }
    }

    private func allRows(limit: Int) throws -> [CompanyRow] {
        var rows: [CompanyRow] = []
        var cursor: CompanyCursor?
        repeat {
            let page = try company.rows(after: cursor, limit: limit)
            rows += page.rows
            cursor = page.next
        } while cursor != nil
        let keys = Set(rows.map(\.key))
        guard keys.count == rows.count else {
            throw Broken(
                words: "with a limit of \(limit), \(rows.count - keys.count) rows are there twice")
        }
        return rows
    }
}

// MARK: - Promises

extension StoreContract {
    private mutating func fill() throws -> String? {
        // Entries that are there stay: the next number follows them.
        while let last = try company.entries(after: nextEntry - 1, limit: 1000).last {
            nextEntry = last.number + 1
        }
        let there = try allRows(limit: 1000)
        guard fills else {
            guard there.count >= 3 else {
                throw Broken(
                    words:
                        "the program takes no inserts, and its table has \(there.count) rows: put at "
                        + "least 3 into it")
            }
            keys = there.prefix(Self.rowsTried).map(\.key)
            return nil
        }
        for row in there where row.key.bundleID == app.bundle { try delete(row.key) }
        for number in 0..<Self.rowsTried {
            // Ids as Apple has them, and some that sort otherwise as texts than as numbers.
            let id = number.isMultiple(of: 3) ? "\(number + 1)" : "2000000\(100_000_000 + number)"
            let key = SubscriptionKey(
                bundleID: app.bundle, environment: app.environment, originalTransactionID: id)
            var values: [MappedField: FieldValue] = [.status: .integer(1)]
            for field in times.prefix(1) {
                values[field] = .time(Timestamp(unixMilliseconds: 1_790_000_000_000))
            }
            for field in texts.prefix(1) { values[field] = .text("text \(number)") }
            try write(
                CompanyChange(action: .insert, key: key, before: [:], after: values),
                expecting: true, "the insert of \(id)")
            keys.append(key)
        }
        try write(
            CompanyChange(
                action: .insert, key: keys[0], before: [:], after: [.status: .integer(2)]),
            expecting: false, "the insert of a row that is there")
        return "\(keys.count) rows"
    }

    private func pages() throws -> String? {
        let all = Set(try allRows(limit: 1000).map(\.key))
        guard all.isSuperset(of: keys) else { throw Broken(words: "rows are missing") }
        for limit in [1, 2, 7, max(1, all.count), all.count + 1] where all.count <= 2000 {
            guard Set(try allRows(limit: limit).map(\.key)) == all else {
                throw Broken(words: "with a limit of \(limit) there are other rows than with 1,000")
            }
        }
        return "\(all.count) rows in pages of 1 to \(all.count + 1)"
    }

    private mutating func pagesUnderChange() throws -> String? {
        var seen: [SubscriptionKey: Int] = [:]
        var cursor: CompanyCursor?
        var number = 0
        repeat {
            let page = try company.rows(after: cursor, limit: 3)
            for row in page.rows { seen[row.key, default: 0] += 1 }
            cursor = page.next
            number += 1
            // The first row was read already, and the last one is still to come.
            for key in [keys[0], keys[keys.count - 1]] {
                try write(
                    otherStatus(of: row(key)), expecting: true, "a change between two pages")
            }
        } while cursor != nil
        for key in keys where seen[key] != 1 {
            throw Broken(
                words: "the row of \(key.originalTransactionID) was read \(seen[key] ?? 0) times")
        }
        return "\(number) pages, and a change of two rows between each"
    }

    private func rowsThatExist() throws -> String? {
        let absent = SubscriptionKey(
            bundleID: app.bundle, environment: "Sandbox", originalTransactionID: "999")
        guard try company.rows(of: [absent]).isEmpty else {
            throw Broken(words: "a row that does not exist was answered")
        }
        let found = try company.rows(of: keys + [absent])
        guard Set(found.map(\.key)) == Set(keys) else {
            throw Broken(words: "\(found.count) of \(keys.count) rows were answered")
        }
        return "\(keys.count) of \(keys.count + 1) keys"
    }

    private mutating func change() throws -> String? {
        let row = try row(keys[1])
        try write(update(row, [.status: .integer(3)]), expecting: true, "a change of status")
        return "status"
    }

    /// Right and wrong values before, in each column, with a right, a wrong and no version.
    private mutating func combinations() throws -> String? {
        let key = keys[1]
        var tried = 0
        for field in MappedTable.subscriptions.fields where company.greeting.columns.contains(field)
        {
            let (first, second) = Self.values(of: field)
            for standing in [first, .null] where field != .status || standing != .null {
                try set(field, to: standing, of: key)
                for (before, isRight) in [
                    (standing, true), (second, false), (standing == .null ? first : .null, false),
                ] {
                    for version in company.greeting.hasVersions ? [0, 1, nil] : [nil] as [Int64?] {
                        let row = try row(key)
                        var change = update(row, [field: second])
                        change.before[field] = before
                        change.version = version.flatMap { offset in row.version.map { $0 + offset }
                        }
                        let isExpected = isRight && version != 1
                        try write(
                            change, expecting: isExpected,
                            "\(field.name) with \(isRight ? "its value" : "another value") before and "
                                + (version == 1
                                    ? "another version"
                                    : version == 0 ? "its version" : "no version"))
                        tried += 1
                        if isExpected { try set(field, to: standing, of: key) }
                    }
                }
            }
        }
        // One of two columns has changed.
        if let text = texts.first {
            let row = try row(key)
            var change = update(row, [.status: .integer(4), text: .text("other")])
            change.before[text] = .text("never there")
            change.version = nil
            try write(change, expecting: false, "two columns, of which one has another value")
            tried += 1
        }
        return "\(tried) combinations"
    }

    private static func values(of field: MappedField) -> (FieldValue, FieldValue) {
        switch field.form {
        case .text: (.text("one"), .text("two"))
        case .integer: (.integer(1), .integer(2))
        case .time:
            (
                .time(Timestamp(unixMilliseconds: 1_790_000_000_000)),
                .time(Timestamp(unixMilliseconds: 1_790_000_001_000))
            )
        }
    }

    private mutating func set(
        _ field: MappedField, to value: FieldValue, of key: SubscriptionKey
    ) throws {
        let row = try row(key)
        guard row.values[field] ?? .null != value else { return }
        try write(
            update(row, [field: value]), expecting: true,
            "\(field.name) set to \(value.plainText.prefix(20).debugDescription)")
    }

    private mutating func missingRow() throws -> String? {
        let absent = SubscriptionKey(
            bundleID: app.bundle, environment: "Sandbox", originalTransactionID: "999")
        for action in [RowAction.update, .delete] {
            try write(
                CompanyChange(
                    action: action, key: absent, before: [.status: .integer(1)],
                    after: [.status: .integer(2)]),
                expecting: false, "the \(action.rawValue) of a row that is not there")
        }
        guard try company.row(absent) == nil else { throw Broken(words: "the row was made") }
        return "update and delete"
    }

    private mutating func oddTexts() throws -> String? {
        guard let field = texts.first else { return nil }
        let odd = [
            "'; DROP TABLE subscriptions; --", "\"quoted\" \\ back", "line\nfeed\ttab\r",
            " blanks ",
            "e\u{301} \u{e9}", "\u{2028}\u{200F}\u{202E}", "👩‍👩‍👧‍👦 𝔘", "%s {0} $1 :x ?", "null",
            "1e5", "\u{FFFD}\u{FEFF}", String(repeating: "x", count: 100_000),
        ]
        for text in odd { try set(field, to: .text(text), of: keys[1]) }
        let entry = Self.entry(nextEntry, String(repeating: "é\u{0}\n\"", count: 20_000))
        let row = try row(keys[1])
        guard case .applied = try write([(update(row, [.status: .integer(2)]), entry)])[0] else {
            throw Broken(words: "a change with a large entry was not applied")
        }
        nextEntry += 1
        guard try company.entries(after: entry.number - 1, limit: 1).first?.content == entry.content
        else {
            throw Broken(
                words: "an entry of \(entry.content.utf8.count) bytes is not as it was given")
        }
        try set(field, to: .text("text"), of: keys[1])
        return "\(odd.count) texts, and an entry of \(entry.content.utf8.count) bytes"
    }

    private mutating func letterCase() throws -> String? {
        guard let field = texts.first else { return nil }
        try set(field, to: .text("Abc"), of: keys[1])
        let others = ["abc", "Abc ", "A\u{308}bc", "ABC"]
        for other in others {
            var change = update(try row(keys[1]), [field: .text("changed")])
            change.before[field] = .text(other)
            change.version = nil
            try write(
                change, expecting: false,
                "a change from \(other.debugDescription), where Abc is stored,")
        }
        return "\(others.count) texts that are nearly the same"
    }

    private mutating func extremeTimes() throws -> String? {
        guard let field = times.first else { return nil }
        let milliseconds: [Int64] = company.greeting.keepsMilliseconds ? [1, 999] : [0]
        var tried = 0
        for second in [0, -86_400, 1_790_000_000, 2_147_483_648, 4_102_444_800, 253_402_300_799]
            as [Int64]
        {
            for part in milliseconds {
                let time = Timestamp(unixMilliseconds: second * 1000 + part)
                try set(field, to: .time(time), of: keys[1])
                tried += 1
            }
        }
        return "\(tried) times from 1969 to 9999"
    }

    private mutating func uniqueNumbers() throws -> String? {
        guard nextEntry > 1 else { return nil }
        for number in [nextEntry - 1, 1] {
            let before = try row(keys[2])
            let there = try company.entries(after: number - 1, limit: 1)
            guard there.first?.number == number else { continue }
            let change = otherStatus(of: before)
            let fate: ProgramFate?
            do throws(StoreError) {
                fate = try company.state.withLock { state throws(StoreError) in
                    try company.write([(change, Self.entry(number, "again"))], &state)?.first
                }
            } catch {
                // An error is a refusal as well, where the program lives on.
                guard company.state.withLock({ $0.process != nil }) else { throw error }
                fate = .stale
            }
            if case .applied? = fate {
                throw Broken(words: "a second change with the entry \(number) was applied")
            }
            guard try row(keys[2]) == before else {
                throw Broken(
                    words: "a change with the entry \(number), which exists, changed its row")
            }
            guard try company.entries(after: number - 1, limit: 1) == there else {
                throw Broken(words: "the entry \(number) was replaced")
            }
        }
        return "the first and the last number"
    }

    private func order() throws -> String? {
        var counts: [Int] = []
        for limit in [7, 1000] {
            var after: Int64 = 0
            var count = 0
            while let last = try company.entries(after: after, limit: limit).last {
                count += try company.entries(after: after, limit: limit).count
                after = last.number
            }
            counts.append(count)
            guard after == nextEntry - 1 else {
                throw Broken(words: "the last entry is \(after), and \(nextEntry - 1) was written")
            }
        }
        guard counts[0] == counts[1] else {
            throw Broken(words: "\(counts[0]) entries by 7, and \(counts[1]) by 1,000")
        }
        return "\(counts[0]) entries"
    }

    private mutating func mixedUnit() throws -> String? {
        guard company.greeting.unit >= 3 else { return nil }
        let rows = try keys.prefix(3).map { try row($0) }
        var changes = rows.map { row in
            update(row, [.status: .integer(row.values[.status] == .integer(4) ? 1 : 4)])
        }
        changes[1].before[.status] = .integer(77)
        let entries = [entry(), entry(), entry()]
        let fates = try write(Array(zip(changes, entries).map { ($0, $1) }))
        let there = Set(
            try company.entries(after: entries[0].number - 1, limit: 3).map(\.number))
        for (index, fate) in fates.enumerated() {
            let isApplied = if case .applied = fate { true } else { false }
            let hasChanged = try row(rows[index].key) != rows[index]
            guard isApplied == hasChanged, isApplied == there.contains(entries[index].number) else {
                throw Broken(
                    words:
                        "the fate of the row \(index + 1) of 3, its row and its entry say different "
                        + "things")
            }
            guard isApplied != (index == 1) else {
                throw Broken(
                    words: index == 1
                        ? "a stale row was applied" : "the row \(index + 1) of 3 was not applied")
            }
        }
        return "3 rows, of which one is stale"
    }

    private mutating func greatestUnit() throws -> String? {
        let count = Int(min(company.greeting.unit, Int64(keys.count)))
        guard count > 1 else { return nil }
        var unit: [(change: CompanyChange, entry: CompanyLedgerEntry)] = []
        for key in keys.prefix(count) {
            unit.append((otherStatus(of: try row(key)), entry()))
        }
        let first = unit[0].entry.number
        let fates = try write(unit)
        guard fates.allSatisfy({ if case .applied = $0 { true } else { false } }) else {
            throw Broken(words: "not all of \(count) rows were applied")
        }
        guard try company.entries(after: first - 1, limit: count).count == count else {
            throw Broken(words: "not all of \(count) entries are there")
        }
        return "\(count) rows"
    }

    /// Kills the program while nothing is asked of it, and starts it again.
    private func kills() throws -> String? {
        let rows = try allRows(limit: 1000)
        let last = try company.entries(after: nextEntry - 2, limit: 1)
        for request in [ProgramRequest.page, .rows, .entries] {
            try company.interrupt(request, keys, after: .zero)
            guard try company.entries(after: nextEntry - 2, limit: 1) == last else {
                throw Broken(words: "the last entry is another one after a kill")
            }
            guard try allRows(limit: 1000) == rows else {
                throw Broken(words: "rows are others after a kill")
            }
        }
        return "3 kills"
    }

    /// Kills the program at different times after a write was sent.
    private mutating func killedWrites() throws -> String? {
        var committed = 0
        for number in 0..<Self.killsTried {
            let key = keys[number % keys.count]
            let before = try row(key)
            let change = otherStatus(of: before)
            let entry = entry()
            // Most commits take some milliseconds.
            let delay = Duration.microseconds(number / 4 * number * 200)
            try company.interrupt([(change, entry)], after: delay)
            let found = try company.entries(after: entry.number - 1, limit: 1).first
            let hasChanged = try row(key) != before
            guard (found != nil) == hasChanged else {
                throw Broken(
                    words: "killed \(delay) after a write, the row "
                        + (hasChanged
                            ? "has changed without its entry"
                            : "has not changed, and its entry is there"))
            }
            if found == nil {
                nextEntry = entry.number
            } else {
                committed += 1
            }
        }
        return "\(Self.killsTried) kills, after \(committed) of which the write was committed"
    }

    private mutating func delete(_ key: SubscriptionKey) throws {
        let row = try row(key)
        var change = update(row, [.status: .null])
        change.action = .delete
        try write(change, expecting: true, "the deletion of \(key.originalTransactionID)")
    }

    private mutating func empty() throws -> String? {
        guard fills else { return nil }
        var change = update(try row(keys[0]), [.status: .null])
        change.action = .delete
        change.before[.status] = .integer(77)
        change.version = nil
        try write(change, expecting: false, "the deletion of a row with another status")
        for key in keys { try delete(key) }
        let left = Set(try allRows(limit: 1000).map(\.key)).intersection(keys)
        guard left.isEmpty else { throw Broken(words: "\(left.count) rows are still in pages") }
        return "\(keys.count) rows"
    }
}
