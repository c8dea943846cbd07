import JSONWebSignature
import Subscriptions

/// Compares a correction with its signed evidence.
///
/// This finds an edited value or an exchanged payload even when every digest was recomputed.
struct StatementCheck {
    /// The run whose report is checked.
    let runID: String
    let apps: KnownApps
    let evidence: EvidenceFile

    struct Outcome {
        var problems: [String]
        /// Whether its evidence was erased, so that it could not be verified.
        var restsOnErased = false
        /// What the verified evidence says; `nil` where it does not hold or was erased.
        var values: StatedValues?
    }

    /// The evidence of a correction.
    private enum Statements {
        case values(StatedValues)
        case erased
    }

    /// Checks a correction, written or planned.
    func check(_ entry: JSONRecord) async -> Outcome {
        await check(entry) { values in problems(of: entry, values) }
    }

    /// Checks an entry that reverts another one: the evidence is that entry's, so only its identity
    /// is compared and not the values.
    func check(undoing entry: JSONRecord) async -> Outcome {
        await check(entry) { values in identityProblems(of: entry, values) }
    }

    private func check(
        _ entry: JSONRecord, holding: (StatedValues) -> [String]
    ) async -> Outcome {
        guard let app = apps.app(of: entry) else {
            return Outcome(problems: [KnownApps.problem])
        }
        do throws(UnreadableFile) {
            switch try await statements(of: entry, app) {
            case .values(let values): return Outcome(problems: holding(values), values: values)
            case .erased:
                return Outcome(problems: problemsOfErased(entry), restsOnErased: true)
            }
        } catch {
            return Outcome(problems: [error.reason])
        }
    }

    /// A run never writes on erased evidence, and nothing is erased while a run holds the lock.
    ///
    /// So evidence that the writing run's own report shows as erased was erased before the write.
    ///
    /// Clocks are not compared: they are set back, and a rehearsal has its own. Corrections of a run
    /// that was killed are reported by a later one, and evidence may be erased in between. Reverting
    /// needs no evidence.
    private func problemsOfErased(_ entry: JSONRecord) -> [String] {
        guard !entry.states("undo_of"), entry.states("written_at"),
            entry.text("run_id")?.isSame(as: runID) == true
        else { return [] }
        return ["it was written after its evidence had been erased"]
    }

    private func statements(
        of entry: JSONRecord, _ app: ManifestRecord.App
    ) async throws(UnreadableFile) -> Statements {
        guard let digest = entry.text("evidence"), digest.isDigest else {
            throw UnreadableFile("it names no evidence")
        }
        var transaction: SignedTransaction?
        switch try await evidence.statement(of: digest, for: app) {
        case .transaction(let stated): transaction = stated
        case .erased: break
        default:
            throw UnreadableFile(
                "the evidence \(digest) is no transaction of "
                    + "\(app.identity.bundleID) in \(app.identity.environment.rawValue)")
        }
        guard entry.text("table") != "transactions" else {
            guard !entry.states("evidence_renewal") else {
                throw UnreadableFile("it names a renewal info, which a period does not rest on")
            }
            return Self.statements(transaction, nil)
        }
        guard let digest = entry.text("evidence_renewal"), digest.isDigest else {
            throw UnreadableFile("it names no evidence_renewal")
        }
        switch try await evidence.statement(of: digest, for: app) {
        case .renewal(let renewal): return Self.statements(transaction, renewal)
        case .erased: return .erased
        default:
            throw UnreadableFile(
                "the evidence \(digest) is no renewal info of "
                    + "\(app.identity.bundleID) in \(app.identity.environment.rawValue)")
        }
    }

    private static func statements(
        _ transaction: SignedTransaction?, _ renewal: SignedRenewal?
    ) -> Statements {
        transaction.map { .values(StatedValues(transaction: $0, renewal: renewal)) } ?? .erased
    }

    private func problems(of entry: JSONRecord, _ values: StatedValues) -> [String] {
        var problems = identityProblems(of: entry, values)
        guard let table = entry.text("table"), ["subscriptions", "transactions"].contains(table)
        else { return problems + ["it names no table"] }
        guard let after = entry.record("after"), let before = entry.record("before"),
            Set(after.names) == Set(before.names), !after.names.isEmpty
        else { return problems + ["its before and after are not about the same fields"] }
        for column in after.names {
            let stated =
                table == "transactions"
                ? values.periodValue(of: column) : values.subscriptionValue(of: column)
            guard let stated, let written = after[column] else { continue }
            if !written.source.isSame(as: stated.rendered) {
                problems.append(
                    "its \(column) is \(written.source), the signed payload says "
                        + stated.rendered)
            }
        }
        if table == "transactions", entry.text("action") == "update" {
            for column in before.names where before.states(column) && before.text(column) != "" {
                problems.append("its \(column) was not empty: a period is only ever filled in")
            }
        }
        if table == "subscriptions", let status = after.integer("status"),
            let reason = values.contradiction(ofStatus: status)
        {
            problems.append("its status is \(status), but \(reason)")
        }
        return problems
    }

    private func identityProblems(of entry: JSONRecord, _ values: StatedValues) -> [String] {
        var problems: [String] = []
        let id = entry.text("original_transaction_id")
        for other in [
            values.transaction.originalTransactionID, values.renewal?.originalTransactionID,
        ].compactMap(\.self) where !other.isSame(as: id) {
            problems.append(
                "its evidence is about the subscription \(other), not about \(id ?? "it")")
        }
        if entry.text("table") == "transactions",
            !values.transaction.transactionID.isSame(as: entry.text("transaction_id"))
        {
            problems.append(
                "its evidence is about the transaction \(values.transaction.transactionID)")
        }
        if !values.signedDate.rfc3339.isSame(as: entry.text("apple_signed_date")) {
            problems.append(
                "its apple_signed_date is not when Apple signed, \(values.signedDate.rfc3339)")
        }
        return problems
    }
}
