package import Subscriptions

/// The end of a run that applies a plan or reverts a run: nothing was judged, so only the
/// corrections that could not be written count.
package struct PlannedEnding: Hashable, Sendable {
    package var source: PlanSource
    package var unwritten: UnwrittenCorrections
    package var undo: UndoCounts?

    package init(source: PlanSource, unwritten: UnwrittenCorrections, undo: UndoCounts?) {
        self.source = source
        self.unwritten = unwritten
        self.undo = undo
    }

    var statuses: [ExitStatus] {
        var held: [ExitStatus] = []
        if count(.stale) + count(.heldBack) > 0 { held.append(.stale) }
        if count(.rejected) + count(.unproven) > 0 { held.append(.incomplete) }
        return held
    }

    /// Sentences for the person on call.
    ///
    /// - Parameter commands: What they are told to give next.
    /// - Returns: In the order of importance.
    func messages(_ commands: RunCommands) -> [String] {
        var sentences: [String] = []
        switch source {
        case .judgement: break
        case .plan: sentences += moved(commands)
        case .undo: sentences += conflicts
        }
        if count(.rejected) > 0 {
            sentences.append(
                "The database refused \(changes(.rejected)), by a trigger or constraint of "
                    + "its own\(names(.rejected)). Those rows are as they were; mend the cause and "
                    + "give the same command again: \(commands.again)")
        }
        if count(.unproven) > 0 {
            sentences.append(
                "The signed evidence of \(changes(.unproven)) is no longer held"
                    + "\(names(.unproven)). Nothing is written without evidence: make a new plan: "
                    + commands.newPlan)
        }
        if count(.heldBack) > 0 {
            sentences.append(
                "Held back: \(changes(.heldBack))\(names(.heldBack)), because the access that they "
                    + "end goes on under another id that is not in the table as entitling now. "
                    + "plan.json names both (\"access_continues_by\"). Once it is, give the same "
                    + "command again: \(commands.again)")
        }
        if case .undo = source {
            sentences.append(
                "Apple still states what was taken back, so the next run with mode apply writes "
                    + "it again. Until you know why it was wrong, set \"mode: check\" in the job, "
                    + "or make the fields report-only under \"authority\".")
        }
        return sentences
    }

    private func count(_ fate: CorrectionFate) -> Int { unwritten.counts[fate] ?? 0 }

    private func changes(_ fate: CorrectionFate) -> String {
        count(fate) == 1 ? "1 change" : "\(count(fate)) changes"
    }

    private func moved(_ commands: RunCommands) -> [String] {
        guard count(.stale) > 0 else { return [] }
        let sentence =
            "Not written, because the row moved since the plan was made: \(changes(.stale))"
            + "\(names(.stale)); plan.json names them all (fate \"stale\")."
        let newPlan = "Make a new plan: \(commands.newPlan)"
        switch unwritten.standingAsPlanned {
        case 0: return [sentence + " " + newPlan]
        case count(.stale):
            return [sentence + " The table has all these values already: nothing is left to do."]
        case let done:
            return [sentence + " The table has the values of \(done) of them already. " + newPlan]
        }
    }

    private var conflicts: [String] {
        var sentences: [String] = []
        if let undo, undo.done > 0 {
            sentences.append("Taken back before: \(undo.done).")
        }
        guard count(.stale) > 0 else { return sentences }
        let named = undo?.named ?? []
        let first = named.isEmpty ? "" : " The first: " + named.joined(separator: "; ") + "."
        sentences.append(
            "Not taken back, because the row moved since: \(changes(.stale)).\(first) plan.json "
                + "names them all (fate \"stale\").")
        return sentences
    }

    private func names(_ fate: CorrectionFate) -> String {
        let named = unwritten.named[fate] ?? []
        guard !named.isEmpty else { return "" }
        let more = count(fate) > named.count ? ", …" : ""
        return " (" + named.joined(separator: ", ") + more + ")"
    }
}
