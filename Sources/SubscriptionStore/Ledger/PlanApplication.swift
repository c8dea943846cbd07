import GRDB
import Reconciliation
package import Subscriptions
import Synchronization

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
    /// The catalogue by which events name entitlements.
    let catalogue: ProductCatalogue?
    /// Whether only corrections of the subscriptions are tried that were chosen to be written ahead.
    let isCanary: Bool
    /// The company's own table, where `subscriptions` is a copy of it.
    var company: CompanyUnit?
    private let known = Known()

    /// Facts looked up for one correction that hold for the next ones of the transaction as well.
    private final class Known {
        /// Whether any subscription of the pass is linked to another one.
        var hasLinks: Bool?
        /// Whether any row is stored under another subscription's id.
        var hasAliasRows: Bool?
        /// The newest statement about the last subscription.
        var newest: (key: SubscriptionKey, signed: Timestamp?)?
        /// The end of the ledger.
        var head: (number: Int64, hash: String)?
    }

    /// The whole transaction was rolled back, and nothing of it was written: a trigger did so at
    /// one correction, or a deferred constraint at the end, which does not say at which.
    struct Undone: Error {
        /// Filled in by what applies them.
        var items: [StoredCorrection] = []
        var fate = CorrectionFate.rejected
        /// The reason, where it is not noted yet.
        var reason: String?
    }

    struct StoredCorrection {
        let id: Int64
        let correction: PlannedCorrection
        /// The run that planned it.
        let stagedBy: Int64

        /// The columns that `init(_:)` reads, of the table `c`.
        static let columns = "\(PlannedCorrection.columns), c.correction_id, c.staged_by"

        init(_ row: Row) throws {
            var columns = RowColumns(row)
            correction = try PlannedCorrection(&columns)
            id = columns.integer() ?? 0
            stagedBy = columns.integer() ?? 0
        }
    }

    /// Takes up so many corrections, and those that must be written together with them.
    func apply(limit: Int) throws -> [StoredCorrection] {
        var taken: Set<Int64> = []
        var items: [StoredCorrection] = []
        var written: [Int64] = []
        let most = company?.link.database.correctionsPerTransaction ?? .max
        taking: for item in try next(limit: limit) where !taken.contains(item.id) {
            let linked = try linkedCorrections(around: item.correction.subscription)
            for member in linked ?? [item] where taken.insert(member.id).inserted {
                guard items.count < most else { break taking }
                let fate = try write(member)
                if fate == .applied, OutcomeStaging.isOnlyNoted(member) {
                    written.append(member.id)
                } else {
                    try note(fate, of: member)
                }
                items.append(member)
            }
        }
        try OutcomeStaging(db: db, run: run).noteApplied(written)
        return items
    }

    private func linkedCorrections(
        around key: SubscriptionKey
    ) throws -> [StoredCorrection]? {
        let links = LinkedCorrections(db: db, passID: run.passID)
        let hasLinks = try known.hasLinks ?? links.exist()
        known.hasLinks = hasLinks
        return hasLinks ? try links.members(around: key) : nil
    }

    private func write(_ item: StoredCorrection) throws -> CorrectionFate {
        do {
            return try db.inCorrection { try make(item) }
        } catch let notMade as RowChange.NotMade {
            known.head = nil
            guard db.isInsideTransaction else { throw Undone(items: [item]) }
            return notMade.fate
        } catch is Undone {
            throw Undone(items: [item])
        }
    }

    fileprivate func note(_ fate: CorrectionFate, of item: StoredCorrection) throws {
        let staging = OutcomeStaging(db: db, run: run)
        guard fate == .stale else { return try staging.note(fate, of: item) }
        let isLeft = try RowChange(db: db, correction: item.correction, now: now)
            .settle(item.id, in: run, started: header.started)
        if isLeft {
            let isOutdated = try outdating(item.correction) != nil
            try staging.note(.stale, of: item, isOutdated: isOutdated)
        } else {
            try staging.note(.stale, ofCorrection: item.id)
        }
    }

    /// Changes the row, writes the ledger and puts the event into the outbox.
    private func make(_ item: StoredCorrection) throws -> CorrectionFate {
        var correction = item.correction
        if let company {
            guard let kept = company.kept(correction) else { return .rejected }
            correction = kept
        }
        // What this run has verified and stored itself is not computed again from what is stored.
        guard try Self.isProven(correction, reading: item.stagedBy != run.sequence, db) else {
            return .unproven
        }
        // A plan from before the row's alias row was known no longer holds.
        guard try correction.undoOf != nil || !hasAliasRow(correction) else { return .stale }
        guard try outdating(correction) == nil else { return .stale }
        var other: String?
        if !correction.continuedBy.isEmpty {
            other = try LinkedCorrections(db: db, passID: run.passID).standing(
                insteadOf: correction)
            guard other != nil else { return .heldBack }
        }
        let outbox = OutboxWriter(db: db, naming: naming, company: company)
        let last = try outbox.lastNote()
        let change = RowChange(db: db, correction: correction, now: now)
        let fate = try change.make()
        guard fate == .applied else { return fate }
        // The last thing that can say no, so that nothing is written there that is not here.
        try company?.write(correction)
        let ledger = Ledger(db: db)
        let entry = try ledger.append(
            correction, behind: try known.head ?? ledger.head(), run: header, plan: plan,
            rowVersion: try change.versionNow(), accessContinuesBy: other, at: now)
        known.head = (entry.number, entry.hash)
        try company?.append(entry)
        try outbox.append(entry, after: last, by: catalogue)
        if let undone = correction.undoOf {
            try ledger.noteReverted(undone)
        }
        return .applied
    }

    private func outdating(_ correction: PlannedCorrection) throws -> OutdatedStatement? {
        let statements = NewestStatements(db: db)
        let key = correction.subscription
        if known.newest?.key != key { known.newest = (key, try statements.date(of: key)) }
        return statements.outdating(correction, newest: known.newest?.signed, now: now)
    }

    private func hasAliasRow(_ correction: PlannedCorrection) throws -> Bool {
        let aliasRows = AliasRows(db: db)
        let exist = try known.hasAliasRows ?? aliasRows.exist()
        known.hasAliasRows = exist
        return try exist && !aliasRows.rows(of: correction.subscription).isEmpty
    }

    /// Whether what Apple signed for a correction is still held and not erased; read again, also
    /// whether it is as it was received.
    ///
    /// A revert needs none: it restores the value from before Apple's statement was written.
    private static func isProven(
        _ correction: PlannedCorrection, reading: Bool, _ db: Database
    ) throws -> Bool {
        guard correction.undoOf == nil else { return true }
        let vault = EvidenceVault(db: db)
        return try [correction.evidence, correction.evidenceRenewal].compactMap(\.self)
            .allSatisfy { try reading ? vault.payload($0) != nil : vault.holds($0) }
    }

    /// The fate that a correction of a plan would have now.
    static func forecast(
        of correction: PlannedCorrection, under plan: String, at now: Timestamp, _ db: Database
    ) throws -> CorrectionFate {
        if try PlanStaging.isWritten(correction, under: plan, db) { return .applied }
        guard try isProven(correction, reading: true, db) else { return .unproven }
        guard try NewestStatements(db: db).outdating(correction, now: now) == nil,
            try AliasRows(db: db).rows(of: correction.subscription).isEmpty,
            try RowChange(db: db, correction: correction, now: now).holds()
        else { return .stale }
        return .planned
    }

    private func next(limit: Int) throws -> [StoredCorrection] {
        let condition =
            isCanary
            ? """
            AND (c.bundle_id, c.environment, c.original_transaction_id) IN (
                SELECT bundle_id, environment, original_transaction_id FROM trueup_canaries
                WHERE pass_id = c.pass_id)
            """ : ""
        var items: [StoredCorrection] = []
        try db.forEachRow(
            cached: """
                SELECT \(StoredCorrection.columns) FROM trueup_pass_corrections AS c
                WHERE c.pass_id = ? AND c.fate = 'planned' AND c.superseded_by IS NULL \(condition)
                \(PlanReader.order)
                LIMIT ?
                """, [run.passID, limit]
        ) { row in items.append(try StoredCorrection(row)) }
        return items
    }
}

