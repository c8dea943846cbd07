import JSONWebSignature
import Subscriptions

/// Holds a correction against the signed payloads that it rests on.
///
/// An edited value or an exchanged payload shows here even when every digest was computed anew.
struct StatementCheck {
    let manifest: ManifestRecord
    let evidence: EvidenceFile

    /// What does not hold about a correction, or about one that is only planned.
    func problems(of entry: JSONRecord) async -> [String] {
        guard
            let app = manifest.app(
                bundleID: entry.text("app"), environment: entry.text("environment"))
        else { return ["its app is none of the manifest's"] }
        do throws(UnreadableFile) {
            let values = try await values(of: entry, app)
            return problems(of: entry, values)
        } catch {
            return [error.reason]
        }
    }

    /// What does not hold about the evidence of an entry that takes another one back: it is that
    /// one's, so it says nothing of the values.
    func problems(ofUndoing entry: JSONRecord) async -> [String] {
        guard
            let app = manifest.app(
                bundleID: entry.text("app"), environment: entry.text("environment"))
        else { return ["its app is none of the manifest's"] }
        do throws(UnreadableFile) {
            let values = try await values(of: entry, app)
            return identityProblems(of: entry, values)
        } catch {
            return [error.reason]
        }
    }

    private func values(
        of entry: JSONRecord, _ app: ManifestRecord.App
    ) async throws(UnreadableFile) -> StatedValues {
        guard let digest = entry.text("evidence"), digest.isDigest else {
            throw UnreadableFile("it names no evidence")
        }
        guard
            case .transaction(let transaction) = try await evidence.statement(of: digest, for: app)
        else {
            throw UnreadableFile(
                "the evidence \(digest) is no transaction of "
                    + "\(app.identity.bundleID) in \(app.identity.environment.rawValue)")
        }
        guard entry.text("table") != "transactions" else {
            guard !entry.states("evidence_renewal") else {
                throw UnreadableFile("it names a renewal info, which a period does not rest on")
            }
            return StatedValues(transaction: transaction, renewal: nil)
        }
        guard let digest = entry.text("evidence_renewal"), digest.isDigest else {
            throw UnreadableFile("it names no evidence_renewal")
        }
        guard case .renewal(let renewal) = try await evidence.statement(of: digest, for: app) else {
            throw UnreadableFile(
                "the evidence \(digest) is no renewal info of "
                    + "\(app.identity.bundleID) in \(app.identity.environment.rawValue)")
        }
        return StatedValues(transaction: transaction, renewal: renewal)
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
