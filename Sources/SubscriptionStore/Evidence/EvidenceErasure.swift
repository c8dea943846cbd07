import Foundation
import GRDB
import Subscriptions

/// Takes payloads out of the evidence and leaves tombstones: the digest stays, so that the ledger's
/// chain and everything that names the digest still hold.
struct EvidenceErasure {
    let db: Database
    let now: Timestamp

    /// Why a payload is gone.
    enum Reason: String {
        case customer, retention
    }

    /// The subscriptions of a customer: those that we hold, and those of earlier findings.
    static func subscriptions(
        ofCustomer customerID: String, _ db: Database
    ) throws -> [SubscriptionKey] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE customer_id = ?1
                UNION SELECT key_bundle_id, key_environment, original_transaction_id
                FROM trueup_pass_findings
                WHERE customer_id = ?1 AND original_transaction_id IS NOT NULL
                    AND key_bundle_id IS NOT NULL
                """,
            arguments: [customerID]
        ).map { SubscriptionKey($0, at: 0) }
    }

    /// Every payload that something of ours names in connection with a subscription.
    static func digests(about key: SubscriptionKey, _ db: Database) throws -> Set<String> {
        let isKey = """
            bundle_id = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """
        return try String.fetchSet(
            db,
            sql: """
                SELECT evidence FROM trueup_ledger WHERE \(isKey)
                UNION SELECT evidence_renewal FROM trueup_ledger
                WHERE \(isKey) AND evidence_renewal IS NOT NULL
                UNION SELECT evidence FROM trueup_pass_corrections WHERE \(isKey)
                UNION SELECT evidence_renewal FROM trueup_pass_corrections
                WHERE \(isKey) AND evidence_renewal IS NOT NULL
                UNION SELECT evidence FROM trueup_pass_findings
                WHERE key_bundle_id = ?1 AND key_environment = ?2
                    AND original_transaction_id = ?3 AND evidence IS NOT NULL
                UNION SELECT evidence FROM trueup_notifications
                WHERE \(isKey) AND evidence IS NOT NULL
                UNION SELECT evidence FROM trueup_pass_notifications WHERE \(isKey)
                """,
            arguments: key.arguments)
    }

    /// How many messages of events about a subscription are kept.
    static func messages(about key: SubscriptionKey, _ db: Database) throws -> Int {
        try Int.fetchOne(
            db, sql: "SELECT count(*) FROM trueup_outbox WHERE \(isOfKey) AND body IS NOT NULL",
            arguments: key.arguments) ?? 0
    }

    private static let isOfKey =
        "bundle_id = ?1 AND environment = ?2 AND original_transaction_id = ?3"

    /// Takes out the messages of events; one that was not told yet is given up with that.
    func eraseMessages(about key: SubscriptionKey) throws {
        try db.execute(
            sql: """
                UPDATE trueup_outbox SET body = NULL,
                    given_up_at = CASE WHEN told_at IS NULL THEN ifnull(given_up_at, ?4) END,
                    last_error = CASE WHEN told_at IS NULL THEN 'erased before it was told' END
                WHERE \(Self.isOfKey) AND body IS NOT NULL
                """,
            arguments: key.arguments + [now.unixMilliseconds])
    }

    /// Erases one payload, and those that it carries inside; how many there were to erase.
    ///
    /// Of those inside, tombstones are left too where they never stood alone: they would come back
    /// when they are read from somewhere else.
    func erase(_ digest: String, because reason: Reason) throws -> Int {
        var erased = 0
        let vault = EvidenceVault(db: db)
        if let payload = try vault.payload(EvidenceDigest(hexadecimal: digest)) {
            for inner in CompactPayload.digests(insideOf: Data(payload.jws.utf8)) {
                erased += try eraseAlone(inner, because: reason) ? 1 : 0
                try vault.bury(inner, at: now, because: reason.rawValue)
            }
        }
        return try eraseAlone(digest, because: reason) ? erased + 1 : erased
    }

    private func eraseAlone(_ digest: String, because reason: Reason) throws -> Bool {
        try db.cachedStatement(
            sql: """
                UPDATE trueup_evidence
                SET rest = x'', cuts = '', erased_at = ?, erased_because = ?
                WHERE digest = ? AND erased_at IS NULL
                """
        ).execute(arguments: [now.unixMilliseconds, reason.rawValue, digest])
        return db.changesCount == 1
    }

    /// Erases up to a chunk of an app's payloads that were stored by the end of a run.
    ///
    /// - Returns: How many were erased; `nil` when none is left.
    func expire(
        _ app: AppIdentity, through lastEvidenceID: Int64
    ) throws -> Int? {
        guard
            let known = try Row.fetchOne(
                db,
                sql: """
                    SELECT app_id, expired_through FROM trueup_evidence_apps
                    WHERE bundle_id = ? AND environment = ?
                    """,
                arguments: [app.bundleID, app.environment.rawValue]),
            let appID = known.integer(at: 0), let start = known.integer(at: 1),
            start < lastEvidenceID
        else { return nil }
        let end = min(lastEvidenceID, start + Int64(StoreLimits.rowsPerChunk))
        try db.execute(
            sql: """
                UPDATE trueup_evidence
                SET rest = x'', cuts = '', erased_at = ?, erased_because = ?
                WHERE evidence_id > ? AND evidence_id <= ? AND app_id = ? AND erased_at IS NULL
                """,
            arguments: [now.unixMilliseconds, Reason.retention.rawValue, start, end, appID])
        let erased = db.changesCount
        try db.execute(
            sql: "UPDATE trueup_evidence_apps SET expired_through = ? WHERE app_id = ?",
            arguments: [end, appID])
        return erased
    }
}