/// Corrections written in one transaction because access moves between subscriptions: first
/// those that give access, then those that end it.
struct LinkedCorrections {
    let db: Database
    let passID: Int64

    /// Whether the pass has any, which nearly none has.
    func exist() throws -> Bool {
        try db.holds("trueup_pass_continuations WHERE pass_id = ?", [passID])
    }

    /// The planned corrections to write together with those of this subscription, its own
    /// included, in writing order; `nil` when it is not linked to another one.
    func members(around key: SubscriptionKey) throws -> [PlanApplication.StoredCorrection]? {
        let linked = try subscriptions(linkedTo: key)
        guard linked.count > 1 else { return nil }
        let items = try linked.sorted().flatMap(planned)
        return items.filter(\.correction.continuedBy.isEmpty)
            + items.filter { !$0.correction.continuedBy.isEmpty }
    }

    /// Links a subscription to those by which access continues.
    ///
    /// A link to another app is noted on both sides: the index that leads back is one of an app.
    func add(_ names: [String], to key: SubscriptionKey) throws {
        let insert = try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO trueup_pass_continuations VALUES (?, ?, ?, ?, ?)")
        for name in names {
            try insert.execute(arguments: [passID] + key.arguments + [name])
            guard SubscriptionKey.isOfAnotherApp(name) else { continue }
            try insert.execute(
                arguments: [passID] + key.named(name).arguments + [key.nameElsewhere])
        }
    }

