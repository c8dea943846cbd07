import Crypto
import JSONWebSignature
import Subscriptions

/// Follows the ledger from run to run: numbers without gaps, each entry with the hash of the
/// previous one.
struct LedgerTrail {
    static let beginning = String(repeating: "0", count: 64)

    /// Entries with the reports that show them.
    fileprivate struct Shown {
        /// The entries of each run's `corrections.jsonl`.
        var pages: [(path: String, numbers: ClosedRange<Int64>)] = []
        /// Entries that declare breaks, which are in manifests.
        var declarations: [Int64: JSONRecord] = [:]

        func entry(_ number: Int64) -> JSONRecord? {
            if let declaration = declarations[number] { return declaration }
            return path(of: number).flatMap { Self.entry(number, in: $0) }
        }

        /// The newest file that should show an entry.
        func path(of number: Int64) -> String? {
            pages.last { $0.numbers.contains(number) }?.path
        }

        private static func entry(_ number: Int64, in path: String) -> JSONRecord? {
            let line = try? SortedLines(path).line(with: number) {
                JSONRecord($0)?.integer("ledger_entry")
            }
            return line.flatMap { JSONRecord($0) }
        }

        /// Whether any of them has this hash: what was not declared yet is next to what followed.
        func has(_ number: Int64, hash: String) -> Bool {
            if declarations[number]?.text("ledger_hash")?.isSame(as: hash) == true { return true }
            return pages.contains { page in
                page.numbers.contains(number)
                    && Self.entry(number, in: page.path)?.text("ledger_hash")?.isSame(as: hash)
                        == true
            }
        }

        /// Drops the entries after one.
        mutating func cut(after kept: Int64) {
            pages = pages.compactMap { page in
                let (first, last) = (page.numbers.lowerBound, page.numbers.upperBound)
                return first <= kept ? (page.path, first...min(last, kept)) : nil
            }
            declarations = declarations.filter { $0.key <= kept }
        }
    }

    fileprivate private(set) var shown = Shown()
    /// The entries shown at each declared break so far: a newer backup brings lost entries back.
    private var abandoned: [Shown] = []
    /// The control totals of the runs so far at their ends, by run id.
    var counted: [String: CountedApps] = [:]
    /// Declared breaks that have not been reached.
    private(set) var declared: [DeclaredBreak]
    /// Losses of entries that no one declared.
    private(set) var undeclared: [UndeclaredBreak] = []
    /// The number of the newest entry so far; `nil` before the first, or where only its hash is
    /// known.
    private(set) var number: Int64?
    /// The hash of the newest entry so far; `nil` before the first.
    private(set) var hash: String?
    private var first: Int64?
    private var highest: Int64?
    /// The first entry that a report at hand shows; `nil` where none shows any.
    private(set) var firstNumber: Int64?
    /// Hashes that an anchor may name besides those that the manifests state.
    private(set) var firstPrevious: String?

    init(declared: [DeclaredBreak] = []) {
        self.declared = declared
    }

    /// Adds the next entry.
    ///
    /// - Returns: What is wrong with its number or its previous hash.
    mutating func take(_ number: Int64, previous: String, hash: String) -> String? {
        first = min(first ?? number, number)
        highest = max(highest ?? number, number)
        firstNumber = firstNumber ?? number
        let hasGoneBack = goBack(to: previous, entry: number &- 1)
        // A run that was killed at its last step and the next run report the same corrections.
        if !hasGoneBack, let repeated = repeated(number), repeated.isSame(as: hash) { return nil }
        defer {
            self.number = number
            self.hash = hash
        }
        guard let last = self.hash else {
            firstPrevious = previous
            return previous == Self.beginning && number != 1
                ? "it is the first of the ledger, but not number 1" : nil
        }
        if !previous.isSame(as: last) {
            undeclared.append((keptHash: previous, lostEntry: self.number, lostHash: last))
        }
        if !hasGoneBack, repeated(number) != nil {
            return "an earlier run reports this number with other contents"
        }
        if let known = self.number {
            if number <= known { return "its number does not follow \(known)" }
            if number > known &+ 1 {
                return "the ledger has a gap: the entry before should be \(number - 1), but is "
                    + "\(known)"
            }
        }
        return previous.isSame(as: last)
            ? nil : "it does not follow the entry before, whose hash is \(last)"
    }

