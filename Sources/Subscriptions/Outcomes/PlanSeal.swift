/// The identity of a run's plan, by which it is approved, applied and found in the ledger.
package struct PlanSeal: Hashable, Sendable {
    /// SHA-256, in lowercase hexadecimal, over `PlanHead.canonical` and the canonical text of each
    /// correction in the order of the report, every one of them followed by a line feed.
    ///
    /// The outcome of the corrections is not covered: a plan keeps its identity when it is applied.
    package var sha256: String
    package var head: PlanHead
    /// How many corrections it holds.
    package var changes: Int

    package init(sha256: String, head: PlanHead, changes: Int) {
        self.sha256 = sha256
        self.head = head
        self.changes = changes
    }
}

/// The part of a plan that says in which database, by which run and of what scope it was made.
package struct PlanHead: Hashable, Sendable {
    /// The identity of the database that it was made from.
    package var database: String
    /// The run that made it.
    package var plannedBy: String
    package var job: String
    /// Every narrowing of that run, in words.
    package var scope: [String]
    /// The job's file, and its guards when the plan was made.
    ///
    /// Not part of the identity: they are only read from the database.
    package var jobFile: String?
    package var guards: String?

    package init(database: String, plannedBy: String, job: String, scope: [String]) {
        self.database = database
        self.plannedBy = plannedBy
        self.job = job
        self.scope = scope
    }

    /// The members that the plan's identity covers.
    package var members: [String: CanonicalJSON] {
        [
            "database": .string(database), "job": .string(job), "planned_by": .string(plannedBy),
            "scope": scope.isEmpty ? .null : .array(scope.map(CanonicalJSON.string)),
        ]
    }

    package var canonical: CanonicalJSON { .object(members) }
}

extension PlannedCorrection {
    /// The members of a correction in a plan, without its outcome.
    ///
    /// `rules`, `undo_of` and `access_continues_by` are left out when there are none.
    package var planMembers: [String: CanonicalJSON] {
        var version: CanonicalJSON = .null
        switch target {
        case .update(_, let expected), .delete(_, let expected): version = .integer(expected)
        case .insert, .insertPeriod, .updatePeriod, .deletePeriod: break
        }
        var members: [String: CanonicalJSON] = [
            "action": .string(action.rawValue),
            "after": .object(changes.after.mapValues(\.json)),
            "app": .string(subscription.bundleID),
            "apple_signed_date": .time(appleSignedDate),
            "before": .object(changes.before.mapValues(\.json)),
            "environment": .string(subscription.environment),
            "evidence": .string(evidence.hexadecimal),
            "evidence_renewal": .text(evidenceRenewal?.hexadecimal),
            "expected_row_version": version,
            "kinds": .array(kinds.map { .string($0.rawValue) }),
            "original_transaction_id": .string(subscription.originalTransactionID),
            "reason": .string(reason),
            "table": .string(table),
            "transaction_id": .text(transactionID),
        ]
        if !rules.isEmpty { members["rules"] = .array(rules.map(\.json)) }
        if let undoOf { members["undo_of"] = .integer(undoOf) }
        if !continuedBy.isEmpty {
            members["access_continues_by"] = .array(continuedBy.map(CanonicalJSON.string))
        }
        return members
    }
}

/// A plan that is stored in the database.
package struct KnownPlan: Hashable, Sendable {
    package var seal: PlanSeal
    /// The run that applied all of it; `nil` while a part is still to be applied.
    package var appliedBy: String?
    package var appliedAt: Timestamp?
    /// Whether its corrections are past `retention`, so that nothing is left to apply.
    package var isPastRetention = false

    package init(seal: PlanSeal, appliedBy: String?, appliedAt: Timestamp?) {
        self.seal = seal
        self.appliedBy = appliedBy
        self.appliedAt = appliedAt
    }
}
