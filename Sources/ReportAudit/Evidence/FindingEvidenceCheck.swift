import JSONWebSignature
import Subscriptions

/// Compares a finding with the signed payload that it names.
struct FindingEvidenceCheck {
    /// Kinds whose `apple_value` is the payload's value of the column in `field`.
    private static let comparing: Set<String> = [
        "expiry", "grace_missed", "identity", "latest_transaction", "ownership", "product",
        "renewal_preference", "revocation_date",
    ]
    /// Kinds whose `apple_value` is Apple's unsigned status, where `field` says so.
    private static let aboutStatus: Set<String> = [
        "access_missing", "access_unpaid", "grace_missed", "refund_reversal_missed",
        "revocation_missed", "status",
    ]
    /// Kinds whose payload may name another app or environment than the row.
    private static let aboutOthers: Set<String> = ["wrong_app", "wrong_environment"]

    let manifest: ManifestRecord
    let apps: KnownApps
    let evidence: EvidenceFile

    /// The problems of a finding; none for a finding without evidence.
    func problems(of finding: JSONRecord) async -> [String] {
        guard finding.states("evidence") else { return [] }
        guard let digest = finding.text("evidence"), digest.isDigest,
            let kind = finding.text("kind")
        else { return ["its evidence is no digest"] }
        do throws(UnreadableFile) {
            // Findings of this kind say that the payload does not verify.
            if kind == "verification_failed" {
                if try evidence.payload(digest) != nil { return [] }
                if try evidence.erasure(of: digest) != nil { return [] }
                return ["the evidence \(digest) is not in \(EvidenceFile.name)"]
            }
            let isAboutOthers = Self.aboutOthers.contains(kind)
            guard let app = isAboutOthers ? asked(about: finding) : apps.app(of: finding) else {
                return [KnownApps.problem]
            }
            let statement = try await evidence.statement(of: digest, for: app)
            if case .erased = statement { return [] }
            if case .foreign = statement {
                return isAboutOthers ? [] : ["the evidence \(digest) is of another app"]
            }
            return problems(of: finding, kind: kind, statement)
        } catch {
            return [error.reason]
        }
    }

    /// The app that was asked about a row that may be of another one.
    private func asked(about finding: JSONRecord) -> ManifestRecord.App? {
        let own = manifest.app(
            bundleID: finding.text("app"), environment: finding.text("environment"))
        return own ?? manifest.apps.first
    }

    private func problems(
        of finding: JSONRecord, kind: String, _ statement: EvidenceStatement
    ) -> [String] {
        let id = finding.text("original_transaction_id")
        let names: [String?]
        switch statement {
        case .foreign, .erased: return []
        case .notification(let notification): names = [notification.originalTransactionID]
        case .renewal(let renewal): names = [renewal.originalTransactionID]
        case .transaction(let transaction):
            switch kind {
            case "migrated": names = [transaction.previousOriginalTransactionID]
            case "invalid_id": names = [transaction.transactionID]
            default: names = [transaction.originalTransactionID]
            }
        }
        var problems: [String] = []
        if !names.contains(where: { $0 == nil ? id == nil : $0?.isSame(as: id) == true }) {
            problems.append(
                "its evidence is about \(names.compactMap(\.self).first ?? "no subscription"), "
                    + "not about \(id ?? "no subscription")")
        }
        if Self.comparing.contains(kind), let field = finding.text("field"),
            let stated = Self.value(of: field, in: statement), let said = finding["apple_value"],
            !said.source.isSame(as: stated.rendered)
        {
            problems.append(
                "its apple_value is \(said.source), the signed payload says \(stated.rendered)")
        }
        if Self.aboutStatus.contains(kind), finding.text("field") == "status" {
            problems += Self.statusProblems(of: finding, statement)
        }
        if Self.comparing.contains(kind) || Self.aboutStatus.contains(kind) {
            problems += Self.statementProblems(of: finding, statement)
        }
        return problems
    }

    /// Nobody signs a status, but the transaction alone denies some.
    private static func statusProblems(
        of finding: JSONRecord, _ statement: EvidenceStatement
    ) -> [String] {
        guard case .transaction(let transaction) = statement else { return [] }
        guard let status = finding.integer("apple_value") else {
            return ["its apple_value is no status"]
        }
        return StatedValues(transaction: transaction, renewal: nil)
            .contradictionByTransaction(ofStatus: status)
            .map { ["its apple_value is \(status), but \($0)"] } ?? []
    }

    /// Which transaction it is about, and when Apple said so: the earlier of two signatures, of which the
    /// payload has one.
    private static func statementProblems(
        of finding: JSONRecord, _ statement: EvidenceStatement
    ) -> [String] {
        let signed: Timestamp
        var problems: [String] = []
        switch statement {
        case .transaction(let transaction):
            signed = transaction.signedDate
            if finding.states("transaction_id"),
                !transaction.transactionID.isSame(as: finding.text("transaction_id"))
            {
                problems.append(
                    "its evidence is of the transaction \(transaction.transactionID), not of its "
                        + "transaction_id")
            }
        case .renewal(let renewal): signed = renewal.signedDate
        case .notification, .foreign, .erased: return []
        }
        if let said = finding.text("apple_as_of").flatMap({ Timestamp(rfc3339: $0) }), said > signed
        {
            problems.append("its apple_as_of is after Apple signed its evidence, \(signed.rfc3339)")
        }
        return problems
    }

    private static func value(of field: String, in statement: EvidenceStatement) -> CanonicalJSON? {
        switch statement {
        case .transaction(let transaction):
            StatedValues(transaction: transaction, renewal: nil).subscriptionValue(of: field)
        case .renewal(let renewal): StatedValues.renewalValue(of: field, in: renewal)
        case .notification, .foreign, .erased: nil
        }
    }
}