    /// Adds an entry that declares a break.
    mutating func take(declaration: JSONRecord) -> String? {
        guard let number = declaration.integer("ledger_entry"),
            let previous = declaration.text("ledger_previous"),
            let hash = declaration.text("ledger_hash")
        else { return "it is not a ledger entry" }
        let problem = take(number, previous: previous, hash: hash)
        shown.declarations[number] = declaration
        return problem
    }

    /// Goes back to an earlier entry, if that was declared.
    private mutating func goBack(to hash: String, entry: Int64?) -> Bool {
        guard let last = self.hash, !last.isSame(as: hash),
            let place = declared.firstIndex(where: {
                $0.lostHash.isSame(as: last) && $0.keptHash.isSame(as: hash)
                    && (entry == nil || entry == $0.keptEntry)
            })
        else { return false }
        forget(after: declared.remove(at: place).keptEntry, keeping: hash)
        self.hash = hash
        return true
    }

    /// Drops the lost entries, because new entries will have their numbers, and adopts those that a
    /// backup brought back which is newer than an earlier one.
    private mutating func forget(after kept: Int64, keeping hash: String) {
        let left = shown
        if !left.has(kept, hash: hash),
            let back = abandoned.last(where: { $0.has(kept, hash: hash) })
        {
            shown = back
        }
        abandoned.append(left)
        shown.cut(after: kept)
        number = kept
    }

    /// Whether the reports at hand should show an entry.
    func covers(_ entry: Int64) -> Bool {
        guard let firstNumber, let number else { return false }
        return (firstNumber...max(firstNumber, number)).contains(entry)
    }

    /// Ends a run.
    ///
    /// - Returns: What is wrong with the head that its manifest states.
    mutating func close(path: String, head: String) -> String? {
        let hadEntries = first != nil
        if let first, let highest, first <= highest {
            shown.pages.append((path, first...highest))
        }
        first = nil
        highest = nil
        guard let last = hash else {
            hash = head
            number = head == Self.beginning ? 0 : nil
            return nil
        }
        guard !last.isSame(as: head) else { return nil }
        if goBack(to: head, entry: nil) { return nil }
        undeclared.append((keptHash: head, lostEntry: number, lostHash: last))
        hash = head
        number = nil
        return hadEntries
            ? "its ledger_head is not the hash of the last entry of corrections.jsonl: the tail was "
                + "cut, or the head edited"
            : "its ledger_head has moved, but corrections.jsonl lists no entry of this run"
    }

    /// Skips a run whose entries cannot be read; `nil` when its head is unknown as well.
    mutating func skip(toHead head: String?) {
        hash = head
        number = nil
    }

    /// An entry of an earlier run whose report still exists.
    func entry(_ number: Int64) -> JSONRecord? { shown.entry(number) }

    /// Whether a report at hand shows this entry, also one that was lost since.
    func hasShown(_ number: Int64, hash: String) -> Bool {
        shown.has(number, hash: hash) || abandoned.contains { $0.has(number, hash: hash) }
    }

    /// The file that shows an entry; `nil` where no report at hand does.
    func path(ofEntry number: Int64) -> String? {
        shown.path(of: number)
    }

    private func repeated(_ number: Int64) -> String? {
        entry(number)?.text("ledger_hash")
    }
}

/// Reads the entries of earlier runs for one who asks in the order of their numbers.
///
/// Looked up by itself, each entry would have a part of the packed file unpacked.
final class EntriesInOrder {
    private let trail: LedgerTrail
    private var path: String?
    /// `nil` where it cannot be read on.
    private var page: LineFile?
    /// The entry that was read last.
    private var reached: (number: Int64, entry: JSONRecord)?

