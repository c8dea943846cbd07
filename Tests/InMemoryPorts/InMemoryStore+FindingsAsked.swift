import Subscriptions

/// Open findings whose rows give no reason to ask about them.
extension State {
    /// What was only reported may be corrected by other settings, and the row gives no other reason to
    /// ask.
    mutating func askWhatIsDecidedAnew(by run: RunHeader) {
        guard run.worksOffAgenda else { return }
        let before = runs.last {
            $0.header.job == run.job && $0.header.mode == run.mode
                && $0.header.narrowing == run.narrowing && passes[$0.passID]?.plan == nil
                && passes[$0.passID]?.undoOf == nil
        }
        guard let before, before.header.settingsDigest != run.settingsDigest else { return }
        for (id, finding) in open where finding.kind.isMendedByAnswer && run.isFor(finding) {
            guard reportedBy[id]?.contains(run.job) == true, let key = finding.key,
                table.rows[key] != nil, agenda[key] == nil
            else { continue }
            agenda[key] = Owed(
                reason: .heldBack, turn: AgendaLine.turn(.heldBack, isEntitling: true))
        }
    }

    /// A check, or a run that leaves out rows, notes nothing of the rows that it judges.
    mutating func askWhatOnlyChecksSaw(by run: RunHeader) {
        guard run.judgesRows, run.leavesOutNothingOfItsApps,
            run.worksOffAgenda || !run.coversEveryRow
        else { return }
        let ended = runs.filter { $0.conclusion != nil }
        for (id, finding) in open where run.isFor(finding) {
            guard reportedBy[id]?.contains(run.job) == true, let key = finding.key,
                table.rows[key] != nil, agenda[key] == nil, notes[key]?.check != nil,
                let last = ended.last(where: { passes[$0.passID]?.states(id) == true }),
                !last.header.worksOffAgenda, last.header.judgesRows,
                passes[last.passID]?.found(id) == true
            else { continue }
            agenda[key] = Owed(
                reason: .heldBack, turn: AgendaLine.turn(.heldBack, isEntitling: true))
        }
    }
}
