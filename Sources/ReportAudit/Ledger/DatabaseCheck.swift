import Crypto
package import Subscriptions

extension AuditResult {
    /// Checks the chains in the database: the ledger, which is compared with the reports, and the
    /// decisions about findings.
    ///
    /// - Parameters:
    ///   - database: The chains.
    ///   - trail: The ledger as the reports have it, up to the newest run.
    /// - Throws: What reading the database throws.
    mutating func check(_ database: DatabaseReading, against trail: LedgerTrail) throws {
        try checkLedger(database, trail)
        try checkDecisions(database)
    }

    private mutating func checkLedger(
        _ database: DatabaseReading, _ trail: LedgerTrail
    ) throws {
        let file = "the ledger in the database"
        let head = newest?.ledgerHead
        let reported = EntriesInOrder(trail)
        var unshown: ClosedRange<Int64>?
        var hasHead = head.map { $0.isSame(as: LedgerTrail.beginning) } ?? true
        let (entries, last) = try Self.follow(
            database.ledger, of: "entry", StoredLink.init(entry:)
        ) { entry, link, problems in
            for problem in problems {
                add(file, entry: entry, problem)
            }
            guard let link else { return }
            if let problem = self.problem(of: link, reported, trail) {
                add(file, entry: entry, problem)
            }
            if isBeforeEveryReport(entry, trail, hasHead: hasHead) {
                let first = unshown?.lowerBound ?? entry
                unshown = first...max(first, entry)
            }
            if let head, link.hash.isSame(as: head) { hasHead = true }
        }
        ledgerEntries = entries
        if let unshown { notes.append(Self.note(unshown)) }
        if !hasHead {
            add(
                file,
                "it ends with entry \(last) and does not hold the entry that the newest report ends "
                    + "with" + (trail.number.map { ", number \($0)" } ?? "")
                    + ": it was cut, or a backup was put back; if so, declare it with \"trueup "
                    + "restored --reason TEXT\"")
        }
    }

    /// The chain does not show that its end was cut off, so decisions that stored runs refer to must
    /// exist.
    private mutating func checkDecisions(_ database: DatabaseReading) throws {
        let file = "the decisions in the database"
        let (count, last) = try Self.follow(
            database.decisions, of: "decision", StoredLink.init(decision:)
        ) { decision, _, problems in
            for problem in problems { add(file, "decision \(decision): \(problem)") }
        }
        decisions = count
        if let used = try database.highestDecisionInUse(), used > last {
            add(
                file, "decision \(used): runs refer to it, but the chain ends with decision \(last)"
            )
        }
    }

    /// Follows a chain in the database from its first link to its last.
    ///
    /// - Parameters:
    ///   - rows: The stored links.
    ///   - noun: The word for a link, which is also the column of its number.
    ///   - read: Reads a row.
    ///   - take: Takes the number of each link, the link where it can be read, and what is wrong
    ///     with it or its place.
    /// - Returns: How many links could be read, and the number of the last one.
    /// - Throws: What reading the database throws.
    private static func follow(
        _ rows: DatabaseReading.Rows, of noun: String,
        _ read: @escaping ([String: FieldValue?]) throws(UnreadableFile) -> StoredLink,
        take: (_ number: Int64, _ link: StoredLink?, _ problems: [String]) -> Void
    ) throws -> (count: Int, last: Int64) {
        var count = 0
        var last = (number: Int64(0), hash: LedgerTrail.beginning)
        // A closure that does not escape cannot be used in another such one.
        try withoutActuallyEscaping(take) { take in
            try rows { row in
                do throws(UnreadableFile) {
                    let link = try read(row)
                    count += 1
                    take(link.number, link, link.problems(after: last, of: noun))
                    last = (link.number, link.hash)
                } catch {
                    var number = last.number &+ 1
                    if case .integer(let stated) = row[noun] { number = stated }
                    take(number, nil, [error.reason])
                }
            }
        }
        return (count, last.number)
    }

    /// Returns how an entry differs from the reports; `nil` where it does not.
    private func problem(
        of entry: StoredLink, _ reported: EntriesInOrder, _ trail: LedgerTrail
    ) -> String? {
        if let shown = reported.entry(entry.number) {
            return shown.text("ledger_hash")?.isSame(as: entry.hash) == true
                ? nil : "the reports show other contents under its number"
        }
        return isWholeFolder && trail.covers(entry.number) ? "no report shows it" : nil
    }

    /// Whether an entry is older than those of the reports at hand, whose front was deleted.
    private func isBeforeEveryReport(
        _ number: Int64, _ trail: LedgerTrail, hasHead: Bool
    ) -> Bool {
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
}

/// A link of a chain in the database, which has the hash of the link before and of its own contents.
private struct StoredLink {
    let number: Int64
    let previous: String
    let hash: String
    /// The contents, which the hash covers.
    let members: [String: CanonicalJSON]

