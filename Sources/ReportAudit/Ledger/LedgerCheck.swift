import Crypto
import Subscriptions

/// Checks the chain of the ledger in the database, and compares it with the reports.
struct LedgerCheck {
    private static let name = "the ledger in the database"

    /// The ledger as the reports have it.
    let trail: LedgerTrail
    /// The ledger head of the newest run.
    let head: String?
    /// Whether all reports were read, so that every entry must be in one of them.
    let isWholeFolder: Bool

    struct Outcome {
        var problems: [AuditProblem] = []
        var entries = 0
        var notes: [String] = []
    }

    func check(_ reading: DatabaseReading.Rows) throws -> Outcome {
        var outcome = Outcome()
        let reported = trail.entriesInOrder()
        var last: (number: Int64, hash: String) = (0, LedgerTrail.beginning)
        var unshown: ClosedRange<Int64>?
        var hasHead = head.map { $0.isSame(as: LedgerTrail.beginning) } ?? true
        try reading { row in
            let entry: StoredEntry
            do throws(UnreadableFile) {
                entry = try StoredEntry(StoredRow(columns: row))
            } catch {
                var number = last.number &+ 1
                if case .integer(let stated) = row["entry"] { number = stated }
                outcome.add(number, error.reason)
                return
            }
            outcome.entries += 1
            for problem in problems(of: entry, after: last, reported) {
                outcome.add(entry.number, problem)
            }
            if isBeforeEveryReport(entry.number, hasHead: hasHead) {
                let first = unshown?.lowerBound ?? entry.number
                unshown = first...max(first, entry.number)
            }
            last = (entry.number, entry.hash)
            if let head, entry.hash.isSame(as: head) { hasHead = true }
        }
        if let unshown { outcome.notes.append(Self.note(unshown)) }
        if !hasHead {
            outcome.problems.append(
                AuditProblem(
                    file: Self.name,
                    text: "it ends with entry \(last.number) and does not hold the entry that the "
                        + "newest report ends with"
                        + (trail.number.map { ", number \($0)" } ?? "")
                        + ": it was cut, or a backup was put back; if so, declare it with \"trueup "
                        + "restored --reason TEXT\""))
        }
        return outcome
    }

    /// Whether an entry is older than those of the reports at hand, whose front was deleted.
    private func isBeforeEveryReport(_ number: Int64, hasHead: Bool) -> Bool {
        guard isWholeFolder else { return false }
        guard let first = trail.firstNumber else { return !hasHead }
        return number < first && trail.entry(number) == nil
    }

    private static func note(_ unshown: ClosedRange<Int64>) -> String {
        let (first, last) = (unshown.lowerBound, unshown.upperBound)
        let entries =
            first == last
            ? "entry \(first) of the ledger in the database is"
            : "entries \(first) to \(last) of the ledger in the database are"
        return entries + " in no report of this folder: the older reports were removed from it, or "
            + "are in another one"
    }

    private func problems(
        of entry: StoredEntry, after last: (number: Int64, hash: String), _ reported: EntriesInOrder
    ) -> [String] {
        var problems: [String] = []
        if entry.number != last.number &+ 1 {
            problems.append(
                "the entry before should be \(entry.number &- 1), but is \(last.number)")
        }
        if !entry.previous.isSame(as: last.hash) {
            problems.append("it does not follow the entry before, whose hash is \(last.hash)")
        }
        if !entry.holds {
            problems.append("its hash is not the hash of its contents: the entry was edited")
        }
        if let shown = reported.entry(entry.number) {
            if shown.text("ledger_hash")?.isSame(as: entry.hash) != true {
                problems.append("the reports show other contents under its number")
            }
        } else if isWholeFolder, trail.covers(entry.number) {
            problems.append("no report shows it")
        }
        return problems
    }
}

extension LedgerCheck.Outcome {
    fileprivate mutating func add(_ number: Int64, _ text: String) {
        problems.append(
            AuditProblem(file: "the ledger in the database", ledgerEntry: number, text: text))
    }
}

/// An entry of the ledger, read from the columns of the database.
struct StoredEntry {
    let number: Int64
    let previous: String
    let hash: String
    private let members: [String: CanonicalJSON]

    /// The columns that an entry states under another name or in another form, or that every entry
    /// states.
    ///
    /// Any other column of the table is a member of the same name, which an entry without a value
    /// leaves out. So a column that a later version adds needs no line here.
    private static let renamed: Set<String> = [
        "entry", "previous_hash", "hash", "run_id", "kinds", "target_table", "bundle_id",
        "environment", "original_transaction_id", "transaction_id", "changes", "evidence",
        "evidence_renewal", "apple_signed_date", "written_at", "actor", "reason", "undo_of",
    ]

