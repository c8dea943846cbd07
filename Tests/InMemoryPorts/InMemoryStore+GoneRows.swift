import Subscriptions

extension State {
    /// Where the table's size was accepted, nothing is noted any more about rows that are gone.
    mutating func forgetGoneRows(after conclusion: RunConclusion, of run: RunHeader) {
        guard run.worksOffAgenda, run.countsTables, conclusion.acceptedTableRows != nil else {
            return
        }
        for key in notes.keys where table.rows[key] == nil {
            guard !run.isForAppsAlone || run.apps.contains(where: { $0.owns(key) }) else {
                continue
            }
            notes[key]?.check = nil
            notes[key]?.history = nil
            if agenda[key] == nil {
                notes[key]?.absence = nil
                notes[key]?.newestStatement = nil
            }
        }
    }
}
