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

    /// The whole transaction was rolled back, and nothing of it was written: a trigger did so at one
    /// correction, or a deferred constraint at the end, and then nobody knows at which.
    struct Undone: Error {
        let items: [StoredCorrection]
        /// Why, where nobody has noted it yet.
        var reason: String?
    }

    struct StoredCorrection {
        let id: Int64
        let correction: PlannedCorrection
    }

    /// Takes up so many corrections, and those that must be written together with them.
    func apply(limit: Int) throws -> [StoredCorrection] {
        var taken: Set<Int64> = []
        var items: [StoredCorrection] = []
        for item in try next(limit: limit) where !taken.contains(item.id) {
            let linked = try LinkedCorrections(db: db, passID: run.passID)
                .members(around: item.correction.subscription)
            for member in linked ?? [item] where taken.insert(member.id).inserted {
                try write(member)
                items.append(member)
            }
        }
        return items
    }

    private func write(_ item: StoredCorrection) throws {
        var fate = CorrectionFate.rejected
        do {
            try db.inSavepoint {
                fate = try make(item.correction)
                return .commit
            }
        } catch is RowChange.Refused {
            guard db.isInsideTransaction else { throw Undone(items: [item]) }
            fate = .rejected
        } catch let notMade as CompanyUnit.NotMade {
            fate = notMade.fate
        } catch is CompanyUnit.Undone {
            throw Undone(items: [item])
        }
        let staging = CorrectionStaging(db: db, run: run)
        guard fate == .stale else { return try staging.note(fate, of: item) }
        let isLeft = try MovedRow.settle(item, in: run, started: header.started, db)
        if isLeft {
            try staging.note(.stale, of: item)
        } else {
            try staging.note(.stale, ofCorrection: item.id)
        }
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
        guard
            try correction.undoOf != nil
                || !NewestStatements(db: db).outdate(correction, now: now)
        else { return .stale }
        var other: String?
        if !correction.continuedBy.isEmpty {
            other = try LinkedCorrections(db: db, passID: run.passID).standing(
                insteadOf: correction)
            guard other != nil else { return .heldBack }
        }
        let change = RowChange(db: db, correction: correction, now: now)
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

/// Corrections written in one transaction because access moves between subscriptions: first
/// those that give access, then those that end it.
struct LinkedCorrections {
    let db: Database
    let passID: Int64

    /// The planned corrections to write together with those of this subscription, its own
    /// included, in writing order; `nil` when it is not linked to another one.
    func members(around key: SubscriptionKey) throws -> [PlanApplication.StoredCorrection]? {
        let linked = try subscriptions(linkedTo: key)
        guard linked.count > 1 else { return nil }
        var gains: [PlanApplication.StoredCorrection] = []
        var losses: [PlanApplication.StoredCorrection] = []
        for id in linked.sorted() {
            for item in try planned(id, like: key) {
                if item.correction.continuedBy.isEmpty {
                    gains.append(item)
                } else {
                    losses.append(item)
                }
            }
        }
        return gains + losses
    }

    /// All subscriptions linked to this one by continued access, in either direction.
    func subscriptions(linkedTo key: SubscriptionKey) throws -> Set<String> {
        let statement = try db.cachedStatement(
            sql: """
                SELECT continued_by FROM trueup_pass_continuations
                WHERE pass_id = ?1 AND bundle_id = ?2 AND environment = ?3
                    AND original_transaction_id = ?4
                UNION SELECT original_transaction_id FROM trueup_pass_continuations
                WHERE pass_id = ?1 AND bundle_id = ?2 AND environment = ?3 AND continued_by = ?4
                """)
        var found: Set<String> = [key.originalTransactionID]
        var open = [key.originalTransactionID]
        while let id = open.popLast() {
            let next = try String.fetchAll(
                statement, arguments: [passID, key.bundleID, key.environment, id])
            open += next.filter { found.insert($0).inserted }
        }
        return found
    }

    private func planned(
        _ id: String, like key: SubscriptionKey
    ) throws -> [PlanApplication.StoredCorrection] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(PlannedCorrection.columns), c.correction_id
                FROM trueup_pass_corrections AS c
                WHERE c.pass_id = ? AND c.fate = 'planned' AND c.superseded_by IS NULL
                    AND c.bundle_id = ? AND c.environment = ? AND c.original_transaction_id = ?
                ORDER BY c.correction_id
                """)
        return try Row.fetchAll(
            statement, arguments: [passID, key.bundleID, key.environment, id]
        ).map { row in
            PlanApplication.StoredCorrection(
                id: row.integer(at: PlannedCorrection.columnCount) ?? 0,
                correction: try PlannedCorrection(row))
        }
    }

    /// The subscription that gives access in place of the one that a correction ends: the first
    /// that is stored as entitling and does not belong to another customer.
    func standing(insteadOf correction: PlannedCorrection) throws -> String? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT status FROM subscriptions AS other
                WHERE bundle_id = ?1 AND environment = ?2 AND original_transaction_id = ?3
                    AND typeof(status) = 'integer'
                    AND NOT EXISTS (SELECT 1 FROM subscriptions AS ended
                        WHERE ended.bundle_id = ?1 AND ended.environment = ?2
                            AND ended.original_transaction_id = ?4
                            AND nullif(ended.customer_id, '') <> nullif(other.customer_id, ''))
                """)
        let key = correction.subscription
        return try correction.continuedBy.first { id in
            let status = try Int.fetchOne(
                statement,
                arguments: [key.bundleID, key.environment, id, key.originalTransactionID])
            return status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
        }
    }
}
