import ArgumentParser
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// `trueup undo RUN`: shows the inverse of a run's corrections; `--execute` applies it.
struct Undo: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Print the inverse of a run's corrections, or apply it with --execute.",
        discussion: """
            A correction is reverted only if its row is as the run left it. If the row was written to \
            since, that is a conflict: the command names it, leaves the row as it is (exit status 6) and \
            reverts the others. It skips corrections that were reverted before. Every reverted row gets \
            its own ledger entry. Apple's statements have not changed: set the job to "mode: check" \
            before the next run, or that run corrects the rows again.
            """)

    @Argument(
        help: ArgumentHelp(
            "The run as \"trueup status\" lists it, the end of its name, its report folder, or latest.",
            valueName: "run"), completion: .directory)
    var run: String

    @Flag(help: "Revert the corrections; without it nothing is changed.")
    var execute = false

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [
            CommandStatuses.run.filter { ![.data, .protocol, .denied].contains($0) },
            [.ok, .stale],
        ],
        [
            .stale: "a correction cannot be reverted, because its row changed since",
            .incomplete:
                "max_duration ended it, or the database refused a row; the same command reverts the "
                + "rest",
        ])

    func validate() throws { try dry.refuse(with: execute) }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let runID = try RunName(run).whole(settings, in: invocation)
        guard execute else {
            return try show(runID, settings, in: invocation)
        }
        let counts = try preview(runID, settings, invocation) { _ in }
        // Without a row to write there is no run to report, unless one was killed before its
        // report.
        guard
            try counts.ready > 0
                || Books(settings).openToRead(at: invocation.now())
                    .awaitsReportOfUndo(ofRun: runID)
        else {
            let status = counts.conflicts > 0 ? ExitStatus.stale : .ok
            try showNothingToDo(runID, counts, status, in: invocation)
            return status
        }
        var run = try PreparedRun(undoing: runID, settings: settings, in: invocation)
        let own = ["trueup", "undo", runID, "--execute"]
        run.job.commands = RunCommands(own: own, check: own, settings: common.settingsWords)
        return try await RunSession(run: run, common: common, invocation: invocation).perform()
    }

    private func preview(
        _ runID: String, _ settings: Settings, _ invocation: Invocation,
        _ body: (UndoItem) throws -> Void
    ) throws -> UndoCounts {
        let store = try Books(settings).openToRead(at: invocation.now())
        var counts = UndoCounts()
        do {
            try store.forEachUndo(ofRun: runID) { known in
                let item = known.allowed(by: settings.company.mapping)
                counts.add(item)
                try body(item)
            }
        } catch StoreError.unavailable(let text) {
            throw CommandFailure(.usage, text)
        }
        return counts
    }

    private func show(
        _ runID: String, _ settings: Settings, in invocation: Invocation
    ) throws -> ExitStatus {
        var isFirst = true
        let counts = try preview(runID, settings, invocation) { item in
            // A run that does not exist gets no heading.
            if isFirst { try showHeading(runID, in: invocation) }
            try show(item, isFirst: isFirst, in: invocation)
            isFirst = false
        }
        try showEnd(runID, counts, isEmpty: isFirst, in: invocation)
        return counts.conflicts > 0 ? .stale : .ok
    }

    private func showNothingToDo(
        _ runID: String, _ counts: UndoCounts, _ status: ExitStatus, in invocation: Invocation
    ) throws {
        let why =
            counts.done + counts.conflicts > 0
            ? "of run \(runID)'s corrections, \(counts.done) were reverted before, "
                + "\(counts.conflicts) cannot be reverted." : "run \(runID) corrected no row."
        try common.show(
            .object([
                "conflicts": .count(counts.conflicts),
                "done": .count(counts.done), "exit_status": .exitStatus(status),
                "name": .string(status.name), "undo_of": .string(runID), "written": .integer(0),
            ]),
            ["Nothing to revert (exit status \(status.code)): \(why) Nothing was changed."]
                + counts.named.map { "  - " + $0 }, in: invocation)
    }
}

/// The changes that reverting a run would make, as lines for people or as one JSON document.
///
/// Written as it is read, so that a run of a million corrections takes no memory.
extension Undo {
    private func showHeading(_ runID: String, in invocation: Invocation) throws {
        guard common.json else {
            return try invocation.show(
                lines: [
                    "Undo of run \(runID), newest first. Nothing is changed yet.", "",
                    Self.columns("entry", "subscription", "field", "holds", "goes back to"),
                ])
        }
        try invocation.output.write(Array("{\"corrections\":[".utf8))
    }

    private func show(_ item: UndoItem, isFirst: Bool, in invocation: Invocation) throws {
        guard common.json else {
            for line in lines(of: item) { try invocation.show(line) }
            return
        }
        let text = (isFirst ? "\n" : ",\n") + json(of: item).rendered
        try invocation.output.write(Array(PlainText.ofJSON(text).utf8))
    }

    private func showEnd(
        _ runID: String, _ counts: UndoCounts, isEmpty: Bool, in invocation: Invocation
    ) throws {
        if isEmpty {
            // A table without lines would have to be understood.
            guard common.json else {
                return try invocation.show("Nothing to revert: run \(runID) corrected no row.")
            }
            try showHeading(runID, in: invocation)
        }
        guard common.json else {
            try invocation.show("")
            try invocation.show(
                "\(counts.ready) corrections can be reverted, \(counts.done) were reverted before, "
                    + "\(counts.conflicts) cannot be reverted.")
            if counts.ready > 0 {
                try invocation.show(
                    "To revert them: " + common.command("undo", runID, "--execute"))
            }
            return
        }
        let rest = CanonicalJSON.object([
            "conflicts": .count(counts.conflicts), "done": .count(counts.done),
            "ready": .count(counts.ready), "undo_of": .string(runID),
        ])
        try invocation.show(renderedJSON: "\n]," + rest.rendered.dropFirst())
    }

    private func lines(of item: UndoItem) -> [String] {
        let entry = item.entry
        let number = String(entry.number)
        let id =
            entry.transactionID.map { "\(entry.changes.nameOfTransaction) \($0)" }
            ?? entry.subscription.originalTransactionID
        switch item.standing {
        case .done(_, let run):
            return [Self.columns(number, id, "reverted before, by run \(run)")]
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