    /// - Throws: When a column is missing or has no meaning.
    init(_ row: StoredRow) throws(UnreadableFile) {
        func text(_ column: String) throws(UnreadableFile) -> String { try row.text(column) }
        func integer(_ column: String) throws(UnreadableFile) -> Int64 { try row.integer(column) }
        func textOrNull(_ column: String) throws(UnreadableFile) -> CanonicalJSON {
            row.isNull(column) ? .null : .string(try row.text(column))
        }
        number = try integer("entry")
        previous = try text("previous_hash")
        hash = try text("hash")
        let changes = try StoredChanges(try text("changes"))
        let kinds = try text("kinds")
        var members: [String: CanonicalJSON] = [
            "ledger_entry": .integer(number), "ledger_previous": .string(previous),
            "run_id": .string(try text("run_id")),
            "kinds": .array(
                kinds.isEmpty
                    ? []
                    : kinds.split(separator: "\n", omittingEmptySubsequences: false)
                        .map { .string(String($0)) }),
            "table": .string(try text("target_table")), "app": .string(try text("bundle_id")),
            "environment": .string(try text("environment")),
            "original_transaction_id": .string(try text("original_transaction_id")),
            "transaction_id": try textOrNull("transaction_id"),
            "before": .object(changes.before), "after": .object(changes.after),
            "evidence": .string(try text("evidence")),
            "evidence_renewal": try textOrNull("evidence_renewal"),
            "apple_signed_date": .time(
                Timestamp(unixMilliseconds: try integer("apple_signed_date"))),
            "written_at": .time(Timestamp(unixMilliseconds: try integer("written_at"))),
            "actor": .string(try text("actor")), "reason": .string(try text("reason")),
        ]
        members["undo_of"] = row.isNull("undo_of") ? .null : .integer(try integer("undo_of"))
        for (name, value) in row.columns where !Self.renamed.contains(name) {
            switch value {
            case .null: continue
            case .integer(let number): members[name] = .integer(number)
            case .text(let text): members[name] = .string(text)
            case .other: throw UnreadableFile("its column \(name) has no meaning")
            }
        }
        self.members = members
    }

    /// Whether the hash is the hash of the contents.
    var holds: Bool {
        let sealed = previous + CanonicalJSON.object(members).rendered
        return SHA256.hash(data: Array(sealed.utf8)).hexadecimal.isSame(as: hash)
    }
}

/// The column `changes` of the ledger: for each changed field its name, the value before and the
/// value after.
///
/// `n` is null, `i5;` an integer, `m5;` a time in UNIX milliseconds, `t2:ab` a text of two bytes.
struct StoredChanges {
    private(set) var before: [String: CanonicalJSON] = [:]
    private(set) var after: [String: CanonicalJSON] = [:]

    init(_ column: String) throws(UnreadableFile) {
        var rest = Array(column.utf8)[...]
        while !rest.isEmpty {
            guard case .string(let name) = try Self.value(&rest) else { throw Self.unreadable }
            before[name] = try Self.value(&rest)
            after[name] = try Self.value(&rest)
        }
    }

    private static var unreadable: UnreadableFile {
        UnreadableFile("its column changes cannot be read")
    }

    private static func value(
        _ rest: inout ArraySlice<UInt8>
    ) throws(UnreadableFile) -> CanonicalJSON {
        switch rest.popFirst() {
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "i"): return .integer(try number(&rest, before: UInt8(ascii: ";")))
        case UInt8(ascii: "m"):
            let milliseconds = try number(&rest, before: UInt8(ascii: ";"))
            return .time(Timestamp(unixMilliseconds: milliseconds))
        case UInt8(ascii: "t"):
            let count = try number(&rest, before: UInt8(ascii: ":"))
            guard count >= 0, count <= rest.count else { throw unreadable }
            let text = rest.prefix(Int(count))
            rest.removeFirst(Int(count))
            return .string(String(decoding: text, as: UTF8.self))
        default: throw unreadable
        }
    }

    private static func number(
        _ rest: inout ArraySlice<UInt8>, before mark: UInt8
    ) throws(UnreadableFile) -> Int64 {
        guard let end = rest.firstIndex(of: mark),
            let number = Int64(String(decoding: rest[..<end], as: UTF8.self))
        else { throw unreadable }
        rest = rest[(end + 1)...]
        return number
    }
}

/// One stored value of a table in the database.
package enum StoredColumn: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    /// A number with a fraction, or bytes; neither occurs in these tables.
    case other
}

/// Returns the stored rows of the chains in the database, in the order of their numbers.
///
/// The caller opens the database and reads the raw values. Their meaning, and whether the chains
/// are intact, is decided here without the code that wrote them.
package struct DatabaseReading {
    package typealias Rows = (_ body: ([String: StoredColumn]) throws -> Void) throws -> Void

    package let ledger: Rows
    /// The decisions about findings.
    package let decisions: Rows
    /// The highest number of a decision that a stored run refers to; `nil` where none does.
    package let highestDecisionInUse: () throws -> Int64?

    package init(
        ledger: @escaping Rows, decisions: @escaping Rows,
        highestDecisionInUse: @escaping () throws -> Int64?
    ) {
        self.ledger = ledger
        self.decisions = decisions
        self.highestDecisionInUse = highestDecisionInUse
    }
}

/// One stored row, with typed access to its columns.
struct StoredRow {
    let columns: [String: StoredColumn]

    func text(_ column: String) throws(UnreadableFile) -> String {
        guard case .text(let text) = columns[column] else {
            throw UnreadableFile("its column \(column) is not a text")
        }
        return text
    }

    func integer(_ column: String) throws(UnreadableFile) -> Int64 {
        guard case .integer(let number) = columns[column] else {
            throw UnreadableFile("its column \(column) is not a number")
        }
        return number
    }

    func isNull(_ column: String) -> Bool { columns[column] == .null }
}
