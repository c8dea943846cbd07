import JSONWebSignature
import Subscriptions

/// Compares a finding with the signed payload that it names.
struct FindingEvidenceCheck {
    /// Kinds whose `apple_value` is the payload's value of the column in `field`.
    private static let comparing: Set<String> = [
        "expiry", "grace_missed", "identity", "latest_transaction", "ownership", "product",
        "renewal_preference", "revocation_date",
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
