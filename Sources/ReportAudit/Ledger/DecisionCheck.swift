import Crypto
import Subscriptions

/// Checks the chain of decisions about findings in the database.
///
/// The chain does not show that its end was cut off, so decisions that stored runs refer to must
/// exist.
enum DecisionCheck {
    struct Outcome {
        var problems: [AuditProblem] = []
        var decisions = 0
    }

    static func check(_ reading: DatabaseReading) throws -> Outcome {
        var outcome = Outcome()
        var last: (number: Int64, hash: String) = (0, LedgerTrail.beginning)
        try reading.decisions { columns in
            let decision: StoredDecision
            do throws(UnreadableFile) {
                decision = try StoredDecision(StoredRow(columns: columns))
            } catch {
                var number = last.number &+ 1
                if case .integer(let stated) = columns["decision"] { number = stated }
                outcome.add(number, error.reason)
                return
            }
            outcome.decisions += 1
            for problem in problems(of: decision, after: last) {
                outcome.add(decision.number, problem)
            }
            last = (decision.number, decision.hash)
        }
        if let used = try reading.highestDecisionInUse(), used > last.number {
            outcome.add(used, "runs refer to it, but the chain ends with decision \(last.number)")
        }
        return outcome
    }

    private static func problems(
        of decision: StoredDecision, after last: (number: Int64, hash: String)
    ) -> [String] {
        var problems: [String] = []
        if decision.number != last.number &+ 1 {
            problems.append(
                "the decision before should be \(decision.number &- 1), but is \(last.number)")
        }
        if !decision.previous.isSame(as: last.hash) {
            problems.append("it does not follow the decision before, whose hash is \(last.hash)")
        }
        if !decision.holds {
            problems.append("its hash is not the hash of its contents: the decision was edited")
        }
        return problems
    }
}

extension DecisionCheck.Outcome {
    fileprivate mutating func add(_ number: Int64, _ text: String) {
        problems.append(
            AuditProblem(
                file: "the decisions in the database", text: "decision \(number): \(text)"))
    }
}

/// A decision about a finding, read from the columns of the database.
private struct StoredDecision {
    let number: Int64
    let previous: String
    let hash: String
    private let members: [String: CanonicalJSON]

    /// - Throws: When a column is missing or has no meaning.
    init(_ row: StoredRow) throws(UnreadableFile) {
        func time(_ column: String) throws(UnreadableFile) -> CanonicalJSON {
            .time(Timestamp(unixMilliseconds: try row.integer(column)))
        }
        number = try row.integer("decision")
        previous = try row.text("previous_hash")
        hash = try row.text("hash")
        members = [
            "decision": .integer(number), "previous": .string(previous),
            "action": .string(try row.text("action")), "actor": .string(try row.text("actor")),
            "content": .string(try row.text("content")), "decided_at": try time("decided_at"),
            "finding_id": .string(try row.text("finding_id")),
            "reason": .string(try row.text("reason")),
            "until": row.isNull("until") ? .null : try time("until"),
        ]
    }

    /// Whether the hash is the hash of the contents.
    var holds: Bool {
        let sealed = previous + CanonicalJSON.object(members).rendered
        return SHA256.hash(data: Array(sealed.utf8)).hexadecimal.isSame(as: hash)
    }
}

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
    /// The reason why the record is not a ledger entry with the hash that it states; `nil` when it
    /// is.
    var sealProblem: String? {
        guard let previous = text("ledger_previous"), previous.isDigest,
            let hash = text("ledger_hash"), hash.isDigest
        else { return "its ledger_previous or ledger_hash is not a digest" }
        let sealed = previous + text(leavingOut: "ledger_hash")
        if !SHA256.hash(data: Array(sealed.utf8)).hexadecimal.isSame(as: hash) {
            return "its ledger_hash is not the hash of its contents: the entry was edited"
        }
        return isCanonical ? nil : "it is not spelled as canonical JSON"
    }
}
