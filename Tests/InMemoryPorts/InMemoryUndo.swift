import Subscriptions

/// Whether, and by what, each correction of a run can be taken back: the newest first, each judged
/// as if the later ones of the run were taken back already.
extension State {
    func undoItems(of runID: String) -> [UndoItem] {
        var table = table
        var items: [UndoItem] = []
        for entry in ledger.reversed() where entry.runID == runID {
            items.append(
                UndoItem(entry: entry, standing: standing(of: entry, in: &table, runID)))
        }
        return items
    }

    private func standing(
        of entry: LedgerEntry, in table: inout Table, _ runID: String
    ) -> UndoItem.Standing {
        if let done = ledger.first(where: { $0.undoOf == entry.number }) {
            return .done(entry: done.number, runID: done.runID)
        }
        let taken = Set(ledger.compactMap(\.undoOf))
        let later = ledger.filter {
            $0.number > entry.number && $0.subscription == entry.subscription
                && $0.table == entry.table && $0.transactionID == entry.transactionID
        }
        let numbers = Set(later.map(\.number))
        let standing = later.filter { other in
            !taken.contains(other.number) && !(other.undoOf.map(numbers.contains) ?? false)
        }
        if let other = standing.first(where: { $0.runID != runID }) {
            return .conflict(.corrected(entry: other.number, runID: other.runID))
        }
        if let conflict = conflict(of: entry, newest: later.last ?? entry, in: table) {
            return .conflict(conflict)
        }
        let step = entry.inverse(in: table, runID)
        guard table.make(step) == .applied else { return .conflict(.gone) }
        return .ready(step)
    }

    private func conflict(
        of entry: LedgerEntry, newest: LedgerEntry, in table: Table
    ) -> UndoConflict? {
        guard let id = entry.transactionID else {
            let row = table.rows[entry.subscription]
            if entry.rowAction == .delete { return row == nil ? nil : .there }
            guard let row else { return .gone }
            let columns = changed(in: row, entry.changes.ofSubscription)
            guard columns.isEmpty else { return .changed(columns) }
            // In the table as it is, before anything of the run is taken back.
            if let last = newest.rowVersion,
                let version = self.table.rows[entry.subscription]?.rowVersion, version != last
            {
                return .written(version: version, was: last)
            }
            return nil
        }
        let period = table.periods[
            TransactionKey(
                bundleID: entry.subscription.bundleID,
                environment: entry.subscription.environment, transactionID: id)]
        if entry.rowAction == .delete { return period == nil ? nil : .there }
        guard let period else { return .gone }
        let columns = changed(in: period, entry.changes.ofPeriod)
        return columns.isEmpty ? nil : .changed(columns)
    }

    /// Puts the inverse of one correction into a pass; what cannot be taken back is stale.
    mutating func stage(_ item: UndoItem, undoing runID: String, in passID: Int64) {
        switch item.standing {
        case .done: return
        case .ready(var correction):
            if correction.endsAccess {
                let taken = Set(ledger.compactMap(\.undoOf))
                let id = correction.subscription.originalTransactionID
                correction.continuedBy = ledger.filter {
                    $0.accessContinuesBy == id && !taken.contains($0.number)
                }.map(\.subscription.originalTransactionID)
            }
            _ = store(correction, in: passID)
            passes[passID]?.noteRow(of: correction)
        case .conflict:
            let correction = item.entry.inverse(in: table, runID)
            let number = store(correction, in: passID)
            passes[passID]?.note(.stale, of: number)
            passes[passID]?.rows[correction.subscription] = Pass.Judged(
                verdict: .undecided(.changedDuringRun))
        }
    }
}

extension State {
    /// Opens the findings of a correction that was taken back, and has its row asked about again.
    mutating func noteTakenBack(_ number: Int64) {
        guard let entry = ledger.first(where: { $0.number == number }) else { return }
        notes[entry.subscription]?.check?.check.values = ValuesDigest(bits: 0)
        guard let passID = runs.first(where: { $0.header.runID == entry.runID })?.passID,
            let pass = passes[passID]
        else { return }
        let undone = pass.corrections.filter {
            $0.fate == .applied && $0.key == entry.subscription
                && $0.correction.transactionID == entry.transactionID
        }
        for staged in pass.findings where !staged.isSuperseded && staged.finding.key != nil {
            guard undone.contains(where: { $0.number == staged.correction }) else { continue }
            open[Self.identity(of: staged.finding)] = staged.finding
        }
    }
}

extension LedgerEntry {
    /// What takes the entry back, resting on the same evidence.
    fileprivate func inverse(in table: Table, _ undone: String) -> PlannedCorrection {
        let key = subscription
        let version = table.version(of: key)
        let target: PlannedCorrection.Target
        if let id = transactionID {
            let period = TransactionKey(
                bundleID: key.bundleID, environment: key.environment, transactionID: id)
            target =
                switch rowAction {
                case .update: .updatePeriod(period, of: key)
                case .insert: .deletePeriod(period, of: key)
                case .delete: .insertPeriod(period, of: key)
                }
        } else {
            target =
                switch rowAction {
                case .update: .update(key, expectedRowVersion: version)
                case .insert: .delete(key, expectedRowVersion: version)
                case .delete: .insert(key)
                }
        }
        return PlannedCorrection(
            target: target, changes: changes.inverse, kinds: kinds,
            evidence: evidence, evidenceRenewal: evidenceRenewal, appleSignedDate: appleSignedDate,
            reason: "undo of run \(undone), ledger entry \(number)", undoOf: number)
    }
}
