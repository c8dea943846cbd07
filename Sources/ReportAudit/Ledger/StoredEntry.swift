import Crypto
import Subscriptions

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
