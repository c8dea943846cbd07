import Subscriptions

/// What taking a run back would change, as lines for people or as one JSON document.
///
/// Written as it is read, so that a run of a million corrections takes no memory.
final class UndoListing {
    private let runID: String
    /// The command that takes it back, whole.
    private let execution: String
    private let isJSON: Bool
    private let invocation: Invocation
    private var isFirst = true

    init(runID: String, execution: String, isJSON: Bool, in invocation: Invocation) {
        self.runID = runID
        self.execution = execution
        self.isJSON = isJSON
        self.invocation = invocation
    }

    /// Written with the first item: a run that does not exist gets no heading.
    private func begin() throws {
        guard isJSON else {
            try invocation.show(
                "Undo of run \(runID), newest first. Nothing is changed by looking.")
            try invocation.show("")
            return try invocation.show(
                Self.columns("entry", "subscription", "field", "holds", "goes back to"))
        }
        try invocation.output.write(Array("{\"corrections\":[".utf8))
    }

    func add(_ item: UndoItem) throws {
        if isFirst { try begin() }
        defer { isFirst = false }
        guard isJSON else {
            for line in lines(of: item) { try invocation.show(line) }
            return
        }
        let text = (isFirst ? "\n" : ",\n") + json(of: item).rendered
        try invocation.output.write(Array(PlainText.ofJSON(text).utf8))
    }

    func end(_ counts: UndoCounts) throws {
        if isFirst {
            // A table without lines would have to be understood.
            guard isJSON else {
                return try invocation.show("Nothing to take back: run \(runID) corrected no row.")
            }
            try begin()
        }
        guard isJSON else {
            try invocation.show("")
            try invocation.show(
                "\(counts.ready) can be taken back, \(counts.done) were before, "
                    + "\(counts.conflicts) cannot.")
            if counts.ready > 0 { try invocation.show("To do it: " + execution) }
            return
        }
        let rest = CanonicalJSON.object([
            "conflicts": .integer(Int64(counts.conflicts)), "done": .integer(Int64(counts.done)),
            "ready": .integer(Int64(counts.ready)), "undo_of": .string(runID),
        ])
        try invocation.show(renderedJSON: "\n]," + rest.rendered.dropFirst())
    }

    private func lines(of item: UndoItem) -> [String] {
        let entry = item.entry
        let number = String(entry.number)
        let id =
            entry.transactionID.map { "period \($0)" }
            ?? entry.subscription.originalTransactionID
        switch item.standing {
        case .done(_, let run):
            return [Self.columns(number, id, "taken back before, by run \(run)")]
        case .conflict(let why): return [Self.columns(number, id, "conflict: \(why)")]
        case .ready(let correction):
            switch correction.action {
            case .delete: return [Self.columns(number, id, "the row", "inserted", "deleted")]
            case .insert: return [Self.columns(number, id, "the row", "deleted", "as it was")]
            case .update:
                return correction.changes.named.enumerated().map { index, field in
                    Self.columns(
                        index == 0 ? number : "", index == 0 ? id : "", field.column,
                        Self.text(field.change.before), Self.text(field.change.after))
                }
            }
        }
    }

    private static func text(_ value: FieldValue) -> String {
        if case .null = value { "nothing" } else { value.plainText }
    }

    /// Fixed widths: the lines are written one by one.
    private static func columns(_ number: String, _ id: String, _ rest: String...) -> String {
        let widths = [26, 25]
        var line = number.padded(to: 7, atRight: true) + "  " + id.padded(to: 18)
        for (index, cell) in rest.enumerated() {
            line += "  " + (index == rest.count - 1 ? cell : cell.padded(to: widths[index]))
        }
        return line
    }

    private func json(of item: UndoItem) -> CanonicalJSON {
        var members: [String: CanonicalJSON] = [
            "ledger_entry": .integer(item.entry.number),
            "app": .string(item.entry.subscription.bundleID),
            "environment": .string(item.entry.subscription.environment),
            "original_transaction_id": .string(item.entry.subscription.originalTransactionID),
            "transaction_id": .text(item.entry.transactionID),
            "table": .string(item.entry.table),
        ]
        switch item.standing {
        case .ready(let correction):
            members["standing"] = .string("ready")
            members["action"] = .string(correction.action.rawValue)
            members["before"] = .object(correction.changes.before.mapValues(\.json))
            members["after"] = .object(correction.changes.after.mapValues(\.json))
        case .done(let entry, let run):
            members["standing"] = .string("done")
            members["undone_by"] = .integer(entry)
            members["undone_by_run"] = .string(run)
        case .conflict(let why):
            members["standing"] = .string("conflict")
            members["why"] = .string(why.description)
        }
        return .object(members)
    }
}
