package import ArgumentParser
import ReconciliationRun
import SubscriptionStore
package import Subscriptions

/// `trueup undo RUN`: shows the inverse of a run's corrections; `--execute` applies it.
package struct Undo: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Show the inverse of a run's corrections, or with --execute apply it.",
        discussion: """
            A row is taken back only if it still is as the run left it; a row that anybody wrote \
            to since is a conflict, which is named and left alone (exit 6), while the others are \
            taken back. What was taken back before is left alone too. Every row gets a ledger \
            entry of its own. Apple still says what was taken back: before the next night, set \
            the job to "mode: check", or it is corrected again.
            """)

    @Argument(
        help: ArgumentHelp(
            "The run, as \"trueup status\" lists it, or the end of its name; its report folder, or "
                + "reports/latest.", valueName: "run"), completion: .directory)
    package var run: String

    @Flag(name: .long, help: "Take the corrections back; without it nothing is changed.")
    package var execute = false

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let runID = try RunName(run).whole(settings, in: invocation)
        guard execute else {
            return try show(runID, settings, in: invocation)
        }
        let counts = try preview(runID, settings, invocation) { _ in }
        // Without a row to write there is no run to report, unless one was killed before its report.
        guard try counts.ready > 0 || isUnreported(runID, settings, invocation) else {
            let status = counts.conflicts > 0 ? ExitStatus.stale : .ok
            try showNothingToDo(runID, counts, status, in: invocation)
            return status
        }
        var run = try PreparedRun(undoing: runID, settings: settings, in: invocation)
        let own = ["trueup", "undo", runID, "--execute"]
        run.job.commands = RunCommands(own: own, check: own, settings: common.settingsWords)
        return try await RunSession(run: run, common: common, invocation: invocation).perform()
    }

    private func isUnreported(
        _ runID: String, _ settings: Settings, _ invocation: Invocation
    ) throws -> Bool {
        try Books(settings).openToRead(at: invocation.now())
            .awaitsReportOfUndo(ofRun: runID)
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
        let listing = UndoListing(
            runID: runID, execution: common.command("undo", runID, "--execute"),
            isJSON: common.json, in: invocation)
        let counts = try preview(runID, settings, invocation, listing.add)
        try listing.end(counts)
        return counts.conflicts > 0 ? .stale : .ok
    }

    private func showNothingToDo(
        _ runID: String, _ counts: UndoCounts, _ status: ExitStatus, in invocation: Invocation
    ) throws {
        guard common.json else {
            let why =
                counts.done + counts.conflicts > 0
                ? "of run \(runID)'s corrections, \(counts.done) were taken back before, "
                    + "\(counts.conflicts) cannot be." : "run \(runID) corrected no row."
            try invocation.show(
                "Nothing to take back (exit status \(status.code)): \(why) Nothing was changed."
            )
            for conflict in counts.named {
                try invocation.show("  - " + conflict)
            }
            return
        }
        try invocation.show(
            json: CanonicalJSON.object([
                "conflicts": .integer(Int64(counts.conflicts)),
                "done": .integer(Int64(counts.done)), "exit_status": .integer(Int64(status.code)),
                "name": .string(status.name), "undo_of": .string(runID), "written": .integer(0),
            ]))
    }
}