    init(_ trail: LedgerTrail) { self.trail = trail }

    /// An entry of an earlier run whose report still exists.
    func entry(_ number: Int64) -> JSONRecord? {
        if let path = trail.path(ofEntry: number), trail.shown.declarations[number] == nil {
            if path != self.path {
                self.path = path
                page = try? LineFile(path)
                reached = nil
            }
            while reached.map({ $0.number < number }) ?? true {
                guard let line = try? page?.next(), let entry = JSONRecord(line),
                    let found = entry.integer("ledger_entry")
                else {
                    page = nil
                    break
                }
                reached = (found, entry)
            }
            if let reached, reached.number == number { return reached.entry }
        }
        // What is not in its place is looked for.
        return trail.entry(number)
    }
}

/// A loss of ledger entries that no one declared: the hash of the last entry that is left, and the last
/// lost entry, whose number may not be known.
package typealias UndeclaredBreak = (keptHash: String, lostEntry: Int64?, lostHash: String)

/// A declared break of the ledger: the database was restored from a backup, or rebuilt, and lacks
/// entries that reports show.
///
/// The declaration is an entry of the ledger itself, with the table `ledger`. It states which
/// entries were lost, why, and who declared it.
package struct DeclaredBreak: Hashable, Sendable {
    /// The last entry that is left; 0 for a rebuilt database.
    package var keptEntry: Int64
    package var keptHash: String
    /// The last entry that was lost; `nil` where its number is not known.
    package var lostEntry: Int64?
    package var lostHash: String
    package var reason: String
    package var actor: String
    package var runID: String

    /// A sentence that names the lost entries.
    package var description: String {
        "a declared break of the ledger: the database was restored or rebuilt, and \(lostEntries) "
            + "are in these reports alone (\(reason); declared by \(actor), run \(runID))"
    }

    private var lostEntries: String {
        guard let last = lostEntry else { return "entries after \(keptEntry) of the ledger" }
        guard last > keptEntry else {
            return "entries of the ledger up to \(last), which followed an older backup,"
        }
        return last == keptEntry &+ 1
            ? "entry \(last) of the ledger"
            : "entries \(keptEntry &+ 1) to \(last) of the ledger"
    }

    /// Reads an entry of the ledger; `nil` when it declares no break.
    init?(_ entry: JSONRecord) {
        guard entry.text("table") == Self.table, let before = entry.record("before"),
            let after = entry.record("after"), let keptEntry = after.integer("ledger_entry"),
            let keptHash = after.text("ledger_head"), keptHash.isDigest,
            let lostHash = before.text("ledger_head"), lostHash.isDigest
        else { return nil }
        self.keptEntry = keptEntry
        self.keptHash = keptHash
        self.lostHash = lostHash
        lostEntry = before.integer("ledger_entry")
        reason = entry.text("reason") ?? ""
        actor = entry.text("actor") ?? ""
        runID = entry.text("run_id") ?? ""
    }

    static let table = "ledger"
}

extension JSONRecord {
    /// The action of an old entry, which states none: those versions only inserted periods, and
    /// inserted a subscription only when it was missing.
    var unstatedAction: String {
        let kinds = self["kinds"]?.elements.compactMap(\.text) ?? []
        return text("table") == "transactions" || kinds.contains("missing_locally")
            ? "insert" : "update"
    }

    /// The reason why the record is not a ledger entry with the hash that it states; `nil` when it
    /// is.
    var sealProblem: String? {
        guard let previous = text("ledger_previous"), previous.isDigest,
            let hash = text("ledger_hash"), hash.isDigest
        else { return "its ledger_previous or ledger_hash is not a digest" }
        let sealed = previous + text { $0 != "ledger_hash" }
        if !SHA256.hash(data: Array(sealed.utf8)).hexadecimal.isSame(as: hash) {
            return "its ledger_hash is not the hash of its contents: the entry was edited"
        }
        return isCanonical ? nil : "it is not spelled as canonical JSON"
    }
}