    /// All subscriptions linked to this one by continued access, in either direction.
    func subscriptions(linkedTo key: SubscriptionKey) throws -> Set<SubscriptionKey> {
        let statement = try db.cachedStatement(
            sql: """
                SELECT continued_by FROM trueup_pass_continuations
                WHERE pass_id = ?1 AND bundle_id = ?2 AND environment = ?3
                    AND original_transaction_id = ?4
                UNION SELECT original_transaction_id FROM trueup_pass_continuations
                WHERE pass_id = ?1 AND bundle_id = ?2 AND environment = ?3 AND continued_by = ?4
                """)
        var found: Set<SubscriptionKey> = [key]
        var open = [key]
        while let linked = open.popLast() {
            let next = try String.fetchAll(statement, arguments: [passID] + linked.arguments)
            open += next.map(linked.named).filter { found.insert($0).inserted }
        }
        return found
    }

    /// The corrections of a subscription that are still to be written.
    func planned(_ key: SubscriptionKey) throws -> [PlanApplication.StoredCorrection] {
        try db.rows(
            cached: """
                SELECT \(PlanApplication.StoredCorrection.columns)
                FROM trueup_pass_corrections AS c
                WHERE c.pass_id = ? AND c.fate = 'planned' AND c.superseded_by IS NULL
                    AND c.bundle_id = ? AND c.environment = ? AND c.original_transaction_id = ?
                ORDER BY c.correction_id
                """, [passID] + key.arguments
        )
        .map(PlanApplication.StoredCorrection.init)
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
                        WHERE ended.bundle_id = ?4 AND ended.environment = ?2
                            AND ended.original_transaction_id = ?5
                            AND nullif(ended.customer_id, '') <> nullif(other.customer_id, ''))
                """)
        let key = correction.subscription
        return try correction.continuedBy.first { name in
            let status = try Int.fetchOne(
                statement,
                arguments: key.named(name).arguments + [key.bundleID, key.originalTransactionID])
            return status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
        }
    }
}

/// The plan of a checkpoint, and the ledger of the corrections written from it.
///
/// A row's change, its ledger entry and its event are one transaction; the ledger is next to the
/// rows, wherever these are.
extension SQLiteStore {
    /// Fixes what the checkpoint plans and gives it its identity; once for each run, unless
    /// something is staged afterwards.
    ///
    /// `progress` takes how many corrections are read, and of how many.
    @discardableResult
    package func sealPlan(
        of pass: OpenPass, run: RunHeader,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws(StoreError) -> PlanSeal {
        let doing = "sealing the plan of the run \(run.runID)"
        let known = try await read(doing) { db in
            try PlanReader(db: db).seal(ofRun: RunReference(run, in: pass, db).sequence)
        }
        if let known { return known }
        try await linkByEntitlement(pass)
        let seal = try await read(doing) { db in
            try PlanReader(db: db).computeSeal(
                of: RunReference(run, in: pass, db), header: run, progress)
        }
        try await write(doing) { db in
            let reference = try RunReference(run, in: pass, db)
            try db.execute(
                sql: """
                    INSERT INTO trueup_plans (plan, planned_by, changes) VALUES (?, ?, ?)
                    ON CONFLICT DO NOTHING
                    """,
                arguments: [seal.sha256, seal.head.plannedBy, seal.changes])
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_run_plans VALUES (?, ?)",
                arguments: [reference.sequence, seal.sha256])
        }
        return seal
    }

    /// How many planned corrections of the checkpoint were not tried yet.
    package func correctionsLeft(of pass: OpenPass) async throws(StoreError) -> Int {
        try await read("counting the corrections that are left") { db in
            try db.count(
                """
                SELECT count(*) FROM trueup_pass_corrections INDEXED BY trueup_pass_corrections_planned
                WHERE pass_id = ? AND fate = 'planned' AND superseded_by IS NULL
                """, [pass.passID])
        }
    }

    /// The plan in numbers, for the guards.
    package func planTotals(of pass: OpenPass) async throws(StoreError) -> PlanTotals {
        try await read("counting the plan") { db in
            try PlanCount(db: db, passID: pass.passID).totals()
        }
    }

    /// The counts of the run that made a plan, for the guards; `changes` is 0.
    package func planTotals(ofPlan sha256: String) async throws(StoreError) -> PlanTotals {
        try await read("counting the rows behind a plan") { db in
            try PlanStaging.totals(behind: sha256, db)
        }
    }

    /// Folds every correction of the checkpoint's plan, written ones included, into one value; they
    /// are read in the order of their subscriptions and never held at once.
    ///
    /// Each comes with the reason for which its row was asked about; `nil` where it was no question
    /// of this checkpoint.
    package func reducePlan<Result: Sendable>(
        of pass: OpenPass, into initial: Result,
        _ add: @escaping @Sendable (inout Result, PlannedCorrection, QuestionReason?) -> Void
    ) async throws(StoreError) -> Result {
        try await read("surveying the plan") { db in
            var result = initial
            try db.forEachRow(
                """
                SELECT \(PlannedCorrection.columns), p.asked_because
                FROM trueup_pass_corrections AS c
                LEFT JOIN trueup_pass_rows AS p ON p.pass_id = c.pass_id
                    AND \(SubscriptionKey.agree("p", "c"))
                WHERE c.pass_id = ? AND c.superseded_by IS NULL
                    AND c.fate IN ('planned', 'applied')
                \(PlanReader.order)
                """, [pass.passID]
            ) { row in
                var columns = RowColumns(row)
                let correction = try PlannedCorrection(&columns)
                add(&result, correction, columns.integer().flatMap(QuestionReason.init(rank:)))
            }
            return result
        }
    }

    /// The guards lifted for this checkpoint by runs that were killed after the guards passed their
    /// plan.
    package func liftsOfKilledRuns(in pass: OpenPass) async throws(StoreError) -> [GuardLift] {
        try await read("reading what was lifted") { db in
            try GuardLift.fetchAll(
                db,
                where: """
                    run_seq IN (SELECT run_seq FROM trueup_runs WHERE pass_id = ? AND ended IS NULL)
                    """,
                arguments: [pass.passID])
        }
    }

    /// Records what this run lifts, before anything is written for it.
    package func recordLifts(
        _ lifts: [GuardLift], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("recording what was lifted") { db in
            let run = try RunReference(run, in: pass, db)
            for lift in lifts { try lift.insert(db, run: run) }
        }
    }

    /// Applies up to `limit` planned corrections of the checkpoint, oldest key first, each with its
    /// ledger entry in the same transaction, by compare-and-set; says how many were tried (0 when
    /// none is left).
    ///
    /// A row that changed becomes undecided (`changed_during_run`). With `isCanary`, only the
    /// corrections of the subscriptions are applied that were chosen for it.
    package func applyPlanned(
        isCanary: Bool = false, limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int {
        guard run.mode == .apply else {
            throw .inconsistent(
                "The run \(run.runID) is a check and must not write; nothing was written.")
        }
        let doing = "applying corrections"
        let plan = try await sealPlan(of: pass, run: run).sha256
        let application = { @Sendable [naming, catalogue] (db: Database) throws in
            try PlanApplication(
                db: db, run: RunReference(run, in: pass, db), header: run, plan: plan, now: now,
                naming: naming, catalogue: catalogue, isCanary: isCanary)
        }
        var size = company == nil ? min(limit, correctionBatch.withLock { $0.rows }) : limit
        // Halves of a refused batch, and what is refused of it one by one.
        for _ in 0...(limit &+ Int.bitWidth) {
            let attempt = try await writeOrUndo(doing) { [company, size] db in
                let began = ContinuousClock.now
                let takenUp = try application(db).apply(limit: size, to: company)
                return (takenUp, began.duration(to: .now))
            }
            switch attempt {
            case .success(let (takenUp, took)):
                if takenUp >= size { correctionBatch.withLock { $0.note(took) } }
                return takenUp
            case .failure(let undone) where size > 1 && undone.items.count > 1:
                size = min(size, undone.items.count) / 2
            case .failure(let undone):
                try await write(doing) { db in
                    let application = try application(db)
                    for item in undone.items { try application.note(undone.fate, of: item) }
                }
                if undone.fate == .stale { return undone.items.count }
                guard let reason = undone.reason else { continue }
                for item in undone.items {
                    company?.noteRefusal(of: item.correction.subscription, because: reason)
                }
                return undone.items.count
            }
        }
        throw .inconsistent("Every correction of a batch rolled back the others.")
    }
}

extension PlanApplication {
    /// Takes up so many corrections in one transaction, which is one of the company's database as
    /// well.
    ///
    /// - Parameters:
    ///   - limit: How many.
    ///   - link: The company's own table; `nil` where the rows are here.
    /// - Returns: How many were tried.
    /// - Throws: `Undone` where nothing was written because a database said no.
    fileprivate func apply(limit: Int, to link: CompanyLink?) throws -> Int {
        var items: [StoredCorrection] = []
        do {
            return try CompanyUnit.around(db, link, by: catalogue) { unit in
                var application = self
                application.company = unit
                items = try application.apply(limit: limit)
                return items.count
            }
        } catch var undone as Undone {
            if undone.items.isEmpty { undone.items = items }
            throw undone
        }
    }
}

extension GuardLift {
    /// The lifts that a condition names, in the order of the guards.
    static func fetchAll(
        _ db: Database, where condition: String, arguments: StatementArguments
    ) throws -> [GuardLift] {
        let rows = try db.rows(
            """
            SELECT guard, reason, actor, lifted_at, lifted_by, breach FROM trueup_guard_lifts
            WHERE \(condition) ORDER BY run_seq, guard
            """, arguments)
        return rows.compactMap { row in
            guard let name = GuardName(rawValue: row.requiredText(at: 0)) else { return nil }
            return GuardLift(
                name: name, reason: row.requiredText(at: 1), actor: row.requiredText(at: 2),
                liftedAt: row.time(at: 3) ?? Timestamp(unixMilliseconds: 0),
                liftedBy: row.requiredText(at: 4), breach: row.text(at: 5))
        }
    }

    func insert(_ db: Database, run: RunReference) throws {
        try db.execute(
            sql: "INSERT INTO trueup_guard_lifts VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                run.sequence, name.rawValue, reason, actor, liftedAt.unixMilliseconds, liftedBy,
                breach,
            ])
    }
}
