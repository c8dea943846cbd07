import GRDB
import Subscriptions

/// Applies planned corrections inside one transaction: each changes its row and writes its ledger
/// entry, or neither.
struct PlanApplication {
    let db: Database
    let run: RunReference
    let header: RunHeader
    /// The identity of the plan that every entry is written under.
    let plan: String
    let now: Timestamp
    /// Names the event of each correction; `nil` when no events are sent.
    let naming: EventNaming?
    var part = Part.wholePlan
    /// The company's own table, where `subscriptions` is a copy of it.
    var company: CompanyUnit?

    /// Which of the planned corrections are taken up.
    enum Part: Sendable {
        case wholePlan
        /// Those of the subscriptions that were chosen to be written ahead.
        case canary
    }

    /// A trigger rolled back the whole transaction at this correction: nothing was written.
    struct Undone: Error {
        let item: StoredCorrection
    }

    struct StoredCorrection {
        let id: Int64
        let correction: PlannedCorrection
    }

    /// Takes up so many corrections, and those that must be written together with them.
    func apply(limit: Int) throws -> Int {
        var taken: Set<Int64> = []
        for item in try next(limit: limit) where !taken.contains(item.id) {
            let unit = try WriteUnit(db: db, passID: run.passID)
                .members(around: item.correction.subscription)
            for member in unit ?? [item] where taken.insert(member.id).inserted {
                try write(member)
            }
        }
        return taken.count
    }

    private func write(_ item: StoredCorrection) throws {
        var fate = CorrectionFate.rejected
        do {
            try db.inSavepoint {
                fate = try make(item.correction)
                return .commit
            }
        } catch is RowChange.Refused {
            guard db.isInsideTransaction else { throw Undone(item: item) }
            fate = .rejected
        } catch let notMade as CompanyUnit.NotMade {
            fate = notMade.fate
        } catch is CompanyUnit.Undone {
            throw Undone(item: item)
        }
        try CorrectionStaging(db: db, run: run).note(fate, of: item)
    }

    /// Changes the row, writes the ledger and puts the event into the outbox.
    private func make(_ planned: PlannedCorrection) throws -> CorrectionFate {
        var correction = planned
        if let company {
            guard let kept = company.kept(planned) else { return .rejected }
            correction = kept
        }
        guard try isProven(correction) else { return .unproven }
        // What was planned before another row was known to stand for this one no longer holds.
        guard try correction.undoOf != nil || !isStoodFor(correction) else { return .stale }
        var other: String?
        if !correction.continuedBy.isEmpty {
            other = try WriteUnit(db: db, passID: run.passID).standing(insteadOf: correction)
            guard other != nil else { return .heldBack }
        }
        let change = RowChange(db: db, correction: correction)
        let fate = try change.make()
        guard fate == .applied else { return fate }
        // The last thing that can say no, so that nothing is written there that is not here.
        try company?.write(correction)
        let entry = try Ledger(db: db).append(
            correction, run: header, plan: plan, rowVersion: try change.versionNow(),
            accessContinuesBy: other, at: now)
        try company?.append(entry)
        try OutboxWriter(db: db, naming: naming).append(entry)
        if let undone = correction.undoOf {
            try TakenBackCorrection(db: db, entry: undone).note()
        }
        return .applied
    }

    private func isStoodFor(_ correction: PlannedCorrection) throws -> Bool {
        try !StandIns(db: db).rows(of: correction.subscription).isEmpty
    }

    /// Whether what Apple signed for a correction is still held.
    ///
    /// A revert needs none: it restores the value from before Apple's statement was written.
    private func isProven(_ correction: PlannedCorrection) throws -> Bool {
        guard correction.undoOf == nil else { return true }
        let vault = EvidenceVault(db: db)
        return try [correction.evidence, correction.evidenceRenewal].compactMap(\.self)
            .allSatisfy { try vault.payload($0) != nil }
    }

    private var condition: String {
        switch part {
        case .wholePlan: ""
        case .canary:
            """
            AND (c.bundle_id, c.environment, c.original_transaction_id) IN (
                SELECT bundle_id, environment, original_transaction_id FROM trueup_canaries
                WHERE pass_id = c.pass_id)
            """
        }
    }

    private func next(limit: Int) throws -> [StoredCorrection] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(PlannedCorrection.columns), c.correction_id
                FROM trueup_pass_corrections AS c
                WHERE c.pass_id = ? AND c.fate = 'planned' AND c.superseded_by IS NULL \(condition)
                ORDER BY c.bundle_id, c.environment, c.original_transaction_id, c.correction_id
                LIMIT ?
                """)
        var found: [StoredCorrection] = []
        let rows = try Row.fetchCursor(statement, arguments: [run.passID, limit])
        while let row = try rows.next() {
            found.append(
                StoredCorrection(
                    id: row.integer(at: PlannedCorrection.columnCount) ?? 0,
                    correction: try PlannedCorrection(row)))
        }
        return found
    }
}