    /// Returns what is wrong with its place behind another link, and with its contents.
    func problems(after last: (number: Int64, hash: String), of noun: String) -> [String] {
        var problems: [String] = []
        if number != last.number &+ 1 {
            problems.append(
                "the \(noun) before should be \(number &- 1), but is \(last.number)")
        }
        if !previous.isSame(as: last.hash) {
            problems.append("it does not follow the \(noun) before, whose hash is \(last.hash)")
        }
        let sealed = previous + CanonicalJSON.object(members).rendered
        if !SHA256.hash(data: Array(sealed.utf8)).hexadecimal.isSame(as: hash) {
            problems.append("its hash is not the hash of its contents: the \(noun) was edited")
        }
        return problems
    }
}

/// Entries of the ledger.
extension StoredLink {
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
    init(entry row: [String: FieldValue?]) throws(UnreadableFile) {
        number = try row.integer("entry")
        previous = try row.text("previous_hash")
        hash = try row.text("hash")
        let changes = try Self.changes(try row.text("changes"))
        let kinds = try row.text("kinds")
        var members: [String: CanonicalJSON] = [
            "ledger_entry": .integer(number), "ledger_previous": .string(previous),
            "run_id": .string(try row.text("run_id")),
            "kinds": .array(
                kinds.isEmpty
                    ? []
                    : kinds.split(separator: "\n", omittingEmptySubsequences: false)
                        .map { .string(String($0)) }),
            "table": .string(try row.text("target_table")),
            "app": .string(try row.text("bundle_id")),
            "environment": .string(try row.text("environment")),
            "original_transaction_id": .string(try row.text("original_transaction_id")),
            "transaction_id": try row.textOrNull("transaction_id"),
            "before": .object(changes.before), "after": .object(changes.after),
            "evidence": .string(try row.text("evidence")),
            "evidence_renewal": try row.textOrNull("evidence_renewal"),
            "apple_signed_date": try row.time("apple_signed_date"),
            "written_at": try row.time("written_at"), "actor": .string(try row.text("actor")),
            "reason": .string(try row.text("reason")),
            "undo_of": row.isNull("undo_of") ? .null : .integer(try row.integer("undo_of")),
        ]
        for (name, value) in row where !Self.renamed.contains(name) {
            switch value {
            case .null: continue
            case .integer(let number): members[name] = .integer(number)
            case .text(let text): members[name] = .string(text)
            case .time, nil: throw UnreadableFile("its column \(name) has no meaning")
            }
        }
        self.members = members
    }

    /// Reads the column `changes`: for each changed field its name, the value before and the value
    /// after.
    private static func changes(
        _ column: String
    ) throws(UnreadableFile) -> (before: [String: CanonicalJSON], after: [String: CanonicalJSON]) {
        var before: [String: CanonicalJSON] = [:]
        var after: [String: CanonicalJSON] = [:]
        var rest = Array(column.utf8)[...]
        while !rest.isEmpty {
            guard case .string(let name) = try changedValue(&rest) else { throw unreadableChanges }
            before[name] = try changedValue(&rest)
            after[name] = try changedValue(&rest)
        }
        return (before, after)
    }

    private static var unreadableChanges: UnreadableFile {
        UnreadableFile("its column changes cannot be read")
    }

    /// `n` is null, `i5;` an integer, `m5;` a time in UNIX milliseconds, `t2:ab` a text of two bytes.
    private static func changedValue(
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
            guard count >= 0, count <= rest.count else { throw unreadableChanges }
            let text = rest.prefix(Int(count))
            rest.removeFirst(Int(count))
            return .string(String(decoding: text, as: UTF8.self))
        default: throw unreadableChanges
        }
    }

    private static func number(
        _ rest: inout ArraySlice<UInt8>, before mark: UInt8
    ) throws(UnreadableFile) -> Int64 {
        guard let end = rest.firstIndex(of: mark),
            let number = Int64(String(decoding: rest[..<end], as: UTF8.self))
        else { throw unreadableChanges }
        rest = rest[(end + 1)...]
        return number
    }
}

/// Decisions about findings.
extension StoredLink {
    /// - Throws: When a column is missing or has no meaning.
    init(decision row: [String: FieldValue?]) throws(UnreadableFile) {
        number = try row.integer("decision")
        previous = try row.text("previous_hash")
        hash = try row.text("hash")
        members = [
            "decision": .integer(number), "previous": .string(previous),
            "action": .string(try row.text("action")), "actor": .string(try row.text("actor")),
            "content": .string(try row.text("content")),
            "decided_at": try row.time("decided_at"),
            "finding_id": .string(try row.text("finding_id")),
            "reason": .string(try row.text("reason")),
            "until": row.isNull("until") ? .null : try row.time("until"),
        ]
    }
}

/// Returns the stored rows of the chains in the database, in the order of their numbers.
///
/// The caller opens the database and reads the raw values. Their meaning, and whether the chains
/// are intact, is decided here without the code that wrote them. A value is `nil` that is a number
/// with a fraction, or bytes; neither occurs in these tables.
package struct DatabaseReading {
    package typealias Rows = (_ body: ([String: FieldValue?]) throws -> Void) throws -> Void

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
extension [String: FieldValue?] {
    fileprivate func text(_ column: String) throws(UnreadableFile) -> String {
        guard case .text(let text) = self[column] else {
            throw UnreadableFile("its column \(column) is not a text")
        }
        return text
    }

    fileprivate func textOrNull(_ column: String) throws(UnreadableFile) -> CanonicalJSON {
        isNull(column) ? .null : .string(try text(column))
    }

    fileprivate func integer(_ column: String) throws(UnreadableFile) -> Int64 {
        guard case .integer(let number) = self[column] else {
            throw UnreadableFile("its column \(column) is not a number")
        }
        return number
    }

    fileprivate func time(_ column: String) throws(UnreadableFile) -> CanonicalJSON {
        .time(Timestamp(unixMilliseconds: try integer(column)))
    }

    fileprivate func isNull(_ column: String) -> Bool { self[column] == .some(.null) }
}
